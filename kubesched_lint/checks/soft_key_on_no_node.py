"""A soft constraint over a key that no usable node carries: every node gets the same score."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.pod import PodAffinityTerm, SpreadConstraint
from kubesched_lint.engine.scenario.premises.premises import nodes_in_words, none_of_nodes
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import correction, nearest_key_of
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    usable = it.usable & it.scenario.distinct
    if not usable:
        return  # without nodes there are no labels to check; other rules report that cause
    pod = it.pod
    terms: list[tuple[PodAffinityTerm | SpreadConstraint, str]] = [
        (c, "spread constraint") for c in pod.spread if not c.is_hard
    ]
    terms += [(w.term, "pod affinity") for w in pod.preferred_affinity]
    terms += [(w.term, "pod anti-affinity") for w in pod.preferred_anti_affinity]
    for term, what in terms:
        key = term.topology_key
        if key and not usable & it.scenario.index.with_key(key):
            yield Hazard(
                at=(*term.path, "topologyKey"),
                evidence=pattern(f"{none_of_nodes(it.scenario, usable)} has the label {key}"),
                values={
                    "key": key,
                    "nodes": nodes_in_words(it.scenario, usable),
                    "what": what,
                    "correction": correction(nearest_key_of(it.scenario, key)),
                },
            )
