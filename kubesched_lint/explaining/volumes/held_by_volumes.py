"""Which pod of a StatefulSet spread refuses in the domain of its volume, when all its pods start in order."""

from __future__ import annotations

from msgspec import Struct

from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.controllers.statefulset import claims_of
from kubesched_lint.engine.model.pod import SpreadConstraint, Volume
from kubesched_lint.engine.placing.together.spread import counted_nodes
from kubesched_lint.engine.scenario.others.neighbours import others_selected
from kubesched_lint.engine.scenario.others.running import matching_by_domain
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claims import bound_volume, nodes_of_volume
from kubesched_lint.engine.scheduler.topology import least_count


class Stuck(Struct, frozen=True):
    """Pod ``ordinal`` has its volume in ``domain``, which would hold ``would`` pods; the emptiest holds ``least``."""

    ordinal: int
    claim: str
    domain: str
    would: int
    least: int
    before: tuple[str, ...]
    """The domains of the pods before it, by ordinal."""
    helped: bool
    """Whether all its pods can run if all are created at once."""


def first_stuck(it: Member, constraint: SpreadConstraint) -> Stuck | None:
    """Return the first pod that spread refuses in its volume's domain when all start in order; None without one.

    It stops at the first pod with more than one possible domain, because there the scheduler chooses.
    """
    pod, key = it.pod, constraint.topology_key
    selector = constraint.selector
    if selector is None or selector.is_empty or not selector.matches(pod.labels):
        return None
    if any(True for _ in others_selected(it, selector)):
        return None
    counted = counted_nodes(it, constraint)
    running = matching_by_domain(staying_beside_set(it.scenario), it.workload.namespace, selector, key, counted)
    counts = {value: running.get(value, 0) for value in it.scenario.index.domains_with(key, counted)}
    before: list[str] = []
    for ordinal in range(it.replicas):
        claim, nodes = _held(it, ordinal)
        reached = [*it.scenario.index.domains_with(key, nodes)]
        if not claim or len(reached) != 1 or reached[0] not in counts:
            return None
        least = least_count(constraint, counts.values())
        if counts[reached[0]] + 1 - least > constraint.max_skew:
            would = counts[reached[0]] + 1
            counts = {value: count - before.count(value) for value, count in counts.items()}
            return Stuck(ordinal, claim, reached[0], would, least, tuple(before), _fit_at_once(it, constraint, counts))
        counts[reached[0]] += 1
        before.append(reached[0])
    return None


def _fit_at_once(it: Member, constraint: SpreadConstraint, counts: dict[str, int]) -> bool:
    """Whether all pods run if they are created at once: the emptiest domain that has a pod left gets the next one.

    Pods that may go anywhere come last, where they lift the least as far as they can; if they are needed before, no.
    """
    left = dict.fromkeys(counts, 0)
    free = 0
    for ordinal in range(it.replicas):
        reached = [*it.scenario.index.domains_with(constraint.topology_key, _held(it, ordinal)[1])]
        if len(reached) == 1 and reached[0] in left:
            left[reached[0]] += 1
        else:
            free += 1
    while any(left.values()) or free:
        waiting = [value for value, number in left.items() if number] or [*counts]
        into = min(waiting, key=lambda value: counts[value])
        emptiest = min(counts, key=lambda value: counts[value])
        if counts[into] + 1 - least_count(constraint, counts.values()) > constraint.max_skew:
            if not free or into == emptiest:
                return False
            into, free = emptiest, free - 1
        elif left[into]:
            left[into] -= 1
        else:
            free -= 1
        counts[into] += 1
    return True


def _held(it: Member, ordinal: int) -> tuple[str, NodeSet]:
    """A bound claim of this pod, and the nodes that reach all its bound volumes."""
    nodes, name = it.usable, ""
    for claim in claims_of(it.workload, ordinal):
        if bound_volume(it.scenario, it.workload.namespace, claim.name) is not None:
            name = name or claim.name
            nodes &= nodes_of_volume(it, Volume("claim", "persistentVolumeClaim", claim.name))
    return name, nodes
