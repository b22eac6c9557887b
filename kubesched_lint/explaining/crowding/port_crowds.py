"""The workloads of a set that take one host port and have too few nodes together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.wanted import lasting_pods_wanted
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.explaining.crowding.ports import (
    Key,
    PortConflict,
    PortUser,
    crowds,
    host_port_users,
    ports_of,
    user_of,
)


@once_per_scenario
def crowds_of(scenario: Scenario) -> Mapping[Workload, Sequence[PortConflict]]:
    """Workload → the crowds that it reports; a crowd that shares several ports counts once."""
    rank = {workload: number for number, workload in enumerate(scenario.as_deployed)}
    distinct: dict[frozenset[Workload], PortConflict] = {}
    for key, users in host_port_users(scenario).items():
        ordered = sorted((w for w in _without_alternatives(users) if w in rank), key=lambda w: rank[w])
        for crowd in crowds(_users(scenario, key, ordered) if len(ordered) > 1 else ()):
            distinct.setdefault(frozenset(user.workload for user in crowd.users), crowd)
    crowds_by_reporter: dict[Workload, list[PortConflict]] = {}
    for crowd in distinct.values():
        assert crowd.reporter is not None
        crowds_by_reporter.setdefault(crowd.reporter.workload, []).append(crowd)
    return crowds_by_reporter


def _without_alternatives(users: Iterable[Workload]) -> Iterator[Workload]:
    """Yield one workload of each name: a DaemonSet and a Deployment in two files are two ways to run one program."""
    first: dict[tuple[str, str], Workload] = {}
    for workload in users:
        other = first.setdefault((workload.namespace, workload.name), workload)
        if other.kind == workload.kind or _path(other) == _path(workload):
            yield workload


def _path(workload: Workload) -> str:
    return workload.source.path if workload.source else ""


def _users(scenario: Scenario, key: Key, workloads: Iterable[Workload]) -> Iterator[PortUser]:
    """Yield the users of a port that fit their own nodes."""
    for workload in workloads:
        pods, nodes = lasting_pods_wanted(scenario.member(workload)), own_nodes(scenario.member(workload))
        if 0 < pods <= nodes.bit_count():
            yield user_of(ports_of(scenario)[workload][key], workload, pods, nodes)


def own_nodes(it: Member) -> NodeSet:
    """Return the nodes that its pods may use."""
    return it.daemon_nodes if it.workload.kind == "DaemonSet" else it.usable
