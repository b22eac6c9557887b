"""How many nodes all the others of a set could fill at worst, so that one more pod of a workload finds no room there.

Whoever wants to close a node needs enough pods for it: no more than there are, only of workloads that may go there, and
only one of each that shares no node with its like. What is not enough for so many nodes leaves the others open,
whatever the order and whatever the scheduler prefers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.lifecycle.controllers.bounds import daemon_bounds
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.model.pod import Pod
from kubesched_lint.record import record


@record
class Rival:
    """Pods that may stand in the way: so many, on these nodes, so many on each."""

    pod: Pod
    count: int
    nodes: NodeSet
    on_each: int
    everywhere: bool = False
    """One on each of its nodes: it cannot choose where."""


@record
class Crowd:
    """All pods that a set may have while an event befalls one workload of it."""

    rivals: tuple[tuple[int, Rival], ...]
    """Each with the place of its workload in the setting."""
    demand: dict[str, int]
    """All that they may ask for together."""


MOST_PAIRS = 20_000
"""Nodes times rivals: beyond, who may go where is not looked at, which only loosens the bound."""


def fillable(setting: Setting, number: int, own: int, among: NodeSet) -> int:
    """How many of the nodes ``among`` can be so full that a pod of the workload finds no room, beside ``own`` others.

    A node is full when some resource is; the sum over the resources is a bound for all.
    """
    pod = setting.pods[number]
    at = list(positions(among))
    near: list[Rival] | None = None
    total = 0
    for resource in ("pods", *(name for name, amount in pod.requests.items() if amount)):
        free = setting.cluster.ledger.free(resource)
        want = _asked(pod, resource)
        if not at or min(free[p] for p in at) - want >= setting.crowd.demand.get(resource, 0) + own * want:
            continue
        if near is None:
            near = [r for r in _beside(setting, number, own) if r.nodes & among]
        asked = [(r, each) for r in near if (each := _asked(r.pod, resource))]
        demand = sum(
            each * min(r.count, r.on_each * (r.nodes & among).bit_count()) for r, each in asked if not r.everywhere
        )
        left: float = demand
        for cost in sorted(_costs(at, free, want, asked, demand)):
            left -= cost
            if left < 0:
                break
            total += 1
    return min(total, len(at))


def _costs(
    at: Sequence[int], free: Sequence[float], want: int, asked: Sequence[tuple[Rival, int]], demand: int
) -> Iterator[float]:
    """Per node what those who choose their nodes have to ask for there to close it; nodes that they cannot left out."""
    if len(at) * len(asked) > MOST_PAIRS:
        fixed = sum(each * r.on_each for r, each in asked if r.everywhere)
        yield from (max(free[p] - want + 1 - fixed, 0) for p in at)
        return
    for p in at:
        here = [(r, each) for r, each in asked if r.nodes >> p & 1]
        cost = max(free[p] - want + 1 - sum(each * r.on_each for r, each in here if r.everywhere), 0)
        if cost <= sum(each * min(r.count, r.on_each) for r, each in here if not r.everywhere):
            yield cost


def takers_of_ports(setting: Setting, number: int, among: NodeSet) -> int:
    """How many of the nodes may have a host port of the workload taken by others."""
    ports = {(p.protocol, p.port) for p in setting.pods[number].host_ports}
    return sum(
        min(r.count, (r.nodes & among).bit_count())
        for i, r in setting.crowd.rivals
        if i != number and ports & {(p.protocol, p.port) for p in r.pod.host_ports}
    )


def _beside(setting: Setting, number: int, own: int) -> Iterator[Rival]:
    """Whom a pod of the workload has beside it, ``own`` of its like among them."""
    pod, workload, nodes = setting.pods[number], setting.workloads[number], setting.usable[number]
    yield from (r for i, r in setting.crowd.rivals if i != number or r.pod is not pod)
    if workload.kind != "DaemonSet":
        yield Rival(pod, own, nodes, own)
    elif daemon_bounds(workload.strategy, 1)[0]:  # beside a surging pod its elder stays
        yield Rival(pod, len(setting.nodes), nodes, 1, everywhere=True)


def crowd(setting: Setting) -> Crowd:
    """No event grows another workload: each has the pods it wants. What runs may roll out when it is applied."""
    rivals = tuple(_rivals(setting))
    demand: dict[str, int] = {}
    for _, rival in rivals:
        count = rival.on_each if rival.everywhere else rival.count
        for resource, each in {**rival.pod.requests, "pods": 1}.items():
            demand[resource] = demand.get(resource, 0) + each * count
    return Crowd(rivals, demand)


def _rivals(setting: Setting) -> Iterator[tuple[int, Rival]]:
    for i, workload in enumerate(setting.workloads):
        pod, nodes, runs = setting.pods[i], setting.usable[i], setting.running.get(i, ())
        alike: dict[int, list[Pod]] = {}
        for bound in runs:
            alike.setdefault(id(bound.pod), []).append(bound.pod)
        for pods in alike.values():
            yield i, Rival(pods[0], len(pods), setting.index.all, len(pods))
        if workload.kind == "DaemonSet":
            each = 2 if runs and daemon_bounds(workload.strategy, 1)[0] else 1
            yield i, Rival(pod, each * len(setting.nodes), nodes, each, everywhere=True)
        else:
            count = setting.most(i) if runs else setting.wanted(i)
            yield i, Rival(pod, count, nodes, 1 if not runs and _alone_on_node(setting, i) else count)


def _alone_on_node(setting: Setting, number: int) -> bool:
    """Whether no two of its pods share a node."""
    pod, index = setting.pods[number], setting.index
    return bool(pod.host_ports) or any(
        index.one_node_each(t.topology_key)
        and not setting.usable[number] & ~index.with_key(t.topology_key)
        and setting.selects(t, pod, pod)
        for t in pod.required_anti_affinity
    )


def _asked(pod: Pod, resource: str) -> int:
    return 1 if resource == "pods" else pod.requests.get(resource, 0)
