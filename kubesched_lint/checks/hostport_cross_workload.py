"""Workloads take the same port of their nodes, and there are not enough nodes for all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import or_

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.nodeset import EMPTY
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.together.joint import demands_of
from kubesched_lint.engine.placing.wanted import lasting_pods_wanted
from kubesched_lint.engine.scenario.premises.premises import node_premises, running_premises
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.explaining.crowding.port_crowds import crowds_of, own_nodes
from kubesched_lint.explaining.crowding.ports import REASON, PortConflict, PortUser, taken_by_running
from kubesched_lint.findings import Hazard, Place, Severity, proof


def check(it: Member) -> Iterator[Hazard]:
    wanted, nodes = lasting_pods_wanted(it), own_nodes(it)
    if not wanted or wanted > nodes.bit_count():
        return  # too many for its nodes even alone: hostport-replicas-exceed-nodes
    yield from _running(it, wanted, nodes)
    for crowd in crowds_of(it.scenario).get(it.workload, ()):
        yield _hazard(it, crowd)


def _hazard(it: Member, crowd: PortConflict) -> Hazard:
    """Count only the users whose pods surely ask for places, if these are too many; else it is a warning."""
    asked = _places_asked_for(it.scenario)
    sure = [user for user in crowd.users if asked.get(user.workload) == user.pods]
    is_sure = sum(user.pods for user in sure) > _supply(sure)
    counted = sure if is_sure else crowd.users
    wanted, supply = sum(user.pods for user in counted), _supply(counted)
    mine = next(user.port for user in crowd.users if user.workload is it.workload)
    others = [user for user in crowd.users if user.workload is not it.workload]
    together = "both" if len(others) == 1 else "all"
    return Hazard(
        at=mine.path,
        together=tuple(user.workload.ref for user in counted),
        severity=None if is_sure else Severity.WARNING,
        evidence=proof(
            f"{' + '.join(str(user.pods) for user in counted)} pods > {many(supply, 'node')} "
            f"with one host port {mine.protocol} {mine.port} each",
            demand=wanted,
            supply=supply,
            assumes=(*node_premises(it), f"{together} are deployed together"),
        ),
        values={
            "port": mine.port,
            "others": tuple(str(user.workload) for user in others),
            "count": len(crowd.users),
            "wanted": wanted,
            "supply": supply,
            "pending": wanted - supply,
        },
        related=tuple(
            Place(user.port.path, "takes it as well", user.workload.source, user.workload.ref) for user in others
        ),
        variant="default" if len(others) == 1 else "many",
    )


def _supply(users: Iterable[PortUser]) -> int:
    """The number of nodes that any of the users may use."""
    return reduce(or_, (user.nodes for user in users), EMPTY).bit_count()


@once_per_scenario
def _places_asked_for(scenario: Scenario) -> Mapping[Workload, int]:
    """Workload → its pods that surely reach the scheduler: it is defined once and not gated."""
    return {demand.workload: demand.count for demand in demands_of(scenario)}


def _running(it: Member, wanted: int, nodes: int) -> Iterator[Hazard]:
    taken, holders = taken_by_running(it)
    free = (nodes & ~taken).bit_count()
    if wanted <= free:
        return
    port = it.workload.pod.host_ports[0]
    yield Hazard(
        at=port.path,
        severity=Severity.WARNING,  # the pod that holds it may go
        evidence=proof(
            f"{many(wanted, 'pod')} > {free} of {many(nodes.bit_count(), 'node')}: on the others, {REASON}",
            demand=wanted,
            supply=free,
            assumes=running_premises(it),
        ),
        values={
            "pending": wanted - free,
            "holders": tuple(sorted({f"{b.namespace}/{b.name}" for b in holders})),
            "nodes": it.scenario.names(nodes & taken),
            "port": port.port,
        },
        variant="running",
    )
