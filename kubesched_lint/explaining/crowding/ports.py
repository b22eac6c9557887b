"""Host ports that two pods cannot hold on one node."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from kubesched_lint.engine.base import work
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.model.pod import BoundPod, HostPort, Pod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.others.staying import staying
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario

ALL = "0.0.0.0"
REASON = "node(s) didn't have free ports for the requested pod ports"


Key = tuple[str, int]
"""Protocol and port."""


def by_key(ports: Iterable[HostPort]) -> Mapping[Key, Sequence[HostPort]]:
    """Return ports by what they share if they conflict."""
    ports_by_key: dict[Key, list[HostPort]] = {}
    for port in ports:
        ports_by_key.setdefault((port.protocol, port.port), []).append(port)
    return ports_by_key


def _clash(ports_of_key: Mapping[Key, Sequence[HostPort]], other: Pod) -> bool:
    """Return whether ports of two pods conflict (``nodeports``: same address, or one is for every address)."""
    return any(
        mine.host_ip == theirs.host_ip or ALL in (mine.host_ip, theirs.host_ip)
        for theirs in other.host_ports
        for mine in ports_of_key.get((theirs.protocol, theirs.port), ())
    )


@once_per_scenario
def host_port_users(scenario: Scenario) -> Mapping[Key, tuple[Workload, ...]]:
    """(protocol, port) → workloads whose pods take it on their node."""
    users_of_ports: dict[Key, list[Workload]] = {}
    for workload in scenario.manifests.workloads:
        for key in ports_of(scenario)[workload]:
            users_of_ports.setdefault(key, []).append(workload)
    return {key: tuple(users) for key, users in users_of_ports.items()}


@once_per_scenario
def ports_of(scenario: Scenario) -> Mapping[Workload, Mapping[Key, Sequence[HostPort]]]:
    """Workload → the ports that its pods take."""
    return {workload: by_key(workload.pod.host_ports) for workload in scenario.manifests.workloads}


class PortUser(Struct, frozen=True):
    """A workload that takes a port of each of its nodes."""

    workload: Workload
    port: HostPort
    pods: int
    nodes: NodeSet
    addresses: frozenset[str] | None
    """The addresses of the node at which it takes the port; None for all."""


def user_of(ports: Sequence[HostPort], workload: Workload, pods: int, nodes: NodeSet) -> PortUser:
    """Return a workload as the user of one port, which it takes at some addresses."""
    addresses = frozenset(port.host_ip for port in ports)
    return PortUser(workload, ports[0], pods, nodes, None if ALL in addresses else addresses)


class PortConflict:
    """Users of one port at one address that need more nodes than they may use together."""

    def __init__(self, user: PortUser, reporter: PortUser | None = None) -> None:
        self.users: list[PortUser] = []
        self.reporter = reporter
        """The first that does not fit beside one created before it; None while the crowd has one user."""
        self.most: dict[NodeSet, int] = {}
        """Nodes of a user → most pods of a user with these nodes."""
        self.add([user])

    def add(self, users: Iterable[PortUser]) -> None:
        """Add users of the same address."""
        for user in users:
            self.users.append(user)
            self.most[user.nodes] = max(self.most.get(user.nodes, 0), user.pods)

    def has_no_room_for(self, user: PortUser) -> bool:
        """Return whether the user and one of the crowd have too few nodes."""
        return any(user.pods + pods > (user.nodes | nodes).bit_count() for nodes, pods in self.most.items())


def crowds(users: Iterable[PortUser]) -> list[PortConflict]:
    """Return the crowds among users of one port, who come in creation order and each fit their own nodes.

    Users of different addresses do not conflict, although each may conflict with a user of all addresses: each address
    has its own crowds. A crowd that is part of another one is left out.
    """
    numbered = list(users)
    met = [_crowds_at([numbered[number] for number in numbers]) for numbers in _meeting(numbered)]
    return list(_largest(chain.from_iterable(met)))


def _meeting(users: Sequence[PortUser]) -> Iterator[Sequence[int]]:
    """Yield the numbers of users who meet at an address; each that takes it meets one of those who take all addresses.

    They meet all of those at one address only: else so many addresses and users would cost the square of their number.
    """
    at: dict[str, list[int]] = {}
    everywhere: dict[NodeSet, list[int]] = {}
    for number, user in enumerate(users):
        for address in sorted(user.addresses or ()):
            at.setdefault(address, []).append(number)
        if user.addresses is None:
            everywhere.setdefault(user.nodes, []).append(number)
    largest = max(at, key=lambda address: len(at[address]), default="")
    yield sorted(chain(at.pop(largest, ()), *everywhere.values()))
    some = [max(numbers, key=lambda number: users[number].pods) for numbers in everywhere.values()]
    yield from dict.fromkeys(tuple(sorted((*some, *numbers))) for numbers in at.values())


def _crowds_at(users: Iterable[PortUser]) -> Sequence[PortConflict]:
    """Return the crowds among users who all conflict with each other.

    A crowd is a chain of pairs with too few nodes. Then the whole crowd has too few: the user that a pair adds fits its
    own nodes, so it brings fewer nodes than pods.
    """
    port_crowds: list[PortConflict] = []
    alone: dict[NodeSet, list[PortUser]] = {}  # each list by the number of pods
    for user in users:
        work.spend(sum(len(crowd.most) for crowd in port_crowds) + len(alone) // 4)
        near = [crowd for crowd in port_crowds if crowd.has_no_room_for(user)]
        for nodes, others in alone.items():
            while others and others[-1].pods + user.pods > (nodes | user.nodes).bit_count():
                near.append(PortConflict(others.pop(), user))
        if near:
            near[0].add((*chain.from_iterable(crowd.users for crowd in near[1:]), user))
            port_crowds = [crowd for crowd in port_crowds if crowd not in near] + near[:1]
        else:
            insort(alone.setdefault(user.nodes, []), user, key=lambda neighbour: neighbour.pods)
    return port_crowds


def _largest(crowds: Iterable[PortConflict]) -> Iterator[PortConflict]:
    """Yield the crowds that are no part of another, the largest first."""
    of: dict[Workload, list[frozenset[Workload]]] = {}
    for crowd in sorted(crowds, key=lambda crowd: -len(crowd.users)):
        members = frozenset(user.workload for user in crowd.users)
        beside = min((of.setdefault(member, []) for member in members), key=len)
        if not any(members <= other for other in beside):
            yield crowd
            for member in members:
                of[member].append(members)


def taken_by_running(it: Member) -> tuple[NodeSet, tuple[BoundPod, ...]]:
    """Nodes where running pods of others that stay hold one of its ports, and these pods."""
    taken: NodeSet = EMPTY
    for port in it.workload.pod.host_ports:
        taken |= staying(it).state.port_conflicts(port)
    if not taken:
        return taken, ()
    ports = by_key(it.workload.pod.host_ports)
    users = dict(user for key in ports for user in staying(it).at_ports.get(key, ()))
    return taken, tuple(users[number] for number in sorted(users) if _clash(ports, users[number].pod))
