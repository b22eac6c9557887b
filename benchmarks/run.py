"""Measures speed relative to reference runs, then runs all other benchmarks of this folder.

``python benchmarks/run.py [--corpus FOLDER | --generator SCRIPT] [--rounds N] [--lint-only]`` from the repository. The
manifests come from a folder, or from a script that takes a folder and a count (default: ``scripts/make_corpus.py``, the
same bytes on every machine). The reference for start-up is ``python -c pass``; for throughput it is
``yaml.CSafeLoader`` on the same files. Both alternate with the measured runs, and the least CPU of each counts: other
load only adds time, and wall clocks are not comparable between machines. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
GENERATOR = ROOT / "scripts/make_corpus.py"
SKETCH = ROOT / "fixtures/clusters/three-zones.yaml"
GOAL_START, GOAL_VERSION, GOAL_LOADING, GOAL_AGAIN = 7.0, 7.0, 0.7, 0.2
COUNTS = (1, 100, 10_000)
_OFTEN = 30
"""Rounds of what takes a tenth of a second: fewer may meet a quiet moment for one of the two alone."""
PYTHON = (sys.executable, "-X", "utf8")
BARE = (*PYTHON, "-c", "pass")
LOADING = """
import sys, yaml
for path in sys.stdin.read().split("\\n"):
    with open(path, "rb") as file:
        for _ in yaml.load_all(file, Loader=yaml.CSafeLoader):
            pass
"""


def cpu_of(command: Sequence[str], given: str = "") -> tuple[float, float]:
    """CPU seconds and peak MiB of a process that must not fail; findings (exit code 1) are no failure."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    process.stdin.write(given.encode())
    process.stdin.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def together(ours: Sequence[str], rounds: int) -> None:
    """Prints the wall-clock time that a second process saves, and its cost."""
    runs: dict[str, list[tuple[float, float]]] = {"1": [], "2": []}
    for _ in range(rounds):
        for jobs, measured in runs.items():
            begun = perf_counter()
            used = cpu_of((*ours, "--jobs", jobs))[0]
            measured.append((perf_counter() - begun, used))
    (wall, cpu), (wall_of_two, cpu_of_two) = (map(min, zip(*measured, strict=True)) for measured in runs.values())
    print(
        f"{'   by two processes':24} {wall_of_two / wall:.2f} x the wall clock, {cpu_of_two / cpu:.2f} x the CPU",
        flush=True,
    )


def beside(ours: Sequence[str], reference: Sequence[str], given: str, rounds: int) -> tuple[float, float, float]:
    """CPU of our run and of the reference, and our peak memory: the least of some alternating rounds."""
    cpu_of(ours)  # bytecode is written, files are in the page cache
    runs = [(cpu_of(ours), cpu_of(reference, given)) for _ in range(rounds)]
    return min(o[0] for o, _ in runs), min(r[0] for _, r in runs), min(o[1] for o, _ in runs)


def figures(files: Sequence[Path], folder: Path, rounds: int) -> Iterator[bool]:
    """Prints one line for each figure, with whether it meets its goal."""
    lint = (*PYTHON, "-m", "kubesched_lint", "lint", "--profile", "ci")
    yield _row(
        "--version", *beside((*PYTHON, "-m", "kubesched_lint", "--version"), BARE, "", _OFTEN), "python", GOAL_VERSION
    )
    yield _row("1 file, no cluster", *beside((*lint, str(files[0])), BARE, "", _OFTEN), "python", GOAL_START)
    for count in COUNTS:
        some = files[:count]
        if len(some) < count:
            print(f"only {len(files):,} files: {count:,} not measured")
            continue
        # Folders where possible: ten thousand names are too many for a command line.
        paths = [str(folder)] if count == len(files) else list(map(str, some))
        ours = (*lint, "--no-cache", "-c", str(SKETCH), *paths)
        loading = (*PYTHON, "-c", LOADING)
        goal = GOAL_LOADING if count >= COUNTS[-1] else None
        measured = beside(ours, loading, "\n".join(map(str, some)), rounds)
        yield _row(f"{count:,} file{'' if count == 1 else 's'}, three zones", *measured, "CSafeLoader", goal)
        if goal is not None:
            together(ours, rounds)
            again = beside((*lint, "-c", str(SKETCH), *paths), ours, "", rounds)  # the first run does not count
            yield _row("   a second time", *again, "--no-cache", GOAL_AGAIN)


def _row(name: str, ours: float, reference: float, peak: float, beside_what: str, goal: float | None) -> bool:
    ratio = ours / reference
    met = goal is None or ratio <= goal
    said = "" if goal is None else f"  goal {goal:.1f}: {'met' if met else 'MISSED'}"
    print(
        f"{name:24} {ours:7.3f} s CPU {peak:6.0f} MiB  {ratio:6.2f} x {beside_what} ({reference:.3f} s){said}",
        flush=True,
    )
    return met


def others() -> Iterator[bool]:
    """The other benchmarks, each in its own process, with their output."""
    for script in sorted(Path(__file__).parent.glob("*.py")):
        if script.name != Path(__file__).name:
            print(f"\n{script.name}", flush=True)
            yield subprocess.run([*PYTHON, str(script)], cwd=ROOT, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, help="folder of manifests")
    parser.add_argument("--generator", type=Path, default=GENERATOR, help="script: SCRIPT FOLDER COUNT (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, of which the best counts")
    parser.add_argument("--lint-only", action="store_true", help="leave out the other benchmarks")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = chosen.corpus or Path(made)
        if not chosen.corpus:
            subprocess.run([*PYTHON, str(chosen.generator), made, str(COUNTS[-1])], check=True)
        met = list(figures(sorted(folder.rglob("*.yaml")), folder, chosen.rounds))
    if not chosen.lint_only:
        met += others()
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
