"""Workloads take the same port of their nodes, and there are not enough nodes for all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

from kubesched_lint.analysis.joint import demands_of
from kubesched_lint.analysis.ports import (
    REASON,
    Crowd,
    Key,
    PortUser,
    crowds,
    host_port_users,
    ports_of,
    taken_by_running,
    user_of,
)
from kubesched_lint.analysis.wanted import lasting_pods_wanted
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.model.workload import Workload
from kubesched_lint.text import many
from kubesched_lint.world.premises import node_premises, running_premises
from kubesched_lint.world.world import Member, World, once_per_world


def check(it: Member) -> Iterator[Hazard]:
    wanted, nodes = lasting_pods_wanted(it), _nodes(it)
    if not wanted or wanted > nodes.bit_count():
        return  # too many for its nodes even alone: hostport-replicas-exceed-nodes
    yield from _running(it, wanted, nodes)
    for crowd in _crowds(it.world).get(it.workload, ()):
        yield _hazard(it, crowd)


@once_per_world
def _crowds(world: World) -> Mapping[Workload, Sequence[Crowd]]:
    """Workload → the crowds that it reports; a crowd that shares several ports counts once."""
    rank = {workload: number for number, workload in enumerate(world.as_deployed)}
    distinct: dict[frozenset[Workload], Crowd] = {}
    for key, users in host_port_users(world).items():
        ordered = sorted((w for w in _without_alternatives(users) if w in rank), key=lambda w: rank[w])
        for crowd in crowds(_users(world, key, ordered) if len(ordered) > 1 else ()):
            distinct.setdefault(frozenset(user.workload for user in crowd.users), crowd)
    found: dict[Workload, list[Crowd]] = {}
    for crowd in distinct.values():
        assert crowd.reporter is not None
        found.setdefault(crowd.reporter.workload, []).append(crowd)
    return found


def _without_alternatives(users: Iterable[Workload]) -> Iterator[Workload]:
    """Yield one workload of each name: a DaemonSet and a Deployment in two files are two ways to run one program."""
    first: dict[tuple[str, str], Workload] = {}
    for workload in users:
        other = first.setdefault((workload.namespace, workload.name), workload)
        if other.kind == workload.kind or _path(other) == _path(workload):
            yield workload


def _path(workload: Workload) -> str:
    return workload.source.path if workload.source else ""


def _users(world: World, key: Key, workloads: Iterable[Workload]) -> Iterator[PortUser]:
    """Yield the users of a port that fit their own nodes."""
    for workload in workloads:
        pods, nodes = lasting_pods_wanted(world.member(workload)), _nodes(world.member(workload))
        if 0 < pods <= nodes.bit_count():
            yield user_of(ports_of(world)[workload][key], workload, pods, nodes)


def _hazard(it: Member, crowd: Crowd) -> Hazard:
    """Count only the users whose pods surely ask for places, if these are too many; else it is a warning."""
    asked = _places_asked_for(it.world)
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


@once_per_world
def _places_asked_for(world: World) -> Mapping[Workload, int]:
    """Workload → its pods that surely reach the scheduler: it is defined once and not gated."""
    return {demand.workload: demand.count for demand in demands_of(world)}


def _nodes(it: Member) -> NodeSet:
    """The nodes that its pods may use."""
    return it.daemon_nodes if it.workload.kind == "DaemonSet" else it.usable


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
            "nodes": it.world.names(nodes & taken),
            "port": port.port,
        },
        variant="running",
    )
