"""Affinity to its own pods starts anywhere, unless one of them already sits where no other can join it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.neighbours import may_be_answered_by_set
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.rollout import fenceposts
from kubesched_lint.checks._remedies import make_preferred
from kubesched_lint.cluster.nodeset import EMPTY
from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.model.pod import BoundPod, PodAffinityTerm
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """The exception for the first pod holds only while no pod matches all terms (satisfyPodAffinity, filtering.go)."""
    terms = facts.pod(workload).required_affinity
    usable = facts.usable(workload)
    if not workload.stays or not usable or not all(facts.repels_itself(workload, t) for t in terms):
        return
    if may_be_answered_by_set(facts, workload):
        return
    matching = [b for b in _staying(workload, facts) if all(_selected(workload, t, b, facts) for t in terms)]
    near = facts.index.all
    for term in terms:
        domains = EMPTY
        for bound in matching:
            domains |= facts.index.domain_of(term.topology_key, facts.index.position(bound.node))
        near &= domains
    counts = any(facts.index.domain_of(t.topology_key, facts.index.position(b.node)) for t in terms for b in matching)
    if not counts or near & usable:
        return
    names = tuple(sorted({f"{b.namespace}/{b.name}" for b in matching}))
    key = terms[0].topology_key
    yield Hazard(
        at=terms[0].path,
        evidence=proof(
            f"0 of {usable.bit_count()} usable nodes are in the {key} of {', '.join(names[:6])}: "
            "node(s) didn't match pod affinity rules",
            demand=1,
            supply=0,
            assumes=(*facts.node_premises(workload), "the running pods that match stay where they are"),
        ),
        severity=Severity.WARNING,
        values={
            "replicas": facts.replicas(workload),
            "pods": names,
            "key": key,
            "nodes": tuple(sorted({b.node for b in matching})),
        },
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Prefer its own pods instead of requiring them."""
    yield from make_preferred(workload, *(term.path for term in workload.pod.required_affinity))


def _selected(workload: Workload, term: PodAffinityTerm, bound: BoundPod, facts: Facts) -> bool:
    return facts.namespaces.selects(term, workload.namespace, bound.pod, unknown=True)


def _staying(workload: Workload, facts: Facts) -> Iterator[BoundPod]:
    """Running pods that are there when the first new one comes; its own go first where the update says so."""
    positions = facts.index.positions
    own = facts.running_pods(workload) if _keeps_old(workload, facts) else ()
    return (b for b in (*facts.other_pods, *own) if b.node in positions)


def _keeps_old(workload: Workload, facts: Facts) -> bool:
    if facts.template_changed(workload) is False:
        return False  # nothing is rolled out: its pods stay, and no new one comes
    replicas = facts.replicas(workload)
    if workload.kind == "Deployment" and workload.strategy.type == "RollingUpdate":
        return fenceposts(workload, replicas)[1] < replicas
    return workload.kind == "StatefulSet" and replicas > 1
