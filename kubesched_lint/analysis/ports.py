"""Host ports that two pods cannot hold on one node."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping

from kubesched_lint import work
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.model.pod import BoundPod, HostPort, Pod
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import record
from kubesched_lint.world.staying import staying
from kubesched_lint.world.world import Member, World, once_per_world

ALL = "0.0.0.0"
REASON = "node(s) didn't have free ports for the requested pod ports"


_STEPS = 4
"""Work units (see ``work``) to compare a user of a port with others."""


def clash(one: Pod, other: Pod) -> tuple[HostPort, HostPort] | None:
    """The first ports of two pods that conflict (``nodeports``: same address, or one is for every address)."""
    for mine in one.host_ports:
        for theirs in other.host_ports:
            if (mine.protocol, mine.port) == (theirs.protocol, theirs.port) and (
                mine.host_ip == theirs.host_ip or ALL in (mine.host_ip, theirs.host_ip)
            ):
                return mine, theirs
    return None


@once_per_world
def host_port_users(world: World) -> Mapping[tuple[str, int], tuple[Workload, ...]]:
    """(protocol, port) → workloads whose pods take it on their node."""
    found: dict[tuple[str, int], list[Workload]] = {}
    for workload in world.manifests.workloads:
        for key in {(p.protocol, p.port) for p in workload.pod.host_ports}:
            found.setdefault(key, []).append(workload)
    return {key: tuple(users) for key, users in found.items()}


@record
class PortUser:
    """A workload that takes a port of each of its nodes."""

    workload: Workload
    port: HostPort
    pods: int
    nodes: NodeSet
    addresses: frozenset[str] | None
    """The addresses of the node at which it takes the port; None for all."""


def user_of(key: tuple[str, int], workload: Workload, pods: int, nodes: NodeSet) -> PortUser:
    """Return a workload that takes a (protocol, port) as the user of it."""
    its = [port for port in workload.pod.host_ports if (port.protocol, port.port) == key]
    addresses = frozenset(port.host_ip for port in its)
    return PortUser(workload, its[0], pods, nodes, None if ALL in addresses else addresses)


class Crowd:
    """Users of one port, each two in conflict, that need more nodes than they may use together."""

    def __init__(self, users: list[PortUser], reporter: PortUser | None = None) -> None:
        self.users = users
        self.reporter = reporter
        """The first that does not fit beside one created before it; None while the crowd has one user."""
        self.most: dict[NodeSet, int] = {}
        """Nodes of a user → most pods of a user with these nodes."""
        for user in users:
            self.most[user.nodes] = max(self.most.get(user.nodes, 0), user.pods)
        self.addresses = _shared(user.addresses for user in users)

    def has_no_room_for(self, user: PortUser) -> bool:
        """Return whether the user and one of the crowd conflict and have too few nodes."""
        return _shared((self.addresses, user.addresses)) != frozenset() and any(
            user.pods + pods > (user.nodes | nodes).bit_count() for nodes, pods in self.most.items()
        )


def _shared(addresses: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    """Return the addresses that all have; None if each has all."""
    some = [one for one in addresses if one is not None]
    return frozenset.intersection(*some) if some else None


def crowds(users: Iterable[PortUser]) -> list[Crowd]:
    """Return the crowds among users of one port, who come in creation order and each fit their own nodes.

    A crowd is a chain of pairs with too few nodes. Then the whole crowd has too few: the user that a pair adds fits its
    own nodes, so it brings fewer nodes than pods.
    """
    found: list[Crowd] = []
    alone: dict[tuple[NodeSet, frozenset[str] | None], list[PortUser]] = {}  # each list by the number of pods
    for user in users:
        work.spend(_STEPS * (len(found) + len(alone)))
        near = [crowd for crowd in found if crowd.has_no_room_for(user)]
        found = [crowd for crowd in found if crowd not in near]
        for others in alone.values():
            while others and Crowd(others[-1:]).has_no_room_for(user):
                near.append(Crowd([others.pop()], user))
        if not near:
            insort(alone.setdefault((user.nodes, user.addresses), []), user, key=lambda one: one.pods)
        elif _shared([user.addresses, *(crowd.addresses for crowd in near)]) != frozenset():
            found.append(Crowd([one for crowd in near for one in crowd.users] + [user], near[0].reporter))
        else:  # the others take the port at different addresses
            found += [Crowd([*crowd.users, user], crowd.reporter) for crowd in near]
    return found


def taken_by_running(it: Member) -> tuple[NodeSet, tuple[BoundPod, ...]]:
    """Nodes where running pods of others that stay hold one of its ports, and these pods."""
    taken: NodeSet = EMPTY
    for port in it.workload.pod.host_ports:
        taken |= staying(it).state.port_conflicts(port)
    if not taken:
        return taken, ()
    return taken, tuple(b for b in staying(it).pods if b.node and clash(it.workload.pod, b.pod))
