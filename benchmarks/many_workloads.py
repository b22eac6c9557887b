"""What ``lint`` and ``simulate`` cost for many workloads on 100 and on 1,000 nodes.

The workloads are those of ``lifecycle.py``.

A row says how many cells are left open: a limit of work ends each run, and what it cuts short is no speed.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.lifecycle import manifest
from benchmarks.rows import LINT, PYTHON, ROOT, Row, growing, spent

SIMULATE = (*PYTHON, "-m", "kubesched_lint", "simulate")
ZONES = 3
RUNS = (((50, 100, 200), 100, 5.0), ((50, 100, 200), 1_000, 5.0), ((150, 300, 600), 1_000, 20.0))
"""Numbers of workloads, nodes, and the goal in seconds of CPU."""
LINT_GOAL = 2.0
"""For the workloads and nodes of the first run: ``lint`` stops once it knows whether a cell is proven bad."""


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        for sizes, nodes, goal in RUNS:
            cluster = Path(name, f"{nodes}.yaml")
            cluster.write_text(json.dumps(sketch(nodes)), encoding="utf-8")
            runs = {size: command(Path(name), size, cluster) for size in sizes}
            if (sizes, nodes) == RUNS[0][:2]:
                linted = {size: (*LINT, *run[len(SIMULATE) :], "--no-cache") for size, run in runs.items()}
                first = spent((*LINT, *command(Path(name), 1, cluster)[len(SIMULATE) :], "--no-cache")).cpu
                yield growing(f"`lint`: {sizes[-1]} workloads on {nodes:,} nodes", linted, LINT_GOAL, first)
            what = f"`simulate`: {sizes[-1]} workloads on {nodes:,} nodes"
            nothing = spent(command(Path(name), 1, cluster)).cpu
            yield growing(what, runs, goal, nothing, f"; {open_cells(runs[sizes[-1]])} open")


def command(folder: Path, workloads: int, cluster: Path) -> tuple[str, ...]:
    """The command that simulates so many workloads."""
    file = folder / f"{workloads}-workloads.yaml"
    file.write_text("\n---\n".join(json.dumps(manifest(i)) for i in range(workloads)), encoding="utf-8")
    return (*SIMULATE, str(file), "-c", str(cluster), "--no-config")


def sketch(nodes: int) -> dict[str, object]:
    """Nodes of 8 CPUs in three zones and two pools, as many as are equally many in each."""
    shape = {"count": max(nodes // 2 // ZONES, 1), "zones": ["a", "b", "c"]}
    amounts = {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}}
    entries = [{"name": f"pool-{pool}", **shape, **amounts, "labels": {"pool": pool}} for pool in "ab"]
    return {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": entries}


def open_cells(simulate: tuple[str, ...]) -> str:
    """How many cells of how many are unknown."""
    done = subprocess.run(simulate, cwd=ROOT, capture_output=True, text=True, check=False)
    match = re.search(r"([\d,]+ of [\d,]+) cells (?:is|are) unknown", done.stdout)
    return match[1] if match else "no cells"
