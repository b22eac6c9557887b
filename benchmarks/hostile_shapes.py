"""How CPU time grows with the size of hostile inputs: each shape at three sizes, each twice the one before.

``python benchmarks/hostile_shapes.py [SHAPE…] [--command lint,simulate,why,…] [--cluster both|with|without]`` from the
repository. It prints one line for each shape and command: bytes of the largest input, CPU at the three sizes, and the
exponent with which CPU (minus that of a tiny file) grows with bytes. It ends a run after ``--limit`` seconds of CPU and
says so. Exit code 1 if a run took more than 10 s of CPU or did not end, or if an exponent is above 1.3.

``drain-running`` and ``audit`` are asked about a cluster that runs the workloads, ``plan`` about a change of all of
them. ``editor`` is what the language server and ``--watch`` do; its CPU is that of the slowest answer.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.rows import MOST_GROWTH, exponent  # noqa: E402
from tests.hostile.shapes import SHAPES, Files, stream, workload  # noqa: E402
from tests.hostile.shapes.parts import nodes  # noqa: E402
from tests.hostile.shapes.running import changed, running  # noqa: E402

GOAL = 10.0
_NOTHING_TO_TELL = 0.3
"""Seconds of CPU beyond a tiny file's, below which a growth is noise."""
_CODES = (0, 1, 2, 3)
_OF_RUNNING = ("drain-running", "audit")
_DRAIN = re.compile("[\\d,]+ nodes? can be drained|^(?:draining|no plan drains) [\\d,]+ nodes? ", re.M)
REPORTS = {
    "lint": re.compile("^ *checked ", re.M),
    "simulate": re.compile("^ *deploy .* drain$|no workloads|workloads? (?:is|are) ok in every event", re.M),
    "why": re.compile("^[A-Z][A-Za-z]+ \\S+.* (?:none|[\\d,]+) of [\\d,]+ nodes?", re.M),
    "drain": _DRAIN,
    "drain-running": _DRAIN,
    "audit": re.compile("^(?:\\S+: )?.*(?:errors?|warnings?|notes?|nothing).*", re.M),
    "plan": re.compile("(?i)worse|nothing|workloads?", re.M),
    "fit": re.compile("fits? on today's nodes", re.M),
    "editor": re.compile("^slowest: ", re.M),
}
"""What a report of each command says: a run that fails at its start may also end with exit code 1."""


class FailedError(Exception):
    """A run that neither reported nor reached its limit."""


def arguments(command: str, files: Files, folder: Path) -> Iterator[str]:
    """The words of a command; it finds what ``write`` has written."""
    if command == "editor":
        yield from (sys.executable, str(ROOT / "benchmarks" / "hostile_editor.py"), str(folder / "m.yaml"))
        yield from [str(folder / "c.yaml")] if files.cluster else []
        return
    yield from (sys.executable, "-m", "kubesched_lint", command.removesuffix("-running"), "--no-config")
    if command in _OF_RUNNING:
        yield from ("--cluster", str(folder / "r.yaml"))
        return
    if command in ("why", "fit"):
        yield from [files.asks] if command == "why" else ["--like", files.asks]
    if command == "plan":
        yield str(folder / "before.yaml")
    yield str(folder / "m.yaml")
    if files.cluster:
        yield from ("--cluster", str(folder / "c.yaml"))


def texts(command: str, files: Files) -> dict[str, str]:
    """Name of a file → its text, for the files that a command reads."""
    if command in _OF_RUNNING:
        return {"r.yaml": running(files)}
    both = {"m.yaml": files.manifests, "c.yaml": files.cluster}
    return {**both, "before.yaml": changed(files)} if command == "plan" else both


def write(command: str, files: Files, folder: Path) -> int:
    """Write what a command reads. Return its bytes."""
    texts_of_files = texts(command, files)
    for name, text in texts_of_files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return sum(map(len, texts_of_files.values()))


