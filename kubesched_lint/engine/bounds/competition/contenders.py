"""The contenders that a workload's pods select, and the contenders that select them.

Rivals are found by label, because testing each pair takes quadratic time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kubesched_lint.engine.base.identity import ByIdentity
from kubesched_lint.engine.bounds.competition.contention import Competitor, contention_of
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.cluster.selecting.postings import HeldTerms
from kubesched_lint.engine.events.start.coupling import PodSelection, selecting_terms
from kubesched_lint.engine.events.start.quotas import quota_short
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.model.pod import PodAffinityTerm, SpreadConstraint


@once_per_set
def _selected(simulated: SimulatedSet) -> PodSelection:
    pods = tuple(r.pod for _, r in contention_of(simulated).contenders)
    return (
        simulated.selection if pods == simulated.pods else PodSelection(pods, simulated.cluster)
    )  # most have one contender


@once_per_set
def _held(simulated: SimulatedSet) -> HeldTerms[int]:
    held: HeldTerms[int] = HeldTerms()
    for place, (_, contender) in enumerate(contention_of(simulated).contenders):
        held.add(place, contender.pod)
    return held


def repelling(member: SimulatedMember) -> Iterator[tuple[str, Competitor, int]]:
    """Yield ``(topology key, contender, times)`` for each required anti-affinity of this workload or against it.

    Contenders with equal numbers and nodes come once, with their count as ``times``.
    """
    simulated = member.set
    pod = member.pod
    if pod.node_name:
        return
    for term, holders in selecting_terms(_held(simulated), pod, simulated.cluster):
        yield from ((term.topology_key, *group) for group in _groups_of_others(member, holders))
    for term in pod.required_anti_affinity:
        selected = _selected(simulated).of(term, pod.namespace)
        yield from ((term.topology_key, *group) for group in _groups_of_others(member, selected))


class _Groups(NamedTuple):
    """Groups of equal contenders among some places."""

    groups: Mapping[tuple[int, NodeSet], tuple[Competitor, int]]
    """(count, nodes) of a contender → one such contender, and how many there are."""
    of: Mapping[int, Sequence[tuple[int, NodeSet]]]
    """Workload → groups with pods of its newest revision."""


@once_per_set
def _parted(simulated: SimulatedSet) -> ByIdentity[Sequence[int], _Groups]:
    """Return the cache by places."""
    return ByIdentity()


def _groups(simulated: SimulatedSet, places: Sequence[int]) -> _Groups:
    known = _parted(simulated)
    parted = known.get(places)
    if parted is None:
        groups: dict[tuple[int, NodeSet], tuple[Competitor, int]] = {}
        of: dict[int, list[tuple[int, NodeSet]]] = {}
        for i, contender in map(contention_of(simulated).contenders.__getitem__, places):
            kind = contender.count, contender.nodes
            groups[kind] = contender, groups.get(kind, (contender, 0))[1] + 1
            if contender.pod is simulated.pods[i]:
                of.setdefault(i, []).append(kind)
        parted = known[places] = _Groups(groups, of)
    return parted


def _groups_of_others(member: SimulatedMember, places: Sequence[int]) -> Iterator[tuple[Competitor, int]]:
    """Yield the contenders of ``_others`` in groups of equal ones, with the size of each group."""
    alike = _groups(member.set, places)
    own = alike.of.get(member.number, ())
    for kind, (contender, times) in alike.groups.items():
        left = times - own.count(kind)
        if left:
            yield contender, left


def counted(member: SimulatedMember, constraint: SpreadConstraint) -> list[Competitor]:
    """Return the contenders that a spread constraint of the workload counts."""
    selector, pod = constraint.selector, member.pod
    if selector is None or selector.is_empty:
        return []
    return list(_others(member, _selected(member.set).of(selector, pod.namespace)))


def drawing(member: SimulatedMember, terms: Sequence[PodAffinityTerm]) -> Iterator[Competitor]:
    """Yield the contenders that all of the workload's terms select."""
    return _others(member, _selected(member.set).of_all(terms, member.pod.namespace))


def _others(member: SimulatedMember, places: Sequence[int]) -> Iterator[Competitor]:
    """Yield pods of other workloads, and running pods of another revision of this one."""
    contention, pod = contention_of(member.set).contenders, member.pod
    for place in places:
        i, contender = contention[place]
        if i != member.number or contender.pod is not pod:
            yield contender


def made_again(member: SimulatedMember, terms: Sequence[PodAffinityTerm]) -> Iterator[int]:
    """Yield the other workloads that all terms select and whose controller recreates pods."""
    simulated = member.set
    selected, short = simulated.selection.of_all(terms, member.pod.namespace), quota_short(simulated)
    for i in selected:
        workload = simulated.workloads[i]
        kept = workload.kind in ("Deployment", "ReplicaSet", "StatefulSet") and not workload.suspended
        if i != member.number and kept and i not in short:
            yield i
