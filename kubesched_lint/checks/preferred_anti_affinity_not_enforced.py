"""Preferred anti-affinity is one score among others; above one pod per domain it is the wrong tool."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.scenario.others.room import domain_room
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.placement import spread_instead
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    pod = it.pod
    replicas = it.replicas
    spread_keys = {c.topology_key for c in pod.spread}
    for weighted in pod.preferred_anti_affinity:
        term = weighted.term
        if term.topology_key in spread_keys or not it.repels_itself(term):
            continue
        room = domain_room(it, term.topology_key)
        if 1 < len(room.domains) < replicas:
            yield Hazard(
                at=weighted.path,
                evidence=pattern(
                    f"{replicas} replicas on {len(room.domains)} {domain_word(term.topology_key, len(room.domains))}"
                ),
                values={"key": term.topology_key, "replicas": replicas, "domains": room.domains},
            )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Use a spread constraint instead, which balances more replicas than domains."""
    yield from spread_instead(it.workload, hazard.at, hard=False)
