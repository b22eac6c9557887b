"""What 10,000 files cost next to loading them with ``yaml.CSafeLoader``: CPU, memory, the cache.

The files are those of ``scripts/make_corpus.py``: the same bytes on every machine.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.rows import LINT, PYTHON, ROOT, Row, Spent, beside, exponent, spent
from benchmarks.start import FILE, ZONES

COUNT = 10_000
PARTS = (4, 2, 1)
ALONE = (*LINT, "--profile", "ci")
OURS = (*ALONE, "-c", ZONES)
MOST_MEMORY = 120
REFERENCE = "× `yaml.CSafeLoader` to load them"
_LOAD = """
import sys, yaml
for path in sys.stdin.read().split("\\n"):
    with open(path, "rb") as file:
        for _ in yaml.load_all(file, Loader=yaml.CSafeLoader):
            pass
"""


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folders = [corpus(Path(name, str(part)), COUNT // part) for part in PARTS]
        yield from _sizes("no cluster", ALONE, folders, 0.85)
        yield from _sizes("three zones", OURS, folders, 2.0)
        ours = (*OURS, "--no-cache", folders[-1])
        again, first = beside((*OURS, folders[-1]), ours)
        yield Row("… again, from the cache", again.cpu / first.cpu, "× the first time", 0.2, also=f"{again.cpu:.2f} s")
        if shutil.which("kube-linter"):
            theirs, first = beside(("kube-linter", "lint", folders[-1]), ours)
            said = f"{theirs.cpu:.2f} s, {theirs.peak:.0f} MiB"
            yield Row("10,000 files: kube-linter", theirs.cpu / first.cpu, "× ours", also=said)


def _sizes(beside_what: str, command: Sequence[str], folders: Sequence[str], goal: float) -> Iterator[Row]:
    """CPU and memory of the largest, and how both grow."""
    nothing = spent((*command, "--no-cache", FILE)).cpu
    ours, theirs = zip(*(_with_reference(command, folder) for folder in folders), strict=True)
    sizes = [COUNT / part for part in PARTS]
    growth = exponent(sizes, [entry.cpu - nothing for entry in ours])
    last, reference = ours[-1], theirs[-1]
    said = f"{last.cpu:.2f} s"
    yield Row(f"{COUNT:,} files, {beside_what}, `--no-cache`", last.cpu / reference.cpu, REFERENCE, goal, growth, said)
    a_file = (last.peak - ours[0].peak) * 1024 / (sizes[-1] - sizes[0])
    said = f"{a_file:.1f} KiB a file; the reference {reference.peak:.0f} MiB"
    yield Row("… memory", last.peak, "MiB", MOST_MEMORY, exponent(sizes, [entry.peak for entry in ours]), said)


def _with_reference(command: Sequence[str], folder: str) -> tuple[Spent, Spent]:
    names = "\n".join(map(str, sorted(Path(folder).rglob("*.yaml"))))
    return beside((*command, "--no-cache", folder), (*PYTHON, "-c", _LOAD), names)


def corpus(folder: Path, count: int) -> str:
    """Write the files and return the folder."""
    command = (*PYTHON, "scripts/make_corpus.py", str(folder), str(count))
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return str(folder)
