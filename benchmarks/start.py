"""What a run on one file costs next to a bare interpreter (and to kube-linter, where it is installed)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from benchmarks.rows import BARE, PYTHON, Row, beside

FILE = "fixtures/shop/web.yaml"
ZONES = "fixtures/clusters/three-zones.yaml"
ROUNDS = 30
"""Of what takes a tenth of a second: fewer may meet a quiet moment for one of the two alone."""
INSTALLED = (*PYTHON, "-c", "from kubesched_lint.cli import main; main()")
"""What the installed command runs; ``-m`` would import ``runpy`` first."""
LINT = (*INSTALLED, "lint", FILE, "--no-cache", "--no-config")
RUNS: dict[str, tuple[tuple[str, ...], float | None]] = {
    "`--version`": ((*INSTALLED, "--version"), 2.0),
    "`import msgspec` alone": ((*PYTHON, "-c", "import msgspec"), None),
    "one file, no cluster": (LINT, 7.0),
    "one file, three zones": ((*LINT, "-c", ZONES), 16.0),
}


def rows() -> Iterator[Row]:
    runs = {what: (tuple(command), goal) for what, (command, goal) in RUNS.items()}
    if shutil.which("kube-linter"):
        runs["one file: kube-linter"] = (("kube-linter", "lint", FILE), None)
    for what, (command, goal) in runs.items():
        ours, bare = beside(command, BARE, rounds=ROUNDS)
        yield Row(what, ours.cpu / bare.cpu, "× `python -c pass`", goal, also=f"{ours.cpu:.3f} s, {ours.peak:.0f} MiB")