def cpu(command: str, files: Files, folder: Path, limit: int) -> float | None:
    """Seconds of CPU of one run on what is written; None if it did not end within the limit."""

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(folder / "out", "wb") as out:
        words = list(arguments(command, files, folder))
        environment = {**os.environ, "KUBESCHED_CACHE": "", "XDG_CACHE_HOME": str(folder / "cache")}
        run = subprocess.run(words, stdout=out, stderr=out, preexec_fn=bounded, cwd=ROOT, env=environment, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode not in _CODES:
        if run.returncode in (-9, -24):
            return None
        raise FailedError(f"exit code {run.returncode}: {(folder / 'out').read_text('utf-8', 'replace')[-300:]}")
    output = (folder / "out").read_text("utf-8", "replace")
    is_refused = run.returncode == 2 and re.search("^error: |: error: ", output, re.M)  # a limit, named with its place
    if "Traceback (most recent call last)" in output or not (is_refused or REPORTS[command].search(output)):
        raise FailedError(f"no report: {output[-300:]}")
    if command == "editor":
        return float(output.rsplit("slowest: ", 1)[1].split()[0])
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def of_next_to_nothing(command: str, folder: Path, limit: int) -> float:
    """Seconds of CPU of a run on one workload and one node: the least of three, on the machine as it is now."""
    files = Files(stream([workload("w0")]), nodes(1, zones=1))
    write(command, files, folder)
    return min(cpu(command, files, folder, limit) or 0.0 for _ in range(3))


def growth(sizes: Sequence[int], seconds: Sequence[float | None], tiny: float) -> float | None:
    """The exponent that fits all sizes; None if a run did not end or all took next to nothing."""
    known = [second - tiny for second in seconds if second is not None]
    if len(known) < max(len(sizes), 2) or known[-1] < _NOTHING_TO_TELL:
        return None
    return exponent(sizes, [max(known_second, 0.02) for known_second in known])


@cache
def _largest_within(most_bytes: int, shape: str, command: str) -> int:
    """The largest size of a shape for which a command reads at most so many bytes, to a tenth."""
    size, make = SHAPES[shape]
    while size > 1 and (read := sum(map(len, texts(command, make(size)).values()))) > most_bytes:
        size = min(size * 9 // 10, int(size * (most_bytes / read) ** 0.5) + 1)
    return max(size, 1)


def measured(
    shape: str,
    command: str,
    with_cluster: bool,
    folder: Path,
    parts: Sequence[int],
    limit: int,
    tiny: float,
    most_bytes: int = 0,
) -> tuple[str, bool]:
    """One line, and whether it meets the goal."""
    largest, make = SHAPES[shape]
    if most_bytes:
        largest = _largest_within(most_bytes, shape, command)
    counts = [max(1, largest // part) for part in parts]
    sizes, seconds = [], []
    for count in counts:
        files = make(count)
        files = files if with_cluster else files._replace(cluster="")
        sizes.append(write(command, files, folder))
        try:
            seconds.append(cpu(command, files, folder, limit))
        except FailedError as error:
            return f"{shape:20} {command:9} FAILED {error}", False
        if seconds[-1] is None:
            break
    columns = " ".join("   never" if second is None else f"{second:8.2f}" for second in seconds)
    whole = len(seconds) == len(parts)
    # The text of some shapes stays as long: it has their size as a number.
    grown = growth(sizes if sizes[-1] > 1.5 * sizes[0] else counts, seconds, tiny) if whole else None
    keeps = whole and seconds[-1] is not None and seconds[-1] <= GOAL
    name, late = shape if with_cluster else f"{shape} alone", "" if keeps else "  TOO SLOW"
    steep = "  TOO STEEP" if grown is not None and grown > MOST_GROWTH else ""
    shown = "-" if grown is None else f"{grown:.1f}"
    return (
        f"{name:26} {command:9} {sizes[-1] / 1e6:7.2f} MB {columns:27} growth {shown:>4}{late}{steep}",
        keeps and not steep,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shapes", nargs="*")
    parser.add_argument("--command", default="lint,simulate,why")
    parser.add_argument("--cluster", choices=("both", "with", "without"), default="with")
    parser.add_argument("--parts", default="4,2,1", help="the sizes, as parts of the largest")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--most-bytes", type=int, default=0, help="the largest size has at most so many bytes")
    asked = parser.parse_args()
    parts = [int(part) for part in asked.parts.split(",")]
    kept = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = {word: of_next_to_nothing(word, folder, asked.limit) for word in asked.command.split(",")}
        for shape in asked.shapes or SHAPES:
            for command, tiny in commands.items():
                for with_cluster in {"both": (True, False), "with": (True,), "without": (False,)}[asked.cluster]:
                    if with_cluster or command == "lint":
                        line, keeps = measured(
                            shape, command, with_cluster, folder, parts, asked.limit, tiny, asked.most_bytes
                        )
                        print(line, flush=True)
                        kept = kept and keeps
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
