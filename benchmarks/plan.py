"""``plan`` of 100 workloads on 1,000 nodes (goal: under 10 s of CPU), for changes of different reach.

The reference is ``simulate`` of one side in the same run: a plan needs at most two matrices and two runs of ``lint``,
so its ratio to one matrix does not depend on the machine. Run from the repository: ``python benchmarks/plan.py``.
Exit code 1 if a ratio is too large.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.lifecycle import NODES, WORKLOADS, manifest, nodes
from kubesched_lint.commands.plan.run import plan
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.loader import documents

MOST = {"image": 1.0, "scaled": 2.5, "all larger": 3.0}
"""Largest ratio to the reference."""
Values = list[dict[str, Any]]


def image(values: Values) -> None:
    """A new image of one workload: nothing that scheduling reads."""
    values[0]["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2"


def scaled(values: Values) -> None:
    """Three times the pods of one workload."""
    chosen = next(value for value in values if "replicas" in value["spec"])
    chosen["spec"]["replicas"] *= 3


def all_larger(values: Values) -> None:
    """More CPU for every workload."""
    for value in values:
        value["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1500m"


CHANGES: Mapping[str, Callable[[Values], None]] = {"image": image, "scaled": scaled, "all larger": all_larger}


def read(values: Values) -> ManifestSet:
    text = "\n---\n".join(map(json.dumps, values))
    return manifest_set(documents("manifests.yaml", text.encode(), is_read), "default")


def cluster() -> Cluster:
    return Cluster(Inventory(nodes=nodes(NODES)), "made.yaml", "sketch")


def manifests() -> Values:
    return [dict(manifest(number)) for number in range(WORKLOADS)]


def of_plan(change: Callable[[Values], None]) -> float:
    """Return the CPU seconds of a plan, its reading included."""
    where, before = cluster(), manifests()
    after = copy.deepcopy(before)
    change(after)
    started = process_time()
    sides = (Version(name, read(values), Options()) for name, values in (("before", before), ("after", after)))
    assert plan(*sides, where, Rulebook.shipped()).workloads
    return process_time() - started


def of_simulate() -> float:
    """Return the CPU seconds of the whole matrix of one side."""
    where, values = cluster(), manifests()
    started = process_time()
    simulate(read(values), where, Options())
    return process_time() - started


def main() -> int:
    of_plan(image)  # imports
    reference = of_simulate()
    print(f"simulate: {reference:.1f} s of CPU for {WORKLOADS} workloads on {NODES:,} nodes")
    is_missed = False
    for name, change in CHANGES.items():
        spent = of_plan(change)
        print(f"plan, {name}: {spent:.1f} s of CPU, {spent / reference:.2f} × simulate (at most {MOST[name]})")
        is_missed |= spent > MOST[name] * reference
    return is_missed


if __name__ == "__main__":
    sys.exit(main())
