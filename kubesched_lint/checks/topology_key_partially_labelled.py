"""Usable nodes that lack the topology key: anti-affinity is not enforced there, affinity and spread exclude them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.pod import PodAffinityTerm, SpreadConstraint
from kubesched_lint.engine.scenario.premises.premises import nodes_in_words
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    usable = it.usable & it.scenario.distinct
    pod = it.pod
    terms: list[tuple[PodAffinityTerm | SpreadConstraint, str]] = [
        (t, "anti_affinity") for t in pod.required_anti_affinity
    ]
    terms += [(t, "affinity") for t in pod.required_affinity]
    terms += [(c, "spread") for c in pod.spread if c.is_hard]
    for term, variant in terms:
        lacking = usable & ~it.scenario.index.with_key(term.topology_key)
        if lacking and lacking != usable:
            yield Hazard(
                at=(*term.path, "topologyKey"),
                evidence=pattern(
                    f"{_share(it.scenario, lacking, usable)} lack {term.topology_key}: "
                    + ", ".join(it.scenario.names(lacking)[:6])
                ),
                values={
                    "key": term.topology_key,
                    "share": _share(it.scenario, lacking, usable),
                    "lacking": lacking.bit_count(),
                    "nodes": it.scenario.names(lacking & it.scenario.today or lacking),
                },
                variant=variant,
            )


def _share(scenario: Scenario, lacking: NodeSet, usable: NodeSet) -> str:
    """Return ``1 of the 4 nodes``, or with new nodes of pools both in words."""
    if usable & ~scenario.today:
        return f"{nodes_in_words(scenario, lacking)}, of the {nodes_in_words(scenario, usable)}"
    return f"{lacking.bit_count()} of the {nodes_in_words(scenario, usable)}"
