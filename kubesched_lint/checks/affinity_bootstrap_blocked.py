"""Affinity to its own pods lets the first pod start anywhere, unless one already runs where no other can join it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.cluster.nodeset import EMPTY
from kubesched_lint.engine.model.pod import BoundPod, PodAffinityTerm
from kubesched_lint.engine.placing.rollout import fenceposts
from kubesched_lint.engine.scenario.others.neighbours import may_be_answered_by_set
from kubesched_lint.engine.scenario.premises.premises import node_premises, none_of_nodes
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.placement import make_preferred
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity, proof


def check(it: Member) -> Iterator[Hazard]:
    """The exception for the first pod holds only while no pod matches all terms (satisfyPodAffinity, filtering.go)."""
    terms = it.pod.required_affinity
    usable = it.usable
    if not it.workload.stays or not usable or not all(it.repels_itself(t) for t in terms):
        return
    if may_be_answered_by_set(it):
        return
    matching = [b for b in _staying(it) if all(_selected(it, t, b) for t in terms)]
    near = it.scenario.index.all
    for term in terms:
        domains = EMPTY
        for bound in matching:
            domains |= it.scenario.index.domain_of(term.topology_key, it.scenario.index.position(bound.node))
        near &= domains
    counts = any(
        it.scenario.index.domain_of(t.topology_key, it.scenario.index.position(b.node)) for t in terms for b in matching
    )
    if not counts or near & usable:
        return
    names = tuple(sorted({f"{b.namespace}/{b.name}" for b in matching}))
    key = terms[0].topology_key
    yield Hazard(
        at=terms[0].path,
        evidence=proof(
            f"{none_of_nodes(it.scenario, usable)} is in the {key} of {', '.join(names[:6])}: "
            "node(s) didn't match pod affinity rules",
            demand=1,
            supply=0,
            assumes=(*node_premises(it), "the running pods that match stay where they are"),
        ),
        severity=Severity.WARNING,
        values={
            "replicas": it.replicas,
            "pods": names,
            "key": key,
            "nodes": tuple(sorted({b.node for b in matching})),
        },
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Prefer its own pods instead of requiring them."""
    yield from make_preferred(it.workload, *(term.path for term in it.workload.pod.required_affinity))


def _selected(it: Member, term: PodAffinityTerm, bound: BoundPod) -> bool:
    return it.scenario.namespaces.selects(term, it.workload.namespace, bound.pod, unknown=True)


def _staying(it: Member) -> Iterator[BoundPod]:
    """Running pods that still exist when the first new one comes; its own only if the update keeps old pods."""
    positions = it.scenario.index.positions
    own = it.running_pods if _keeps_old(it) else ()
    return (b for b in (*it.scenario.other_pods, *own) if b.node in positions)


def _keeps_old(it: Member) -> bool:
    if it.template_changed is False:
        return False  # nothing is rolled out: its pods stay, and no new pod comes
    replicas = it.replicas
    if it.workload.kind == "Deployment" and it.workload.strategy.type == "RollingUpdate":
        return fenceposts(it.workload, replicas)[1] < replicas
    return it.workload.kind == "StatefulSet" and replicas > 1
