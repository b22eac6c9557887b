"""A container that a webhook adds counts as one that manifest and template write: in every cell of drawn worlds.

Tests try some seeds; ``python -m tests.check.test_mutated_worlds --count 500`` tries many.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator

import pytest

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import seen
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.sources.clusters.read import cluster_from
from tests.plan.changed_worlds import OPTIONS, read
from tests.worlds.clusters import Value
from tests.worlds.generator import seeded
from tests.worlds.many import asked_seeds

EVENTS = ("deploy", "rollout", "hpa-max", "drain")
SIDECAR = {"name": "side", "image": "side:1", "resources": {"requests": {"cpu": "150m", "memory": "64Mi"}}}


def _added(value: Value) -> None:
    spec = value["spec"]["template"]["spec"] if value["kind"] != "Pod" else value["spec"]
    spec["containers"] = [*spec["containers"], copy.deepcopy(SIDECAR)]


def _clusters(items: list[Value], names: set[str]) -> tuple[Cluster, Cluster]:
    """The cluster in which pods alone have the sidecar, and that in which their templates have it, too."""
    made = []
    for is_written in (False, True):
        found = copy.deepcopy(items)
        for item in found:
            owners = {one["name"] for one in item["metadata"].get("ownerReferences", ())}
            is_ours = any(owner.rpartition("-")[0] in names for owner in owners)
            is_template = item["kind"] == "Deployment" or (item["kind"] == "ReplicaSet" and "template" in item["spec"])
            if (item["kind"] == "Pod" and is_ours) or (is_template and is_written):
                _added(item)
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": found}).encode()
        made.append(cluster_from([("c.json", text)], "c.json"))
    return made[0], made[1]


def differing(seed: int) -> Iterator[str]:
    """Yield the cells that differ; nothing for a world in which the pods of a workload do not show the sidecar."""
    world = seeded(seed)
    items = json.loads(world.cluster_json())["items"]
    live = {item["metadata"]["name"] for item in items if item["kind"] == "Deployment"}
    names = {m["metadata"]["name"] for m in world.manifests if m["kind"] == "Deployment"}
    if not live or live != names or any(m["kind"] not in ("Deployment", "Service") for m in world.manifests):
        return
    mutated, written = _clusters(items, live)
    learnt = [mutated.mutations.of(workload) for workload in mutated.inventory.workloads]
    if any(found is None or found.names != ("side",) for found in learnt):
        return
    with_sidecar = copy.deepcopy(world.manifests)
    for manifest in with_sidecar:
        if manifest["kind"] == "Deployment":
            _added(manifest)
    sides = (
        simulate(read(world.manifests), mutated, OPTIONS, EVENTS),
        simulate(read(with_sidecar), written, OPTIONS, EVENTS),
    )
    cells = [
        {(side.workloads[row.number].ref, cell.event): cell for row in side.rows for cell in row.cells}
        for side in sides
    ]
    if cells[0].keys() != cells[1].keys():
        yield f"rows {cells[0].keys() ^ cells[1].keys()}"
    for key in cells[0].keys() & cells[1].keys():
        one, other = (each[key] for each in cells)
        if seen(one) != seen(other):
            yield f"{key}: added {one.text} ({one.why}), written {other.text} ({other.why})"
    yield ""


@pytest.mark.parametrize("seed", [6, 10, 31, 62, 70, 94])
def test_what_is_added_counts_as_what_is_written(seed: int) -> None:
    assert not list(filter(None, differing(seed)))


def main() -> None:
    compared = []
    for seed in asked_seeds(__doc__):
        found = list(differing(seed))
        compared += [seed] if found else []
        for words in filter(None, found):
            print(seed, words)
    print(f"compared {len(compared)} worlds: {compared[:20]}")


if __name__ == "__main__":
    main()
