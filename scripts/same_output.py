"""Compares the output of two versions of kubesched-lint, byte by byte: ``python scripts/same_output.py OLD NEW``.

OLD and NEW are each a source tree, a git revision of this repository, a virtual environment or a Python interpreter::

    python scripts/same_output.py main .            # before a refactoring lands
    python scripts/same_output.py v0.1.0 .venv      # a release against an installation
    python scripts/same_output.py HEAD~3 . --only lint,fix --quick

Both run the command lines of ``replay_cases.py``: reports in every format, fixes, ``simulate``, ``why``, rules, exit
codes. It prints each difference as a short diff, and an equal difference of several outputs once. The exit code is 1 if
anything differs, and 2 if a version does not run. Progress goes to standard error. It keeps the output of a revision
below ``~/.cache``, so that a second comparison takes half the time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from hashlib import blake2b
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple
from zlib import crc32

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.replay_cases import GROUPS, ROOT, Case, prepare

_EVERY = 5
"""With ``--quick`` one case of so many is run."""
_REVISIONS = 8
"""Revisions whose answers are kept."""
_LINES = 12
_SHOWN = 30


class UnusableError(Exception):
    """A version cannot be run."""


class Version(NamedTuple):
    """``tree`` is put on the path of ``python``; None for an installed version. ``commit`` is set for a revision."""

    name: str
    python: str
    tree: Path | None
    commit: str = ""


class Difference(NamedTuple):
    """``part`` is the exit code, a stream or a file."""

    case: str
    part: str
    lines: tuple[str, ...]

    @property
    def gist(self) -> tuple[str, ...]:
        """The lines that distinguish two differences, wherever they are."""
        return tuple(line.strip(" -+,") + line[:1] for line in self.lines if line[:1] in "+-")


def version_of(word: str, scratch: Path) -> Version:
    """The version of an argument; unpacks a git revision into ``scratch``."""
    path = Path(word).absolute()
    if (path / "kubesched_lint").is_dir():
        return Version(word, sys.executable, path)
    for python in (path / "bin" / "python", path):
        if python.is_file() and os.access(python, os.X_OK):
            return Version(word, str(python), None)
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", f"{word}^{{commit}}"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    if not commit:
        raise UnusableError(f"{word} is no source tree, no git revision, no virtual environment and no interpreter")
    scratch.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(scratch)], input=archive, check=True)
    return Version(f"{word} ({commit[:10]})", sys.executable, scratch, commit)


class Kept:
    """The answers of a revision from earlier runs on the same inputs; other versions have none."""

    def __init__(self, version: Version, inputs: Path) -> None:
        digest = blake2b(Path(__file__).with_name("replay_run.py").read_bytes(), digest_size=12)
        for file in sorted(path for path in inputs.rglob("*") if path.is_file()):
            digest.update(f"{file.relative_to(inputs)}\0".encode())
            digest.update(file.read_bytes())
        digest.update(f"{version.python} {sys.version}".encode())
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubesched-same-output"
        self.file = home / f"{version.commit}-{digest.hexdigest()}" if version.commit else None

    def answers(self) -> dict[str, dict[str, Any]]:
        """Case, as JSON, → answer."""
        if self.file is None or not self.file.exists():
            return {}
        with gzip.open(self.file, "rt", encoding="ascii") as opened:
            answers: dict[str, dict[str, Any]] = json.load(opened)
        return answers

    def add(self, cases: Sequence[Case], answers: Mapping[str, dict[str, Any]]) -> None:
        """Adds answers to the earlier ones, and keeps the files of the last few revisions."""
        if self.file is None:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        kept_answers = {**self.answers(), **{json.dumps(case): answers[case.key] for case in cases}}
        written = self.file.with_suffix(f".{os.getpid()}")
        with gzip.open(written, "wt", encoding="ascii", compresslevel=3) as opened:
            json.dump(kept_answers, opened)
        written.replace(self.file)
        for old in sorted(self.file.parent.iterdir(), key=lambda file: -file.stat().st_mtime)[_REVISIONS:]:
            old.unlink(missing_ok=True)


class Run:
    """A version that runs the cases, in its own process."""

    def __init__(self, version: Version, folder: Path, inputs: Path, cases: Sequence[Case]) -> None:
        self.version, self.results, self.kept = version, folder / "results", Kept(version, inputs)
        known = self.kept.answers()
        self.known = {case.key: known[word] for case in cases if (word := json.dumps(case)) in known}
        self.cases = [case for case in cases if case.key not in self.known]
        shutil.copytree(inputs, folder / "inputs")
        (folder / "cases.json").write_text(json.dumps([case._asdict() for case in self.cases]))
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KUBESCHED"))},
            "PYTHONHASHSEED": "0",
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "100",
            "TERM": "dumb",
            "KUBESCHED_LINT_CACHE_DIR": str(folder / "cache"),
        }
        if version.tree:
            environment["PYTHONPATH"] = str(version.tree)
        runner = Path(__file__).resolve().with_name("replay_run.py")
        command = [version.python, str(runner), str(folder / "cases.json"), str(self.results), str(folder)]
        self.process = subprocess.Popen(command, cwd=folder, env=environment)

    def done(self) -> int:
        return len(self.known) + (self.results.read_bytes().count(b"\n") if self.results.exists() else 0)

    def answers(self) -> dict[str, dict[str, Any]]:
        """The answer of each case. Raises UnusableError if the version did not run, or another version did."""
        if self.process.wait() != 0:
            raise UnusableError(f"{self.version.name} cannot be run")
        first, *others = map(json.loads, self.results.read_text(encoding="ascii").splitlines())
        tree = self.version.tree
        if tree and not Path(first["package"]).is_relative_to(tree.resolve()):
            raise UnusableError(f"{self.version.name}: {first['package']} was imported instead")
        made = {answer["key"]: answer for answer in others}
        self.kept.add(self.cases, made)
        return {**self.known, **made}


def differences(cases: Sequence[Case], old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    """Every output that differs, in the order of the cases."""
    for case in cases:
        old_parts, other = _parts(old[case.key]), _parts(new[case.key])
        for part in sorted(old_parts.keys() | other.keys()):
            if old_parts.get(part) != other.get(part):
                yield Difference(case.key, part, tuple(_diff(old_parts.get(part), other.get(part))))


def _parts(answer: Mapping[str, Any]) -> dict[str, str]:
    return {
        "exit code": str(answer["code"]),
        **{name: answer[name] for name in ("stdout", "stderr")},
        **{f"file {name}": text for name, text in answer["files"].items()},
    }


def _diff(old: str | None, new: str | None) -> list[str]:
    if old is None or new is None:
        return ["+ only NEW wrote it" if old is None else "- only OLD wrote it"]
    return list(unified_diff(_lines(old), _lines(new), "OLD", "NEW", n=1, lineterm=""))[2:]


def _lines(text: str) -> list[str]:
    """Indents JSON on one line first, unless that hides the difference."""
    if text[:1] in ("{", "[") and "\n" not in text.strip():
        try:
            text = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
        except ValueError:
            pass
    return [line.encode("utf-8", "backslashreplace").decode() for line in text.split("\n")]


def tell(changes: Sequence[Difference], cases: Sequence[Case], shown: int, lines: int) -> None:
    """Prints the differences, equal ones once."""
    alike = Counter(difference.gist for difference in changes)
    printed: set[tuple[str, ...]] = set()
    for difference in changes:
        if difference.gist in printed:
            continue
        printed.add(difference.gist)
        if len(printed) <= shown:
            also = f"  (and in {alike[difference.gist] - 1} more)" if alike[difference.gist] > 1 else ""
            print(f"== {difference.case}: {difference.part}{also}")
            print("\n".join(difference.lines[:lines]) or "(the bytes differ, the values do not)")
            if len(difference.lines) > lines:
                print(f"… {len(difference.lines) - lines} more lines")
    if len(printed) > shown:
        print(f"… {len(printed) - shown} more differences; --show N prints more of them")
    groups = {case.key: case.group for case in cases}
    count = Counter(groups[key] for key in {difference.case for difference in changes})
    where = ", ".join(f"{name} {count[name]}" for name in GROUPS if count[name])
    print(f"{sum(count.values()):,} of {len(cases):,} commands differ ({where})" if changes else f"{len(cases):,} same")


def _chosen(cases: Sequence[Case], only: Sequence[str], quick: bool) -> list[Case]:
    return [
        case for case in cases if (not only or case.group in only) and not (quick and crc32(case.key.encode()) % _EVERY)
    ]


def _wait(runs: Sequence[Run], count: int) -> None:
    said = 0
    while any(run.process.poll() is None for run in runs):
        sleep(0.2)
        if (now := min(run.done() for run in runs)) >= said + max(count // 10, 1):
            said = now
            print(f"{min(now, count):,} of {count:,}", file=sys.stderr)


def compare(old: str, new: str, only: Sequence[str], quick: bool, shown: int, lines: int) -> int:
    """The exit code."""
    with tempfile.TemporaryDirectory(prefix="same-output-") as made:
        scratch = Path(made)
        versions = [version_of(word, scratch / f"tree-{n}") for n, word in enumerate((old, new))]
        cases = _chosen(prepare(scratch / "inputs"), only, quick)
        runs = []
        for number, version in enumerate(versions):
            (scratch / str(number)).mkdir()
            runs.append(Run(version, scratch / str(number), scratch / "inputs", cases))
        _wait(runs, len(cases))
        answers = [run.answers() for run in runs]
    for run, given in zip(runs, answers, strict=True):
        slowest = max(given.values(), key=lambda answer: answer["cpu"])
        spent = sum(answer["cpu"] for answer in given.values())
        summary = f"{spent:.0f} s CPU, of which {slowest['cpu']:.1f} for `{slowest['key']}`"
        kept = f"; {len(run.known):,} answers were kept" if run.known else ""
        print(f"{run.version.name}: {summary}{kept}", file=sys.stderr)
    changes = list(differences(cases, *answers))
    tell(changes, cases, shown, lines)
    return 1 if changes else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("--only", default="", help=f"groups, separated by commas: {', '.join(GROUPS)}")
    parser.add_argument("--quick", action="store_true", help=f"one case in {_EVERY}")
    parser.add_argument("--show", type=int, default=_SHOWN, metavar="N", help="differences to print (%(default)s)")
    parser.add_argument("--lines", type=int, default=_LINES, metavar="N", help="lines of each (%(default)s)")
    chosen = parser.parse_args()
    only = [name for name in chosen.only.split(",") if name]
    if unknown := set(only) - set(GROUPS):
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    try:
        return compare(chosen.old, chosen.new, only, chosen.quick, chosen.show, chosen.lines)
    except UnusableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
