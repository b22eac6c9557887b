"""Required anti-affinity over more than a node, which an admission plugin forbids if it is on."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.nodes.node import HOSTNAME
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.placement import spread_instead
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    """``plugin/pkg/admission/antiaffinity/admission.go`` looks at the key of each required term."""
    for term in it.workload.pod.required_anti_affinity:
        if term.topology_key != HOSTNAME:
            yield Hazard(
                at=(*term.path, "topologyKey"),
                evidence=pattern(f"the key is {term.topology_key}, not {HOSTNAME}"),
                values={"key": term.topology_key},
            )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Spread the pods instead: no admission plugin refuses a constraint."""
    yield from spread_instead(it.workload, hazard.at[:-1], hard=True)
