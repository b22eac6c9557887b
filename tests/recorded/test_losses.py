"""Losses of nodes and zones on a real v1.36.2 control plane, of both kinds, held against the cells of simulate.

Each set was deployed eight times and hit by four losses, twice each: nodes deleted together with their pods, and nodes
that only stopped reporting, so that their pods terminate without end. ``bound`` are pods on live nodes.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched_lint.engine.answers.cells import FINE, UNKNOWN, Cell
from kubesched_lint.sources.clusters.read import cluster_from
from tests.events.simulated import report_of
from tests.share import every

Value = dict[str, Any]
FILE = Path(__file__).parents[2] / "fixtures" / "conformance" / "losses.jsonl.gz"
ENDS = {"loss": "deleted", "unreachable": "unreachable"}
SETS = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]


@cache
def cells(number: int) -> dict[tuple[str, str], Cell]:
    case = SETS[number]
    written = [value for text in case["files"].values() for value in yaml.safe_load_all(text) if value]
    cluster = cluster_from([("snap.json", case["cluster"].encode())], "snap.json")
    result = report_of(cluster, *written, events=("deploy", "node-loss", "zone-loss"))
    return {(str(result.workloads[row.number]), cell.event): cell for row in result.rows for cell in row.cells}


def is_outside(cell: Cell, pods: Value) -> bool:
    good = pods["bound"] >= pods["want"]
    return not cell.bound.least <= pods["bound"] <= cell.bound.most or (cell.verdict == FINE and not good)


@pytest.mark.parametrize("number", every(2, range(len(SETS))), ids=[case["id"] for case in SETS])
def test_no_proven_cell_is_outside_of_what_happened(number: int) -> None:
    for loss in SETS[number]["losses"]:
        scope, _, kind = loss["event"].partition("-")
        for workload, pods in loss["pods"].items():
            cell = cells(number)[workload, f"{scope}-loss"]
            if not workload.startswith("DaemonSet"):
                end = getattr(cell, ENDS[kind])
                assert not (end.proven and is_outside(end, pods)), (workload, loss, end)
                assert not (cell.proven and cell.verdict == FINE and is_outside(cell, pods)), (workload, loss, cell)
                assert cell.verdict == UNKNOWN or cell.bound.least <= pods["bound"] <= cell.bound.most


def test_both_ends_are_told_and_differ_where_they_did() -> None:
    told: Counter[str] = Counter()
    for number, case in enumerate(SETS):
        for loss in case["losses"]:
            scope, _, kind = loss["event"].partition("-")
            for workload, pods in loss["pods"].items():
                cell = cells(number)[workload, f"{scope}-loss"]
                assert cell.deleted is not None
                assert cell.unreachable is not None
                told["proven"] += getattr(cell, ENDS[kind]).proven
                told["short, and not said to be ok"] += pods["bound"] < pods["want"] and cell.verdict != FINE
                told["short"] += pods["bound"] < pods["want"]
                told["named"] += cell.text.endswith("unreachable")
    assert told["proven"] > 100
    assert told["named"] > 40
    assert told["short, and not said to be ok"] == told["short"] > 40
