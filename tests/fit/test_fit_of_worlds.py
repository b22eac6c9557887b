"""What ``fit`` counts in drawn worlds is what ``simulate`` proves of a Deployment of so many pods, and no wider."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.fit.run import Counts, fit
from kubesched_lint.engine.answers.cells import UNKNOWN, Cell
from kubesched_lint.engine.model.workload import Workload
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from tests.share import every
from tests.worlds.agreement import Reading
from tests.worlds.clusters import Value
from tests.worlds.generator import World, seeded
from tests.worlds.wanted import WORKLOADS

COUNTED = ("Deployment", "ReplicaSet", "StatefulSet")
BESIDE = frozenset((*WORKLOADS, "CronJob", "HorizontalPodAutoscaler", "VerticalPodAutoscaler"))
FEW = 12
EFFORT = Effort(states=4_000, runs=2, nodes=4)
SEEDS = range(1_100_000, 1_100_120)


def asked(world: World) -> Iterator[tuple[Value, Workload]]:
    """Yield the workloads of a world that ``fit`` is asked about; simulate knows no pod that never preempts others."""
    inventory = Reading(world).manifests.inventory
    if "pools" in world.features or world.objects("PriorityClass") or inventory.has_duplicates:
        return
    found = {(w.kind, w.namespace, w.name): w for w in inventory.workloads}
    for value in world.manifests:
        meta = value["metadata"]
        workload = found.get((value["kind"], meta.get("namespace", "default"), meta["name"]))
        if value["kind"] in COUNTED and workload is not None:
            yield value, workload


def counted(workload: Workload, world: World) -> Counts | None:
    """None if the API server refuses such pods."""
    reading = Reading(world)
    cluster = reading.cluster.without_transient()
    try:
        return fit(workload, "", reading.manifests.inventory, cluster, Premises()).counts
    except ValueError:
        return None


def proven(value: Value, pods: int, world: World) -> Cell | None:
    """What ``simulate`` proves of so many pods that are deployed under a new name; None if it proves nothing."""
    more = deepcopy(value)
    more["kind"] = value["kind"] if value["kind"] == "StatefulSet" else "Deployment"
    more["metadata"] = {**more["metadata"], "name": f"{more['metadata']['name']}-more"}
    more["spec"]["replicas"] = pods
    manifests = [each for each in world.manifests if each["kind"] not in BESIDE]
    cells = Reading(replace(world, manifests=[*manifests, more])).cells(("deploy",), EFFORT)
    found = next((cell for (name, _), cell in cells.items() if name.endswith("-more")), None)
    return found if found is not None and found.proven and found.verdict != UNKNOWN else None


@pytest.mark.parametrize("first", every(2, SEEDS[::30]))
def test_what_fits_is_what_simulate_proves(first: int) -> None:
    answers = 0
    for seed in range(first, first + 30):
        world = seeded(seed)
        for value, workload in asked(world):
            counts = counted(workload, world)
            sizes = {counts.least, counts.least + 1, counts.most, counts.most + 1} - {0} if counts is not None else ()
            for size in sorted(sizes):
                cell = proven(value, size, world) if size <= FEW else None
                if counts is None or cell is None:
                    continue
                answers += 1
                told = f"{seed} {workload} × {size}: {counts}, but {cell.text}: {cell.why}"
                assert min(size, counts.least) <= cell.bound.most <= counts.most, told
                if cell.bound.by == "search" or size <= counts.least:
                    assert min(size, counts.least) <= cell.bound.least, told
                if cell.bound.is_single:
                    assert counts.least >= cell.bound.least, f"{told} (wider than simulate)"
                if cell.bound.most < size:
                    assert counts.most == cell.bound.most, f"{told} (wider than simulate)"
    assert answers > 15
