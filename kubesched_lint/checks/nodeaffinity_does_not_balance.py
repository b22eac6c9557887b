"""Node affinity over several domains chooses nodes; it does not balance replicas among them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.scenario.others.room import domain_room
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.placement import spread_over
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    pod = it.workload.pod
    replicas = it.replicas
    if pod.spread or pod.required_anti_affinity or pod.preferred_anti_affinity or replicas < 2 or not it.workload.stays:
        return
    for term in pod.required_node_terms or ():
        for wanted in term.expressions:
            if wanted.operator != "In" or len(wanted.values) < 2:
                continue
            domains = tuple(v for v in domain_room(it, wanted.key).domains if v in wanted.values)
            if len(domains) > 1:
                yield Hazard(
                    at=wanted.path,
                    evidence=pattern(
                        f"{replicas} replicas, {len(domains)} {domain_word(wanted.key, len(domains))}, "
                        "nothing that balances"
                    ),
                    values={"key": wanted.key, "domains": domains, "replicas": replicas},
                )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Spread softly over the key that the affinity names."""
    yield from spread_over(it, str(hazard.values["key"]))
