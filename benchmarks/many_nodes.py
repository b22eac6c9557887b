"""What many nodes and pods cost: lint of 1,000 files on 5,000 nodes, and 150,000 running pods."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.many_files import corpus
from benchmarks.many_workloads import sketch
from benchmarks.rows import LINT, PYTHON, Row, growing, least, spent
from benchmarks.snapshot import plain_manifests, write

AUDIT = (*PYTHON, "-m", "kubesched_lint", "audit")
ALONE = ("--no-cache", "--no-config")
NODES, FILES, PODS = (1_248, 2_496, 4_998), (500, 750, 1_000), (37_500, 75_000, 150_000)
PODS_A_NODE = 30
FEW_NODES = 300
"""Here the files have the findings that they have on more nodes; on 6 they do not fit, which takes longer."""


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {count: corpus(folder / f"{count}-files", count) for count in (1, *FILES)}
        clusters = {count: _sketched(folder, count) for count in (FEW_NODES, *NODES)}
        most, widest = FILES[-1], NODES[-1]
        runs = {count: (*LINT, files[count], *ALONE, "-c", clusters[widest]) for count in FILES}
        few = spent((*LINT, files[1], *ALONE, "-c", clusters[widest])).cpu
        yield growing(f"{most:,} files on {widest:,} nodes", runs, 4, few, "; in files")
        runs = {count: (*LINT, files[most], *ALONE, "-c", clusters[count]) for count in NODES}
        few = least([spent((*LINT, files[most], *ALONE, "-c", clusters[FEW_NODES])) for _ in range(2)]).cpu
        yield growing("… the same", runs, 4, few, "; in nodes", FEW_NODES)
        snapshots = {count: _snapshot(folder, count) for count in (PODS_A_NODE, *PODS)}
        manifests = folder / "manifests"
        manifests.mkdir()
        plain_manifests(manifests, 100)
        lint = {count: (*LINT, str(manifests), *ALONE, "-c", file) for count, file in snapshots.items()}
        audit = {count: (*AUDIT, "-c", file, "--no-config") for count, file in snapshots.items()}
        for what, runs in ((f"100 workloads beside {PODS[-1]:,} pods", lint), (f"`audit` of {PODS[-1]:,} pods", audit)):
            few = spent(runs.pop(PODS_A_NODE)).cpu
            yield growing(what, runs, 4, few)


def _sketched(folder: Path, nodes: int) -> str:
    file = folder / f"{nodes}-nodes.yaml"
    file.write_text(json.dumps(sketch(nodes)), encoding="utf-8")
    return str(file)


def _snapshot(folder: Path, pods: int) -> str:
    file = folder / f"{pods}-pods.json"
    write(file, pods, pods // PODS_A_NODE)
    return str(file)
