"""An old pod holds the port on each node that could take the surge pod, and no old pod may go first."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.placing.rollout import OLD_PODS, fenceposts, price_of_going_first, until_it_ends
from kubesched_lint.engine.scenario.premises.premises import node_premises, running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.crowding.ports import REASON, taken_by_running
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import roll_without_surge
from kubesched_lint.findings import Hazard, Place, Severity, proof


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.strategy.type != "RollingUpdate":
        return
    replicas = it.replicas
    surge, unavailable = fenceposts(it.workload, replicas)
    usable = it.usable
    free = (usable & ~taken_by_running(it)[0]).bit_count()
    if unavailable or not replicas or replicas != free:
        return  # with more nodes the surge pod fits; with fewer not even the replicas fit
    alone = free == usable.bit_count()
    port = it.pod.host_ports[0]
    yield Hazard(
        at=port.path,
        evidence=proof(
            f"{many(replicas, 'old pod')} + 1 extra pod > {many(free, 'node')} with one host port "
            f"{port.protocol} {port.port} each, and maxUnavailable is 0: {REASON}",
            demand=replicas + 1,
            supply=free,
            assumes=(*(node_premises if alone else running_premises)(it), OLD_PODS),
            event="rollout",
        ),
        severity=None if alone else Severity.WARNING,
        values={
            "pending": 1,
            "port": port.port,
            "replicas": replicas,
            "usable": free,
            "surge": surge,
            "price": price_of_going_first(replicas),
            "until": until_it_ends(it.workload, replicas),
        },
        related=(Place(it.workload.strategy.path, f"maxSurge and maxUnavailable are {surge} and 0"),),
        variant="default" if alone else "shared",
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Delete the old pod, which holds the port, first."""
    yield roll_without_surge(it)
