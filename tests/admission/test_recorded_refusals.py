"""What the controllers of a real v1.36.2 said when the API server refused their pods: every message, word for word."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.events.answers.cells import Cell
from kubesched_lint.engine.model.workloads.workload import KINDS
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.linter.options import Options
from kubesched_lint.sources.clusters.read import read_cluster

RECORDED = Path(__file__).parents[2] / "fixtures" / "conformance" / "refused-pods.jsonl.gz"
CASES: list[dict[str, Any]] = [json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).splitlines()]


def identity(item: dict[str, Any]) -> tuple[str, str, str]:
    meta = item["metadata"]
    return item["kind"], meta.get("namespace", "default"), meta["name"]


def deployed(case: dict[str, Any], folder: Path) -> dict[str, Cell]:
    """Workload → its cell. The recorded snapshots lack what was not captured then: ratios and scope selectors."""
    for path, text in case["files"].items():
        file = folder / "manifests" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    whole = {identity(item): item for item in case["before"]}
    snapshot = case["snapshot"]
    items = [{**item, "spec": whole.get(identity(item), item).get("spec", {})} for item in snapshot["items"]]
    (folder / "cluster.json").write_text(json.dumps({**snapshot, "items": items}))
    options = Options()
    manifests = read_manifests([str(folder / "manifests")], options)
    cluster = read_cluster(str(folder / "cluster.json"))
    report = simulate(manifests, cluster, options, ["deploy"], Effort(states=500, runs=1))
    return {str(report.workloads[row.number]): row.cells[0] for row in report.rows}


def unnamed(message: str) -> str:
    """Names of pods end in random characters."""
    return re.sub(r'^(pods|Pod) "[^"]*" ', r'\1 "*" ', message)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_cell_says_what_the_controller_said(case: dict[str, Any], tmp_path: Path) -> None:
    if not any(workload.split()[0] in KINDS for workload in case["failures"]):
        pytest.skip("a kind that is not read")
    cells = deployed(case, tmp_path)
    for workload, failure in case["failures"].items():
        cell = cells[workload]
        # It depends on which workload draws on a quota first, or on whether a quota of the same set counts by then.
        assert cell.proven or cell.verdict == "depends" or any("is in force before" in fact for fact in cell.assumes)
        assert cell.verdict != "fine"
        assert unnamed(cell.message) == unnamed(failure)
