"""Pods of one workload that are of different templates: they may run beside each other, and pass different filters."""

from __future__ import annotations

from kubesched_lint.engine.events.search.events import admitted
from kubesched_lint.engine.events.start.rooms import kept_apart, repelled_by_others
from kubesched_lint.engine.events.start.setting import Setting, once_per_setting, once_per_workload
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm, SpreadConstraint
from kubesched_lint.engine.scheduler.capacity import copies
from kubesched_lint.engine.scheduler.framework import static_feasible, with_enforced_constraints


def is_mixed(setting: Setting, number: int) -> bool:
    """Whether pods of older templates may run beside those of the manifest, until a rollout ends."""
    changes = setting.changes.get(number, True) is not False
    return bool(setting.running.get(number)) and (changes or not setting.is_settled(number))


def _others(setting: Setting, number: int) -> tuple[Pod, ...]:
    """Return pods of a workload that are not of the manifest's revision: a later one, and each that runs."""
    later = _later(setting, number)
    return (later, *setting.kinds[number][1:]) if is_mixed(setting, number) else (later,)


@once_per_workload
def _later(setting: Setting, number: int) -> Pod:
    return admitted(setting.admission, setting.workloads[number], 1)


def reaches_old(setting: Setting, selector: Selector | None, number: int) -> bool:
    """Whether a selector of its pods also matches pods of all other revisions; one with a revision's hash does not."""
    return selector is not None and all(selector.matches(pod.labels) for pod in _others(setting, number))


def repels_old_alone(setting: Setting, term: PodAffinityTerm, number: int) -> bool:
    """Whether a term of its pods selects pods of another revision, but not of its own (mismatchLabelKeys)."""
    pod = setting.pods[number]
    repelled = any(setting.selects(term, pod, other) for other in _others(setting, number))
    return repelled and not setting.selects(term, pod, pod)


def is_looser(setting: Setting, number: int) -> bool:
    """Whether pods that run may be where pods of the manifest's template may not.

    They are of an older template, or ask for less: somebody has resized them in place, or VPA asked for less once.
    """
    known = _looser(setting)
    if number not in known:
        pod, usable = with_enforced_constraints(setting.pods[number]), setting.usable[number]
        known[number] = any(
            not _asks_as_much(with_enforced_constraints(other), pod) or static_feasible(other, setting.index) & ~usable
            for other in setting.kinds[number][1:]
        )
    return known[number]


@once_per_setting
def _looser(setting: Setting) -> dict[int, bool]:
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
    policies = c.node_affinity_policy, c.node_taints_policy
    return c.topology_key, c.max_skew, c.min_domains, policies, _written(c.selector, keys), keys


def _written(selector: Selector | None, keys: tuple[str, ...]) -> object:
    """Return the requirements without those that the API server adds for matchLabelKeys: they name the revision."""
    return None if selector is None else frozenset(r for r in selector.requirements if r.key not in keys)


def stands_in_room(setting: Setting, number: int) -> bool:
    """Whether the nodes have room for as many pods of the manifest's template as run there now."""
    at = _places(setting, number)
    open_ = setting.usable[number] & ~repelled_by_others(setting, number)
    room = dict(copies(with_enforced_constraints(setting.pods[number]), setting.cluster, open_, len(at)))
    return all(at.count(p) <= room.get(p, 0) for p in set(at))


def stands_well(setting: Setting, number: int) -> bool:
    """Whether the running pods satisfy the conditions that ``most_placed`` counts, so that its bound holds for them."""
    pod = with_enforced_constraints(setting.pods[number])
    changes = setting.changes.get(number, True) is not False
    if changes and any(not b.node for b in setting.running.get(number, ())):
        return False  # waiting pods of another template may land where new ones may not
    if not stands_in_room(setting, number):
        return False
    if pod.required_affinity or any(c.is_hard for c in pod.spread):
        return False
    at = _places(setting, number)
    domains = (d for term in kept_apart(setting, number) for d in setting.index.domains(term.topology_key).values())
    return all(sum(domain >> p & 1 for p in at) <= 1 for domain in domains)


def _places(setting: Setting, number: int) -> list[int]:
    """Return the position of the node of each running pod; −1: a node that is not in the snapshot."""
    at = setting.index.positions
    return [at.get(b.node, -1) for b in setting.running.get(number, ()) if b.node]
