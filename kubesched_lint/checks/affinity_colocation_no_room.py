"""Required affinity leads to a domain that has no room left."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.neighbours import may_be_answered_by_set, nodes_near_running
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import make_preferred
from kubesched_lint.cluster.ledger import PODS
from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.model.quantity import show
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """Only where all that answers the affinity runs already: what is yet to come may come elsewhere."""
    if not workload.stays or not facts.usable(workload):
        return
    terms = facts.pod(workload).required_affinity
    near = nodes_near_running(facts, workload)
    if near is None or may_be_answered_by_set(facts, workload):
        return
    replicas = facts.replicas(workload)
    there = near & facts.usable(workload)
    supply = facts.copies(workload, replicas, there)
    surely = supply == facts.copies(workload, replicas, there, beside=facts.staying_beside_set) == 0
    if supply >= replicas or facts.index.unknown_resources & there:
        return
    tight = facts.tightest_resource(workload, there)
    free = facts.most_free(workload, tight, there) if there else 0
    yield Hazard(
        at=terms[0].path,
        evidence=proof(
            f"{replicas} replicas > {supply} that fit on {', '.join(facts.names(there)[:6]) or 'no usable node'}"
            + (f" (free {tight}: {show(tight, free)})" if there and _is_tight(workload, tight, there, facts) else ""),
            demand=replicas,
            supply=supply,
            assumes=facts.running_premises(workload),
        ),
        severity=None if surely else Severity.WARNING,
        values={
            "pending": replicas - supply,
            "replicas": replicas,
            "key": terms[0].topology_key,
            "nodes": facts.names(there) or facts.names(near),
            "resource": tight,
            "wanted": show(tight, facts.pod(workload).requests.get(tight, 1)),
            "free": show(tight, free),
        },
        variant=_variant(workload, tight, near, there, facts),
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Prefer the pods instead of requiring them, so that full nodes are no obstacle."""
    yield from make_preferred(workload, *(term.path for term in workload.pod.required_affinity))


def _variant(workload: Workload, resource: str, near: NodeSet, there: NodeSet, facts: Facts) -> str:
    if not there:
        return "unusable" if near else "nowhere"
    return "default" if _is_tight(workload, resource, there, facts) else "one_each"


def _is_tight(workload: Workload, resource: str, nodes: NodeSet, facts: Facts) -> bool:
    """Whether the resource holds too few replicas; else a host port, or anti-affinity to its own pods, does."""
    free = facts.staying(workload).state.ledger.free(resource)
    each = 1 if resource == PODS else facts.pod(workload).requests.get(resource, 1)
    return sum(max(0, free[i]) // each for i in positions(nodes)) < facts.replicas(workload)
