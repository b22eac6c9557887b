"""Which workloads can get into each other's way: what happens to one is told together with the others of its group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, pairwise

from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.lifecycle.coupling import joined, selecting, sharing
from kubesched_lint.lifecycle.quotas import most_pods
from kubesched_lint.lifecycle.setting import Setting, once_per_setting

MOST_UNTOLD = 2
"""Of so many manifests each may change what runs or not; of more it is asked of all of them at once."""


@once_per_setting
def components(setting: Setting) -> tuple[tuple[int, ...], ...]:
    """Workloads that can change where each other's pods fit, directly or through others."""
    contended = [i for i in range(len(setting.pods)) if not _is_roomy(setting, i)]
    return _joined(setting, [*_pairs(setting), *pairwise(contended)])


@once_per_setting
def acquainted(setting: Setting) -> tuple[tuple[int, ...], ...]:
    """The same, but for room: workloads tied by selectors, host ports or claims."""
    return _joined(setting, _pairs(setting))


def group_of(setting: Setting, number: int) -> tuple[int, ...]:
    """The one of ``components`` that a workload is in."""
    return _groups(setting)[number]


@once_per_setting
def _groups(setting: Setting) -> Mapping[int, tuple[int, ...]]:
    return {i: members for members in components(setting) for i in members}


def acquaintances(setting: Setting, number: int) -> tuple[int, ...]:
    """The one of ``acquainted`` that a workload is in."""
    return _acquaintances_of(setting)[number]


@once_per_setting
def _acquaintances_of(setting: Setting) -> Mapping[int, tuple[int, ...]]:
    return {i: members for members in acquainted(setting) for i in members}


def _joined(setting: Setting, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    return joined(len(setting.workloads), pairs)


def _pairs(setting: Setting) -> Iterator[tuple[int, int]]:
    kinds = setting.kinds
    owners = [i for i, own in enumerate(kinds) for _ in own]
    pairs = selecting([pod for own in kinds for pod in own], setting.cluster)
    yield from ((owners[a], owners[b]) for a, b in pairs if owners[a] != owners[b])
    yield from sharing([[("port", p.protocol, p.port) for pod in own for p in pod.host_ports] for own in kinds])
    yield from sharing(
        [[("claim", pod.namespace, v.claim) for pod in own for v in pod.volumes if v.claim] for own in kinds]
    )


def _is_roomy(setting: Setting, number: int) -> bool:
    """Whether each node of its reach has room for all pods at once that may come there: resources never decide."""
    tight = [(r, free) for r, free in _least_free(setting, number) if free < _whole_demand(setting).get(r, 0)]
    return not tight or all(free >= _demand_near(setting, setting.reach[number], r) for r, free in tight)


def _demand_near(setting: Setting, nodes: NodeSet, resource: str) -> int:
    """What those may ask for that can come to any of these nodes; pods that run already may be anywhere."""
    found = _near(setting).get((nodes, resource))
    if found is None:
        found = sum(
            (1 if resource == "pods" else pod.requests.get(resource, 0)) * most_pods(setting, i)
            for i, pod in enumerate(setting.pods)
            if setting.usable[i] & nodes
        )
        running = [b.pod for pods in setting.running.values() for b in pods]
        found += sum(1 if resource == "pods" else pod.requests.get(resource, 0) for pod in running)
        _near(setting)[nodes, resource] = found
    return found


@once_per_setting
def _near(setting: Setting) -> dict[tuple[NodeSet, str], int]:
    return {}


@once_per_setting
def _whole_demand(setting: Setting) -> Mapping[str, int]:
    total: dict[str, int] = {"pods": 0}
    pods = [(pod, most_pods(setting, i)) for i, pod in enumerate(setting.pods)]
    pods += [(bound.pod, 1) for running in setting.running.values() for bound in running]
    for pod, count in pods:
        total["pods"] += count
        for resource, amount in pod.requests.items():
            total[resource] = total.get(resource, 0) + amount * count
    return total


def _least_free(setting: Setting, number: int) -> Iterator[tuple[str, float]]:
    asked = (r for pod in setting.kinds[number] for r, amount in pod.requests.items() if amount)
    for resource in dict.fromkeys(("pods", *asked)):
        key = setting.reach[number], resource
        least = _least_on(setting).get(key)
        if least is None:
            free = setting.cluster.ledger.free(resource)
            least = _least_on(setting)[key] = min((free[p] for p in positions(key[0])), default=0)
        yield resource, least


@once_per_setting
def _least_on(setting: Setting) -> dict[tuple[NodeSet, str], float]:
    """Of the nodes that many workloads may reach: what is free on the fullest, by resource."""
    return {}


def told_worlds(setting: Setting, members: Iterable[int]) -> tuple[frozenset[int], ...]:
    """Which manifests of which nobody can tell change what runs: every answer; all or none where they are many."""
    unknown = [i for i in members if setting.is_untold(i)]
    if len(unknown) > MOST_UNTOLD:
        return (frozenset(unknown), frozenset())
    counts = range(len(unknown), -1, -1)
    return tuple(frozenset(chosen) for count in counts for chosen in combinations(unknown, count))


def untold(setting: Setting, number: int) -> tuple[int, ...]:
    """Those in the group of a workload of which nobody can tell whether their manifests change what runs."""
    return _all_untold(setting)[group_of(setting, number)]


@once_per_setting
def _all_untold(setting: Setting) -> Mapping[tuple[int, ...], tuple[int, ...]]:
    return {members: tuple(filter(setting.is_untold, members)) for members in components(setting)}
