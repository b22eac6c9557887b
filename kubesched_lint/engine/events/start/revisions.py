"""Pods of one workload that are of different templates: they may run beside each other, and pass different filters."""

from __future__ import annotations

from kubesched_lint.engine.events.search.events import admitted
from kubesched_lint.engine.events.start.rooms import kept_apart, repelled_by_others
from kubesched_lint.engine.events.start.simulated_set import (
    SimulatedMember,
    SimulatedSet,
    once_per_member,
    once_per_set,
)
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm, SpreadConstraint
from kubesched_lint.engine.scheduler.capacity import copies
from kubesched_lint.engine.scheduler.framework import static_feasible, with_enforced_constraints


def is_mixed(member: SimulatedMember) -> bool:
    """Whether pods of older templates may run beside those of the manifest, until a rollout ends."""
    changes = member.changes_template is not False
    return bool(member.running) and (changes or not member.is_settled)


def _others(member: SimulatedMember) -> tuple[Pod, ...]:
    """Return pods of a workload that are not of the manifest's revision: a later one, and each that runs."""
    later = _later(member)
    return (later, *member.kinds[1:]) if is_mixed(member) else (later,)


@once_per_member
def _later(member: SimulatedMember) -> Pod:
    return admitted(member.set.admission, member.workload, 1)


def reaches_old(member: SimulatedMember, selector: Selector | None) -> bool:
    """Whether a selector of its pods also matches pods of all other revisions; one with a revision's hash does not."""
    return selector is not None and all(selector.matches(pod.labels) for pod in _others(member))


def repels_old_alone(member: SimulatedMember, term: PodAffinityTerm) -> bool:
    """Whether a term of its pods selects pods of another revision, but not of its own (mismatchLabelKeys)."""
    pod = member.pod
    repelled = any(member.set.selects(term, pod, other) for other in _others(member))
    return repelled and not member.set.selects(term, pod, pod)


def is_looser(member: SimulatedMember) -> bool:
    """Whether pods that run may be where pods of the manifest's template may not.

    They are of an older template, or ask for less: somebody has resized them in place, or VPA asked for less once.
    """
    known = _looser(member.set)
    if member.number not in known:
        pod, usable = with_enforced_constraints(member.pod), member.usable
        known[member.number] = any(
            not _asks_as_much(with_enforced_constraints(other), pod)
            or static_feasible(other, member.set.index) & ~usable
            for other in member.kinds[1:]
        )
    return known[member.number]


@once_per_set
def _looser(simulated: SimulatedSet) -> dict[int, bool]:
    return {}


def _asks_as_much(other: Pod, pod: Pod) -> bool:
    """Whether ``other`` has all conditions of ``pod`` that depend on resources and on other pods."""
    return (
        all(other.requests.get(resource, 0) >= amount for resource, amount in pod.requests.items())
        and {*pod.host_ports} <= {*other.host_ports}
        and not pod.scheduling_gates
        and {*map(_term, pod.required_affinity)} == {*map(_term, other.required_affinity)}
        and {*map(_term, pod.required_anti_affinity)} <= {*map(_term, other.required_anti_affinity)}
        and {_spread(c) for c in pod.spread if c.is_hard} <= {_spread(c) for c in other.spread if c.is_hard}
    )


def _term(term: PodAffinityTerm) -> tuple[object, ...]:
    keys = (*term.match_label_keys, *term.mismatch_label_keys)
    space = term.namespace_selector
    within = None if space is None else frozenset(space.requirements)
    return term.topology_key, _written(term.selector, keys), frozenset(term.namespaces), within, keys


def _spread(constraint: SpreadConstraint) -> tuple[object, ...]:
    c, keys = constraint, constraint.match_label_keys
    policies = c.honors_affinity, c.honors_taints
    return c.topology_key, c.max_skew, c.min_domains, policies, _written(c.selector, keys), keys


def _written(selector: Selector | None, keys: tuple[str, ...]) -> object:
    """Return the requirements without those that the API server adds for matchLabelKeys: they name the revision."""
    return None if selector is None else frozenset(r for r in selector.requirements if r.key not in keys)


def stands_in_room(member: SimulatedMember) -> bool:
    """Whether the nodes have room for as many pods of the manifest's template as run there now."""
    at = _places(member)
    open_ = member.usable & ~repelled_by_others(member)
    room = dict(copies(with_enforced_constraints(member.pod), member.set.cluster, open_, len(at)))
    return all(at.count(p) <= room.get(p, 0) for p in set(at))


def stands_well(member: SimulatedMember) -> bool:
    """Whether the running pods satisfy the conditions that ``most_placed`` counts, so that its bound holds for them."""
    pod = with_enforced_constraints(member.pod)
    changes = member.changes_template is not False
    if changes and any(not b.node for b in member.running):
        return False  # waiting pods of another template may land where new ones may not
    if not stands_in_room(member):
        return False
    if pod.required_affinity or any(c.is_hard for c in pod.spread):
        return False
    at = _places(member)
    domains = (d for term in kept_apart(member) for d in member.set.index.domains(term.topology_key).values())
    return all(sum(domain >> p & 1 for p in at) <= 1 for domain in domains)


def _places(member: SimulatedMember) -> list[int]:
    """Return the position of the node of each running pod; −1: a node that is not in the snapshot."""
    at = member.set.index.positions
    return [at.get(b.node, -1) for b in member.running if b.node]
