"""A topology key that no usable node carries: affinity and hard spread never hold, anti-affinity has no effect."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import is_slip
from kubesched_lint.engine.model.pod import PodAffinityTerm, SpreadConstraint
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.nodes.sketched import is_left_out
from kubesched_lint.engine.scenario.premises.premises import node_premises, none_of_nodes
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import nearest_key_among
from kubesched_lint.explaining.near_misses.well_known import WELL_KNOWN, correction_of
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity, pattern, proof
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    usable = it.usable & it.scenario.distinct
    if not usable:
        return  # without nodes there are no labels to check; other rules report that cause
    carry = f"{none_of_nodes(it.scenario, usable)} has the label"
    pod = it.pod
    wanted = pods_wanted(it)  # pods of a DaemonSet that the scheduler refuses stay Pending, too
    demanding: list[tuple[PodAffinityTerm | SpreadConstraint, str]] = [(t, "affinity") for t in pod.required_affinity]
    demanding += [(c, "spread") for c in pod.spread if c.is_hard]
    for term, variant in demanding:
        if not usable & it.scenario.index.with_key(term.topology_key) and not is_left_out(
            term.topology_key, it.scenario
        ):
            yield Hazard(
                at=(*term.path, "topologyKey"),
                evidence=proof(
                    f"{carry} {term.topology_key}",
                    demand=1,
                    supply=0,
                    assumes=node_premises(it),
                ),
                values={**_values(it, term.topology_key), "replicas": wanted, "pending": wanted},
                cause="" if _nearest_usable(it, term.topology_key) else term.topology_key,
                variant=variant,
            )
    for term in pod.required_anti_affinity:
        # The API server refuses a term without a key.
        if term.topology_key and not usable & it.scenario.index.with_key(term.topology_key):
            yield Hazard(
                at=(*term.path, "topologyKey"),
                evidence=pattern(f"{carry} {term.topology_key}"),
                values=_values(it, term.topology_key),
                severity=Severity.WARNING,
                variant="inert",
            )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write the key that nodes carry."""
    key = str(hazard.values["key"])
    nearest = _nearest_usable(it, key)
    if nearest:
        certain = hazard.variant != "inert" and (nearest in WELL_KNOWN or is_slip(key, nearest))
        yield Remedy(f"write {nearest}, which nodes carry", safe=certain, changes=(Put(hazard.at, nearest),))


def _values(it: Member, key: str) -> dict[str, object]:
    nearest = _nearest_usable(it, key)
    remedy = (
        f"write {nearest}, which nodes carry, or label the nodes"
        if nearest
        else "use a topologyKey that nodes carry, or label the nodes"
    )
    return {"key": key, "remedy": remedy}


def _nearest_usable(it: Member, key: str) -> str:
    """A label key of usable nodes that ``key`` stands for; the key itself may be on nodes that the pod cannot use."""
    usable = it.usable & it.scenario.distinct
    meant = correction_of(key)
    if meant is not None and usable & it.scenario.index.with_key(meant.key):
        return meant.key
    return nearest_key_among(it.scenario, key, usable)
