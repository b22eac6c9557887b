"""Required affinity leads to a domain that has no room left."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.scenario.others.neighbours import may_be_answered_by_set
from kubesched_lint.engine.scenario.others.room import most_copies, most_free, nodes_near_running, tightest_resource
from kubesched_lint.engine.scenario.others.staying import staying, staying_beside_set
from kubesched_lint.engine.scenario.premises.premises import HOSTS_STAY, running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.placement import make_preferred
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity, proof


def check(it: Member) -> Iterator[Hazard]:
    """Report only if all pods that match the affinity already run: pods to come may run elsewhere."""
    if not it.workload.stays or not it.usable:
        return
    terms = it.pod.required_affinity
    near = nodes_near_running(it)
    if near is None or may_be_answered_by_set(it):
        return
    replicas = it.replicas
    there = near & it.usable
    supply = most_copies(it, replicas, there)
    surely = supply == most_copies(it, replicas, there, beside=staying_beside_set(it.scenario)) == 0
    if supply >= replicas or it.scenario.index.unknown_resources & there:
        return
    tight = tightest_resource(it, there)
    free = most_free(it, tight, there) if there else 0
    yield Hazard(
        at=terms[0].path,
        evidence=proof(
            f"{many(replicas, 'replica')} > {supply} that fit on "
            + (", ".join(it.scenario.names(there)[:6]) or "no node")
            + (f" (free {tight}: {show(tight, free)})" if there and _is_tight(it, tight, there) else ""),
            demand=replicas,
            supply=supply,
            assumes=(*running_premises(it), HOSTS_STAY),
        ),
        severity=None if surely else Severity.WARNING,
        values={
            "pending": replicas - supply,
            "replicas": replicas,
            "key": terms[0].topology_key,
            "nodes": it.scenario.names(there) or it.scenario.names(near),
            "resource": tight,
            "wanted": show(tight, it.pod.requests.get(tight, 1)),
            "free": show(tight, free),
        },
        variant=_variant(it, tight, near, there),
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Prefer the pods instead of requiring them, so that full nodes are no obstacle."""
    yield from make_preferred(it.workload, *(term.path for term in it.workload.pod.required_affinity))


def _variant(it: Member, resource: str, near: NodeSet, there: NodeSet) -> str:
    if not there:
        return "unusable" if near else "nowhere"
    return "default" if _is_tight(it, resource, there) else "one_each"


def _is_tight(it: Member, resource: str, nodes: NodeSet) -> bool:
    """Whether the resource is the limit; otherwise a host port or anti-affinity to its own pods is."""
    free = staying(it).state.ledger.free(resource)
    each = 1 if resource == PODS else it.pod.requests.get(resource, 1)
    return sum(max(0, free[i]) // each for i in positions(nodes)) < it.replicas
