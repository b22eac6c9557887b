"""Workloads of which one, if its pods are placed first, may close every domain of another by required anti-affinity."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from msgspec import Struct

from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.reachability import blocked_affinities, lacks_topology
from kubesched_lint.engine.scenario.others.room import bounding_domains, domain_room
from kubesched_lint.engine.scenario.others.staying import preempts
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario


class Conflict(Struct, frozen=True):
    """The workload that comes first may take every domain of the other, the victim."""

    first: Workload
    victim: Workload
    why: str
    """Why it comes first."""
    domains: tuple[str, ...]


def conflicts(it: Member, term: PodAffinityTerm) -> Sequence[Conflict]:
    """Return the conflicts with other workloads that a required term of this one selects."""
    if not _may_conflict(it, term.topology_key):
        return ()
    selected = it.scenario.selection.selected_by(term, it.workload.namespace)
    others = (w for w in selected if w is not it.workload and w.stays and it.surely_selects(term, w))
    return [
        conflict for w in others if (conflict := _conflict(it.workload, w, term.topology_key, it.scenario)) is not None
    ]


def _may_conflict(it: Member, key: str) -> bool:
    """Whether it has pods for the domains of some workload of the set, or some workload has pods for its domains."""
    own = bounding_domains(it, key)
    return it.replicas >= _fewest_domains(it.scenario, key) or (
        own is not None and _most_replicas(it.scenario) >= len(own)
    )


def _fewest_domains(scenario: Scenario, key: str) -> float:
    known = _known_fewest(scenario)
    if key not in known:
        members = (scenario.member(workload) for workload in scenario.manifests.workloads)
        domains = (bounding_domains(member, key) for member in members if member.replicas)
        known[key] = min((len(bounding) for bounding in domains if bounding is not None), default=inf)
    return known[key]


@once_per_scenario
def _known_fewest(scenario: Scenario) -> dict[str, float]:
    return {}


@once_per_scenario
def _most_replicas(scenario: Scenario) -> int:
    return max(scenario.member(workload).replicas for workload in scenario.manifests.workloads)


def _conflict(holder: Workload, other: Workload, key: str, scenario: Scenario) -> Conflict | None:
    """Return what the workload that is created first, or preempts the other, does to it; None if there is room."""
    first, victim = (holder, other) if scenario.order.comes_before(holder, other) else (other, holder)
    why = "is created first"
    if preempts(scenario.member(victim), first):
        first, victim, why = victim, first, "preempts them"
    domains = bounding_domains(scenario.member(victim), key)
    if domains is None or scenario.member(first).replicas < len(domains) or not scenario.member(victim).replicas:
        return None
    if not set(domains) <= set(domain_room(scenario.member(first), key).domains):
        return None
    if first in blocked_affinities(scenario) or lacks_topology(scenario.member(first)):
        return None  # it never runs
    return Conflict(first, victim, why, domains)
