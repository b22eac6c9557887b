"""Lost pods that counting clears find a node in every order, wherever the others go: compared with a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest

from kubesched_lint.commands.audit.crowding import Crowding
from kubesched_lint.commands.audit.losses import Losses
from kubesched_lint.commands.audit.running_cluster import ReplicaGroup, RunningCluster
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.scenario.others.running import all_running_pods
from kubesched_lint.engine.scheduler.binding import bind
from kubesched_lint.engine.scheduler.framework import diagnose
from kubesched_lint.library import load_cluster
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.running_set import running_set

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
APPS = ("red", "green", "blue", "grey")
_MOST_TRIED = 400
"""Situations of one loss."""


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_what_has_room_by_weight_finds_it_in_every_order(first: int) -> None:
    cleared = sum(_cleared(seed) for seed in range(first, first + 20))
    assert cleared > 10


def _cleared(seed: int) -> int:
    """Return how many losses of a drawn cluster counting clears, after a search for an order that contradicts."""
    now = _now(_drawn(Random(seed)))
    losses = Losses(now)
    cleared = 0
    for name, nodes in losses.places():
        gone = losses.gone(nodes)
        crowding = Crowding(gone, nodes, now.state)
        if gone and all(crowding.leaves_open(crowd.pod, losses.rooms(crowd, nodes)) for crowd, _ in gone):
            cleared += 1
            assert losses.has_room(gone, nodes)
            for state, among in _after(now, gone, nodes):
                assert not _stuck(gone, among, state, Random(seed)), (seed, name)
            assert [*losses.simulated(nodes, gone)] == []
    return cleared


def _now(cluster: Cluster) -> RunningCluster:
    running = running_set(cluster)
    return RunningCluster(cluster, running, running.premises(Options()))


def _after(
    now: RunningCluster, gone: Sequence[tuple[ReplicaGroup, int]], lost: NodeSet
) -> Iterator[tuple[ClusterState, NodeSet]]:
    """Yield the state without the lost nodes, and that with empty ones, which knows of waiting pods."""
    without = all_running_pods(now.without(frozenset(now.lasting.names(lost)))).state
    yield without, without.index.all
    if any(crowd.pod.spread for crowd, _ in gone):
        return
    mark = now.state.mark()
    for position in positions(lost):
        for held in now.state.pods_on(position):
            now.state.remove(held)
    yield now.state, now.state.index.all & ~lost
    now.state.undo(mark)


def _stuck(gone: Sequence[tuple[ReplicaGroup, int]], among: NodeSet, state: ClusterState, random: Random) -> str:
    """Return a lost pod that finds no node in some situation that others of them may have made; empty if none does."""
    seen = set[frozenset[tuple[tuple[int, int], int]]]()

    def search(left: Counter[int], at: Counter[tuple[int, int]]) -> str:
        seen.add(frozenset(at.items()))
        moves = list[tuple[int, int]]()
        for number in +left:
            feasible = diagnose(gone[number][0].pod, state, among).feasible
            if not feasible:
                return f"{gone[number][0].ref} after {at}"
            moves += ((number, position) for position in positions(feasible))
        random.shuffle(moves)
        for number, position in moves:
            after = at + Counter({(number, position): 1})
            if frozenset(after.items()) in seen or len(seen) > _MOST_TRIED:
                continue
            mark = state.mark()
            bind(gone[number][0].pod, position, state)
            found = search(left - Counter({number: 1}), after)
            state.undo(mark)
            if found:
                return found
        return ""

    return search(Counter({number: count for number, (_, count) in enumerate(gone)}), Counter())


def test_a_node_that_is_promised_to_a_waiting_pod_does_not_count() -> None:
    big = {"cpu": "4", "memory": "8Gi", "pods": "9"}
    nodes = [{**_node(name, name, Random(0)), "status": {"allocatable": big}} for name in ("n0", "n1")]
    spec = {"containers": [_container("500m", "0")]}
    pods = [_pod("red", number, "ReplicaSet", spec, "n0") for number in range(3)]
    assert _has_room([*nodes, *pods])
    waiting = _pod("big", 0, "ReplicaSet", {"containers": [_container("3", "0")], "priority": 9}, "")
    promise = {"phase": "Pending", "nominatedNodeName": "n1"}
    assert not _has_room([*nodes, *pods, {**waiting, "status": promise}])


@pytest.mark.parametrize(("key", "has_room"), [(HOSTNAME, True), (ZONE, False)])
def test_a_pod_that_repels_a_whole_zone_is_not_counted(key: str, has_room: bool) -> None:
    nodes = [_node(name, name, Random(7)) for name in ("n0", "n1", "n2", "n3", "n4", "n5")]
    for node, zone in zip(nodes, "aabbcc", strict=True):
        node["metadata"]["labels"][ZONE] = zone
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "red"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    red = [_pod("red", number, "ReplicaSet", {"containers": [_container("1m", "0")]}, "n0") for number in range(3)]
    blue = _pod("blue", 0, "ReplicaSet", {"containers": [_container("1m", "0")], "affinity": apart}, "n1")
    assert _has_room([*nodes, *red, blue], "a") is has_room


def _has_room(items: list[dict[str, Any]], lost: str = "n0") -> bool:
    losses = Losses(_now(_snapshot(items)))
    nodes = dict(losses.places())[lost]
    return losses.has_room(losses.gone(nodes), nodes)


# --- drawn clusters ---------------------------------------------------------------------------------------------------


def _drawn(draw: Random) -> Cluster:
    """Small nodes in few zones; pods that spread, keep apart, want ports, or wait with a node promised to them."""
    names = [f"n{i}" for i in range(draw.randint(3, 7))]
    hosts = names if draw.random() < 0.8 else [draw.choice(["one", name]) for name in names]
    items: list[dict[str, Any]] = [_node(name, host, draw) for name, host in zip(names, hosts, strict=True)]
    for app in APPS[: draw.randint(1, 4)]:
        spec, owner = _spec(app, draw), draw.choice(["ReplicaSet"] * 4 + ["DaemonSet"])
        items += [_pod(app, number, owner, spec, draw.choice(names)) for number in range(draw.randint(1, 4))]
    if draw.random() < 0.4:
        for number in range(2):
            spec = {"containers": [_container("3", "1Gi")], "priority": 9}
            waiting = _pod("waiting", number, "ReplicaSet", spec, "")
            items.append({**waiting, "status": {"phase": "Pending", "nominatedNodeName": draw.choice(names)}})
    return _snapshot(items)


def _snapshot(items: list[dict[str, Any]]) -> Cluster:
    head = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "metadata": {"kinds": ["Node", "Pod"]}}
    return load_cluster(objects=[{**head, "items": items}])


def _node(name: str, host: str, draw: Random) -> dict[str, Any]:
    labels = {HOSTNAME: host, ZONE: draw.choice("abc"), "disk": draw.choice("xxy")}
    amounts = {"cpu": str(draw.randint(1, 6)), "memory": f"{draw.randint(1, 6)}Gi", "pods": str(draw.randint(3, 9))}
    meta = {"name": name, "labels": {key: value for key, value in labels.items() if draw.random() < 0.97}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"allocatable": amounts}}


def _spec(app: str, draw: Random) -> dict[str, Any]:
    chosen = {"matchLabels": {"app": draw.choice([app, *APPS])}}  # itself, or others
    if draw.random() < 0.2:
        chosen = {"matchLabels": {ZONE: draw.choice("abc")}}
    term = {"topologyKey": draw.choice([HOSTNAME] * 2 + [ZONE]), "labelSelector": chosen}
    spread = {"topologyKey": draw.choice([HOSTNAME, ZONE]), "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}
    spread |= {"labelSelector": chosen, "minDomains": draw.choice([None, None, 2, 3])}
    container = _container(draw.choice(["0", "100m", "250m", "500m", "1"]), draw.choice(["0", "128Mi", "1Gi"]))
    more: dict[str, Any] = draw.choice(
        [
            {},
            {"topologySpreadConstraints": [spread]},
            {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}},
        ]
    )
    if draw.random() < 0.4:
        more = {**more, "nodeSelector": {"disk": draw.choice("xy")}}
    if draw.random() < 0.15:
        container["ports"] = [{"containerPort": 80, "hostPort": draw.choice([80, 81])}]
    return {"containers": [container], **more}


def _container(cpu: str, memory: str) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": memory}}}


def _pod(app: str, number: int, owner: str, spec: dict[str, Any], node: str) -> dict[str, Any]:
    owners = [{"kind": owner, "name": app, "uid": app, "controller": True}]
    meta = {"name": f"{app}-{number}", "namespace": "shop", "labels": {"app": app}, "ownerReferences": owners}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, "nodeName": node}}
