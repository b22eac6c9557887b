"""Groups of workloads that can affect each other: a search simulates all workloads of a group together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, pairwise

from kubesched_lint.engine.base import work
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.events.limits import MOST_COMBINED
from kubesched_lint.engine.events.start.coupling import PodSelection, joined, selecting, sharing
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.quotas import most_pods
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import PodAffinityTerm


@once_per_set
def components(simulated: SimulatedSet) -> tuple[tuple[int, ...], ...]:
    """Return groups of workloads that can change where each other's pods fit, directly or through others.

    A hypothesis may open nodes to workloads that share none before: then all of them are one group.
    """
    if simulated.supposed is not None and (simulated.supposed.change.added or simulated.supposed.change.unlabelled):
        return (tuple(range(len(simulated.pods))),)

    def join() -> tuple[tuple[int, ...], ...]:
        contended = [member.number for member in simulated.members if not _is_roomy(member)]
        return _joined(simulated, chain(pairwise(contended), _tied(simulated)))

    return _attempts(simulated)[0].made(join)


def _tied(simulated: SimulatedSet) -> Iterator[tuple[int, int]]:
    for members in acquainted(simulated):
        yield from pairwise(members)


@once_per_set
def acquainted(simulated: SimulatedSet) -> tuple[tuple[int, ...], ...]:
    """Return the groups without regard to room: workloads tied by selectors, host ports or claims."""
    return _attempts(simulated)[1].made(lambda: _joined(simulated, _pairs(simulated)))


@once_per_set
def _attempts(simulated: SimulatedSet) -> tuple[work.Attempts, work.Attempts]:
    """Return the attempts at ``components`` and at ``acquainted``: each cell asks for them."""
    return work.Attempts(), work.Attempts()


def group_of(member: SimulatedMember) -> tuple[int, ...]:
    """Return the group in ``components`` of a workload."""
    return _group_of_each(member.set)[member.number]


def groups_of(simulated: SimulatedSet, members: Iterable[int]) -> list[tuple[int, ...]]:
    """Return the groups in ``components`` of several workloads, each once."""
    groups = {group[0]: group for group in map(_group_of_each(simulated).__getitem__, members)}
    return [groups[first] for first in sorted(groups)]


@once_per_set
def guarded_groups(simulated: SimulatedSet) -> tuple[tuple[int, ...], ...]:
    """Return the groups in a drain: one budget counts the pods of several of ``components`` together."""
    guarded = sharing([[(b.namespace, b.name) for b in budgets] for budgets in simulated.budgets])
    return _joined(simulated, [*(pair for members in components(simulated) for pair in pairwise(members)), *guarded])


def group_in(member: SimulatedMember, event: str) -> tuple[int, ...]:
    """Return the group of a workload in an event: in ``guarded_groups`` if it drains nodes."""
    return _guarded_groups(member.set)[member.number] if member.set.drains(event) else group_of(member)


@once_per_set
def _guarded_groups(simulated: SimulatedSet) -> Sequence[tuple[int, ...]]:
    return _by_member(guarded_groups(simulated))


@once_per_set
def _group_of_each(simulated: SimulatedSet) -> Sequence[tuple[int, ...]]:
    return _by_member(components(simulated))


def _by_member(groups: Sequence[tuple[int, ...]]) -> Sequence[tuple[int, ...]]:
    """Return the group of each workload, by its number."""
    groups_of_members: list[tuple[int, ...]] = [()] * sum(map(len, groups))
    for members in groups:
        for i in members:
            groups_of_members[i] = members
    return groups_of_members


def acquaintances(member: SimulatedMember) -> tuple[int, ...]:
    """Return the group in ``acquainted`` of a workload."""
    return _acquaintances_of(member.set)[member.number]


@once_per_set
def _acquaintances_of(simulated: SimulatedSet) -> Sequence[tuple[int, ...]]:
    return _by_member(acquainted(simulated))


def _joined(simulated: SimulatedSet, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    return (
        joined(len(simulated.workloads), pairs) if len(simulated.workloads) > 1 else ((0,),) * len(simulated.workloads)
    )


def _pairs(simulated: SimulatedSet) -> Iterator[tuple[int, int]]:
    kinds = simulated.kinds
    owners = [i for i, own in enumerate(kinds) for _ in own]
    pairs = selecting([pod for own in kinds for pod in own], simulated.cluster)
    yield from ((owners[a], owners[b]) for a, b in pairs if owners[a] != owners[b])
    yield from sharing([[("port", p.protocol, p.port) for pod in own for p in pod.host_ports] for own in kinds])
    yield from sharing(
        [[("claim", pod.namespace, v.claim) for pod in own for v in pod.volumes if v.claim] for own in kinds]
    )
    yield from _through_others(simulated)
    yield from sharing([["devices"] if simulated.need_devices((i,)) else [] for i in range(len(kinds))])


def _through_others(simulated: SimulatedSet) -> Iterator[tuple[int, int]]:
    """Yield a workload with each that may preempt a pod of others which affinity or a spread of the first selects."""
    preemptors = guests_of(simulated).preemptors
    if not preemptors:
        return
    kinds = list(preemptors)
    selection = PodSelection(kinds, simulated.cluster)
    for number, own in enumerate(simulated.kinds):
        for pod in own:
            spread = (c.selector for c in pod.spread if c.is_hard and c.selector is not None)
            every: tuple[PodAffinityTerm | Selector, ...] = (*pod.required_affinity, *spread)
            selected = {place for asked in every for place in selection.of(asked, pod.namespace)}
            yield from ((number, i) for place in sorted(selected) for i in preemptors[kinds[place]] if i != number)


def _is_roomy(member: SimulatedMember) -> bool:
    """Whether each node of its reach has room for all pods that may come there at once: resources never matter."""
    tight = [(r, free) for r, free in _least_free(member) if free < _whole_demand(member.set).get(r, 0)]
    return not tight or all(free >= _demand_near(member.set, member.reach, r) for r, free in tight)


def _demand_near(simulated: SimulatedSet, nodes: NodeSet, resource: str) -> int:
    """Return the most that pods that can use any of these nodes request; running pods may be anywhere."""
    demand = _near(simulated).get((nodes, resource))
    if demand is None:
        demand = sum(
            (1 if resource == "pods" else pod.requests.get(resource, 0)) * most_pods(simulated.member(i))
            for i, pod in enumerate(simulated.pods)
            if simulated.usable[i] & nodes
        )
        running = [b.pod for pods in simulated.running.values() for b in pods]
        demand += sum(1 if resource == "pods" else pod.requests.get(resource, 0) for pod in running)
        _near(simulated)[nodes, resource] = demand
    return demand


@once_per_set
def _near(simulated: SimulatedSet) -> dict[tuple[NodeSet, str], int]:
    return {}


@once_per_set
def _whole_demand(simulated: SimulatedSet) -> Mapping[str, int]:
    total: dict[str, int] = {"pods": 0}
    pods = [(pod, most_pods(simulated.member(i))) for i, pod in enumerate(simulated.pods)]
    pods += [(bound.pod, 1) for running in simulated.running.values() for bound in running]
    for pod, count in pods:
        total["pods"] += count
        for resource, amount in pod.requests.items():
            total[resource] = total.get(resource, 0) + amount * count
    return total


def _least_free(member: SimulatedMember) -> Iterator[tuple[str, float]]:
    simulated = member.set
    asked = (r for pod in member.kinds for r, amount in pod.requests.items() if amount)
    for resource in dict.fromkeys(("pods", *asked)):
        key = member.reach, resource
        least = _least_on(simulated).get(key)
        if least is None:
            free = simulated.cluster.ledger.free(resource)
            least = _least_on(simulated)[key] = min((free[p] for p in positions(key[0])), default=0)
        yield resource, least


@once_per_set
def _least_on(simulated: SimulatedSet) -> dict[tuple[NodeSet, str], float]:
    """Return the cache of (nodes, resource) → free amount on the fullest of the nodes."""
    return {}


def template_variants(
    simulated: SimulatedSet, members: Iterable[int], most: int = MOST_COMBINED
) -> tuple[frozenset[int], ...]:
    """Return every combination of unknown manifests that change running pods; with more than ``most``, all and none."""
    unknown = [i for i in members if simulated.member(i).is_template_unknown]
    if len(unknown) > most:
        return (frozenset(unknown), frozenset())
    counts = range(len(unknown), -1, -1)
    return tuple(frozenset(chosen) for count in counts for chosen in combinations(unknown, count))


def tries_all_templates(member: SimulatedMember, event: str) -> bool:
    """Whether ``template_variants`` has every combination of the group of a workload in an event."""
    return sum(member.set.member(i).is_template_unknown for i in group_in(member, event)) <= MOST_COMBINED


def unknown_templates(member: SimulatedMember) -> tuple[int, ...]:
    """Return the workloads of its group for which it is unknown whether the manifest changes running pods."""
    return _unknown_templates(member.set)[group_of(member)]


@once_per_set
def _unknown_templates(simulated: SimulatedSet) -> Mapping[tuple[int, ...], tuple[int, ...]]:
    unknown = {member.number for member in simulated.members if member.is_template_unknown}
    return {members: tuple(filter(unknown.__contains__, members)) for members in components(simulated)}


def assumed_templates(member: SimulatedMember) -> tuple[int, ...]:
    """Return the workloads of its group whose templates are assumed to stay as they are."""
    return _assumed_templates(member.set)[group_of(member)]


@once_per_set
def _assumed_templates(simulated: SimulatedSet) -> Mapping[tuple[int, ...], tuple[int, ...]]:
    return {members: tuple(i for i in members if i in simulated.looks_unchanged) for members in components(simulated)}
