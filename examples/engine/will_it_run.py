"""Say for each workload of a set whether it deploys, survives a rollout, and the loss of a node.

A tool of its own, built on the engine: it imports nothing else of kubesched-lint.
"""

from __future__ import annotations

import json
import sys
from itertools import groupby

from kubesched_lint.engine.library import Verdict, cluster_of, placed, scenario_of, verdicts

EVENTS = ("deploy", "rollout", "node-loss")


def main(cluster: str, manifests: str) -> int:
    scenario = scenario_of(objects(manifests), cluster_of(objects(cluster)))
    bad = False
    for workload, cells in groupby(verdicts(scenario, EVENTS), key=lambda cell: cell.workload):
        print(workload)
        for cell in cells:
            print(f"  {cell.event}: {line(cell)}")
            if cell.event == "deploy" and cell.verdict == "bad":
                bad = True
                break
    for workload, (count, message) in placed(scenario).pending.items():
        print(f"in one deployment, {count} of {workload} waits: {message}")
    return int(bad)


def line(cell: Verdict) -> str:
    number = str(cell.least) if cell.least == cell.most else f"{cell.least}-{cell.most}"
    proven = " (proven)" if cell.is_proven else ""
    return f"{cell.verdict}, {number} of {cell.wanted}{proven}" + (f": {cell.why}" if cell.verdict == "bad" else "")


def objects(path: str) -> list[dict[str, object]]:
    with open(path, encoding="utf-8") as file:
        items: list[dict[str, object]] = json.load(file)["items"]
    return items


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:3]))
