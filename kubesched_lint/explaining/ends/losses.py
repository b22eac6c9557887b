"""The losses of one node, or of one zone, that leave too little free room, or too few domains, for all replicas."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.model.nodes.node import ZONE, domain_word
from kubesched_lint.engine.scenario.others.room import most_apart
from kubesched_lint.engine.scenario.premises.premises import running_premises
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.findings import Hazard, Place, proof


def left_pending(it: Member, of: str) -> Iterator[Hazard]:
    """Count free room, and one replica per domain of its own anti-affinity."""
    usable, replicas = it.usable, it.replicas
    if (
        not it.workload.stays
        or it.workload.kind == "Pod"
        or not replicas
        or it.scenario.index.unknown_resources & usable
    ):
        return
    if most_apart(it, replicas) < replicas:
        return  # it does not fit even today: other rules report that
    losses = [(name, lost & usable) for name, lost in _losses(it.scenario, usable, of)]
    worst = [(replicas - most_apart(it, replicas, usable & ~lost), name) for name, lost in losses if lost]
    left_over = [(missing, name) for missing, name in worst if missing > 0]
    if not left_over:
        return
    missing, name = max(left_over)
    yield Hazard(
        at=it.workload.replicas_path,
        evidence=proof(
            f"{many(replicas, 'replica')} > {replicas - missing} that fit without {name}",
            demand=replicas,
            supply=replicas - missing,
            assumes=running_premises(it),
            event=f"{of}-loss",
        ),
        values={
            "pending": missing,
            "replicas": replicas,
            "what": f"{of} {name}" if len(left_over) == 1 else f"any of {len(left_over)} {of}s (for example {name})",
        },
        related=tuple(
            Place(t.path, f"each replica needs a {domain_word(t.topology_key)} of its own") for t in it.kept_apart
        ),
    )


def _losses(scenario: Scenario, usable: NodeSet, of: str) -> Iterator[tuple[str, NodeSet]]:
    if of == "zone":
        zones = scenario.index.domains(ZONE)
        if len(zones) > 1:
            yield from zones.items()
    else:
        yield from ((scenario.index.names[i], 1 << i) for i in positions(usable))
