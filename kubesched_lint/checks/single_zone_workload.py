"""All replicas are bound to one zone although the cluster has several: losing it loses them all."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    replicas = it.replicas
    zones = it.scenario.index.domains(ZONE)
    matching = it.reach.matching
    mine = [zone for zone, nodes in zones.items() if nodes & matching]
    if (
        not it.workload.stays
        or replicas < 2
        or len(mine) != 1
        or len(zones) < 2
        or matching & ~it.scenario.index.with_key(ZONE)
    ):
        return
    yield Hazard(
        at=_choice(it.workload.pod),
        evidence=pattern(f"{replicas} replicas in {mine[0]}, 0 in the other {len(zones) - 1}"),
        values={"replicas": replicas, "zone": mine[0], "others": tuple(z for z in zones if z != mine[0])},
    )


def _choice(pod: Pod) -> Path:
    """The path where the zone is chosen, else the whole pod spec."""
    if ZONE in pod.node_selector:
        return (*pod.path, "nodeSelector", ZONE)
    return next((r.path for t in pod.required_node_terms or () for r in t.expressions if r.key == ZONE), pod.path)
