"""A topology key that looks like a well-known one but is misspelt, renamed or made up."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import nodes_carry
from kubesched_lint.explaining.near_misses.well_known import correction_of
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity, pattern
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    pod = it.workload.pod
    preferred = {(*w.term.path, "topologyKey") for w in (*pod.preferred_affinity, *pod.preferred_anti_affinity)}
    is_sketch = it.scenario.cluster is not None and it.scenario.cluster.origin == "sketch"
    for key, at in _topology_keys(pod):
        correction = correction_of(key)
        if correction is None or nodes_carry(it.scenario, key):
            continue
        # A sketch need not write what clouds set; if it has neither label, nothing is known.
        is_open = is_sketch and correction.deprecated and not nodes_carry(it.scenario, correction.key)
        yield Hazard(
            at=at,
            evidence=pattern(correction.reason),
            severity=Severity.NOTE if is_open and at in preferred else None,
            values={"key": key, "meant": correction.key, "reason": correction.reason},
            variant="deprecated" if correction.deprecated else "typo",
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write the well-known key that was meant."""
    corrected = hazard.values["meant"]
    # Required anti-affinity over a key that no node carries has no effect: corrected, it may leave pods Pending.
    is_strict = any(hazard.at[:-1] == term.path for term in it.workload.pod.required_anti_affinity)
    is_inert = is_strict and not (
        it.scenario.cluster is not None and it.scenario.index.with_key(str(hazard.values["key"]))
    )
    yield Remedy(f"write {corrected}", safe=not is_inert, changes=(Put(hazard.at, corrected),))


def _topology_keys(pod: Pod) -> Iterator[tuple[str, Path]]:
    terms = [*pod.required_affinity, *pod.required_anti_affinity]
    terms += [w.term for w in (*pod.preferred_affinity, *pod.preferred_anti_affinity)]
    yield from ((t.topology_key, (*t.path, "topologyKey")) for t in terms)
    yield from ((c.topology_key, (*c.path, "topologyKey")) for c in pod.spread)
