"""Replicas that need a zone each, or a constraint that needs many zones, where no cluster shows how many there are."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.well_known import RENAMED
from kubesched_lint.findings import Hazard, pattern


def check(it: Member, *, zones: int) -> Iterator[Hazard]:
    """Rules on domains count the nodes of a cluster exactly, so this one is silent beside one."""
    if it.scenario.cluster is not None or it.workload.kind == "DaemonSet":
        return
    for term in it.kept_apart:
        if _is_zone(term.topology_key) and it.replicas > zones:
            yield Hazard(
                at=(*term.path, "topologyKey"),
                evidence=pattern(f"{it.replicas} replicas, and one fits into a zone"),
                values={"needed": it.replicas, "zones": zones, "key": term.topology_key, "replicas": it.replicas},
            )
            return
    for constraint in it.pod.spread:
        # With fewer zones than minDomains, each takes at most maxSkew pods.
        needed = min(constraint.min_domains or 0, -(-it.replicas // constraint.max_skew))
        if _is_zone(constraint.topology_key) and constraint.is_hard and needed > zones:
            yield Hazard(
                at=(*constraint.path, "minDomains"),
                evidence=pattern(f"with fewer zones than minDomains, a zone takes at most {constraint.max_skew} pods"),
                values={"needed": needed, "zones": zones, "key": constraint.topology_key},
                variant="spread",
            )


def _is_zone(key: str) -> bool:
    return RENAMED.get(key, key) == ZONE
