"""An error on complete node groups holds on the same cluster with more of their nodes: the reference tries some."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cached_property
from random import Random

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodes.elastic import COMPLETE, ClusterOptions
from kubesched_lint.engine.model.node import CLUSTER_AUTOSCALER, NodePool, Shape
from tests.share import first
from tests.worlds.agreement import Contradiction, Reading, of_error, of_runs_nowhere
from tests.worlds.clusters import HOST, ZONE, Value
from tests.worlds.generator import World, seeded
from tests.worlds.reference import outcomes

GROUP = "eks.amazonaws.com/nodegroup"
BLOCK = 50


class _Complete(Reading):
    """A reading of a world whose nodes show every node group."""

    @cached_property
    def cluster(self) -> Cluster:
        return Reading(self.world).cluster.as_stated(ClusterOptions(node_groups=COMPLETE))


class _WithPool(Reading):
    """The same, and one more pool."""

    @cached_property
    def cluster(self) -> Cluster:
        shape = Shape("one", allocatable={"cpu": 4000, "memory": 8 << 30, "pods": 10})
        pool = NodePool("more", CLUSTER_AUTOSCALER, labels={"pool": "more"}, zones=("a",), shapes=(shape,))
        return Reading(self.world).cluster.as_stated(ClusterOptions(node_groups=COMPLETE, declared=(pool,)))


def grouped(world: World, random: Random) -> World:
    """The world with each of its nodes in one of two groups, and without NodePools and DaemonSets.

    A proof deducts DaemonSets from each further node: autoscalers do, and their pods bind before the node is ready. The
    reference knows only nodes that are there from the start.
    """
    cluster = deepcopy([value for value in world.cluster if value["kind"] not in ("NodePool", "DaemonSet")])
    for value in cluster:
        if value["kind"] == "Node":
            value["metadata"]["labels"][GROUP] = random.choice(["general", "special"])
    return replace(world, cluster=cluster, manifests=[v for v in world.manifests if v["kind"] != "DaemonSet"])


def grown(world: World, random: Random) -> World:
    """The world with further nodes of some groups, each in any zone, with what all nodes of its group have."""
    nodes = [value for value in world.cluster if value["kind"] == "Node"]
    zones = sorted({n["metadata"]["labels"][ZONE] for n in nodes if ZONE in n["metadata"]["labels"]})
    made = [_further(like, nodes, zones, f"more{i}", random) for i, like in enumerate(random.choices(nodes, k=2))]
    return replace(world, cluster=[*world.cluster, *made])


def _further(like: Value, nodes: list[Value], zones: list[str], name: str, random: Random) -> Value:
    group = [n for n in nodes if n["metadata"]["labels"][GROUP] == like["metadata"]["labels"][GROUP]]
    node = deepcopy(like)
    labels = [n["metadata"]["labels"] for n in group]
    own = {key: random.choice(labels)[key] for key in labels[0] if all(key in found for found in labels)}
    own.pop(ZONE, None)
    if zones and any(ZONE in found for found in labels):
        own[ZONE] = random.choice(zones)
    node["metadata"] = {"name": name, "labels": {**own, HOST: name}}
    taints = [n.get("spec", {}).get("taints", []) for n in group]
    node["spec"] = {
        "taints": [t for t in taints[0] if all(t in found for found in taints) and "unsched" not in t["key"]]
    }
    return node


def contradictions(seed: int) -> Iterator[Contradiction]:
    random = Random(seed)
    world = grouped(seeded(seed), random)
    claims = [claim for claim in _Complete(world).proven_errors() if claim.event == "deploy"]
    for _ in range(3 if claims else 0):
        truth = outcomes(grown(world, random))
        if truth is not None:
            for claim in claims:
                yield from of_error(claim, truth)


@pytest.mark.parametrize("start", first(1, range(0, 200, BLOCK)))
def test_an_error_on_complete_groups_survives_more_nodes(start: int) -> None:
    found = {seed: list(map(str, contradictions(seed))) for seed in range(start, start + BLOCK)}
    assert not {seed: said for seed, said in found.items() if said}


def test_there_are_errors_to_refute() -> None:
    read = (_Complete(grouped(seeded(seed), Random(seed))) for seed in range(60))
    assert sum(1 for reading in read for _ in reading.proven_errors()) > 15


def test_an_error_that_no_node_of_a_pool_cures_fails_simulate_too() -> None:
    readings = [_WithPool(grouped(seeded(seed), Random(seed))) for seed in range(30)]
    assert not [str(said) for reading in readings for said in of_runs_nowhere(reading)]
    assert sum(1 for reading in readings for claim in reading.proven_errors() if claim.finding.evidence.supply == 0) > 2
