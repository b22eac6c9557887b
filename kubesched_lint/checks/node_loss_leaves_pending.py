"""What is left after one node, or one zone, does not hold all replicas."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.model.node import ZONE
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts, *, of: str) -> Iterator[Hazard]:
    """Bounds by counting: free room and one replica per domain of its own anti-affinity."""
    usable, replicas = facts.usable(workload), facts.replicas(workload)
    if not workload.stays or workload.kind == "Pod" or not replicas or facts.index.unknown_resources & usable:
        return
    if _most(workload, facts, usable) < replicas:
        return  # it does not even fit today: others say so
    losses = [(name, lost & usable) for name, lost in _losses(facts, usable, of)]
    worst = [(replicas - _most(workload, facts, usable & ~lost), name) for name, lost in losses if lost]
    left_over = [(missing, name) for missing, name in worst if missing > 0]
    if not left_over:
        return
    missing, name = max(left_over)
    yield Hazard(
        at=workload.replicas_path,
        evidence=proof(
            f"{replicas} replicas > {replicas - missing} that fit without {name}",
            demand=replicas,
            supply=replicas - missing,
            assumes=facts.running_premises(workload),
        ),
        values={
            "pending": missing,
            "replicas": replicas,
            "what": f"{of} {name}" if len(left_over) == 1 else f"any of {len(left_over)} {of}s (for example {name})",
        },
        related=tuple(
            Place(t.path, "each replica needs a domain of its own")
            for t in workload.pod.required_anti_affinity
            if facts.repels_itself(workload, t)
        ),
    )


def _losses(facts: Facts, usable: NodeSet, of: str) -> Iterator[tuple[str, NodeSet]]:
    if of == "zone":
        zones = facts.index.domains(ZONE)
        if len(zones) > 1:
            yield from zones.items()
    else:
        yield from ((facts.index.names[i], 1 << i) for i in positions(usable))


def _most(workload: Workload, facts: Facts, nodes: NodeSet) -> int:
    replicas = facts.replicas(workload)
    most = facts.copies(workload, replicas, nodes)
    for term in facts.pod(workload).required_anti_affinity:
        if facts.repels_itself(workload, term) and not nodes & ~facts.index.with_key(term.topology_key):
            domains = facts.index.domains(term.topology_key).values()
            most = min(most, sum(1 for domain in domains if domain & nodes))
    return most
