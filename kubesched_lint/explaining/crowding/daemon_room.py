"""Whether the pod of a DaemonSet fits beside pods that come first: on the nodes of today, and on new machines."""

from __future__ import annotations

from itertools import islice

from msgspec import Struct

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.base.text import plural
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, lowest, of, only, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.controllers.daemonset import with_daemon_tolerations
from kubesched_lint.engine.placing.limits import MOST_NODES_BESIDE
from kubesched_lint.engine.placing.placing import Copies, Placing
from kubesched_lint.engine.scenario.others.running import lasting_state
from kubesched_lint.engine.scenario.pools.offers import room_beside
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.capacity import copies
from kubesched_lint.engine.scheduler.framework import diagnose, static_feasible


class LockedOut(Struct, frozen=True):
    """``count`` pods of the workload on ``node`` leave the DaemonSet's pod no place; ``reasons`` are the scheduler's.

    ``reachable``: each of these pods passes every filter when it is placed, so the order can really happen.
    """

    node: str
    count: int
    reasons: tuple[str, ...]
    reachable: bool


def locked_out(it: Member, daemon: Member) -> LockedOut | None:
    """The first node of today where the DaemonSet's pod may find no place; None if each node holds both.

    A node where each step passes the filters is preferred. Where the pod does not fit even alone is another hazard.
    """
    locked = None
    for position in positions(_doubtful(it, daemon)):
        real = _on(position, it, daemon, forced=False)
        if real is not None:
            return real
        locked = locked or _on(position, it, daemon, forced=True)
    return locked


def _doubtful(it: Member, daemon: Member) -> NodeSet:
    """The nodes of today that both may use and that turn the DaemonSet's pod away once they are full.

    All nodes get as many pods as they can hold by counting, whatever other filters say: if the DaemonSet's pod fits
    beside them, it fits beside any number. For one that spreads or follows others, all nodes are doubtful.
    """
    state, pod = lasting_state(it.scenario), daemon.pod
    shared = daemon.reach.tolerated & it.usable & it.scenario.today
    nodes = shared if shared.bit_count() <= MOST_NODES_BESIDE else of(islice(positions(shared), MOST_NODES_BESIDE))
    nodes &= _open_at_first(daemon) if nodes else nodes
    if not nodes or pod.required_affinity or pod.spread:
        return nodes
    with state.undone():
        state.place_many(it.pod, {at: most for at, most in copies(it.pod, state, nodes, it.replicas) if most})
        return nodes & ~diagnose(pod, state).feasible


def _open_at_first(daemon: Member) -> NodeSet:
    """The nodes that are open to a DaemonSet's pod before any pod of the set comes: thousands of workloads ask."""
    known = _known(daemon.scenario)
    if daemon not in known:
        known[daemon] = diagnose(daemon.pod, lasting_state(daemon.scenario)).feasible
    return known[daemon]


@once_per_scenario
def _known(scenario: Scenario) -> dict[Member, NodeSet]:
    return {}


def _on(position: int, member: Member, daemon: Member, *, forced: bool) -> LockedOut | None:
    state, pod, node = lasting_state(member.scenario), member.pod, only(position)
    with state.undone():
        ((_, most),) = copies(pod, state, node, member.replicas)
        ours = Copies(pod, None, most)
        if forced:
            state.place_many(pod, {position: most})
            ours.left = 0
        else:
            Placing([ours], state, choose=lowest, among=node).run()
        diagnosis = diagnose(daemon.pod, state)
        if diagnosis.feasible & node:
            return None
        reasons = tuple(r.reason for r in diagnosis.reasons(position))
        return LockedOut(member.scenario.index.names[position], most - ours.left, reasons, reachable=not forced)


def too_small(it: Member, daemon: Member) -> str:
    """Why pools may choose a too small machine before the DaemonSet exists; empty if all types hold both."""
    pod, itself = it.pod, with_daemon_tolerations(daemon.pod)
    kinds = [offer for offer in it.scenario.potential.offers if any(same_values(d, itself) for d in offer.daemons)]
    rooms = [room_beside(o.template.offered, (d for d in o.daemons if not same_values(d, itself))) for o in kinds]
    index = NodeIndex(
        [o.template.node(1, room) for o, room in zip(kinds, rooms, strict=True)], it.scenario.device_resources
    )
    fitting = static_feasible(pod, index)
    for position, most in copies(pod, ClusterState(index), fitting, it.replicas):
        template, room = kinds[position].template, rooms[position]
        where = f"a new {template.shape.name} of pool {template.pool.name}"
        if room is None or template.shape.allocatable is None:
            return f"what {where} offers is unknown"
        taken = {"pods": most, **{name: most * amount for name, amount in pod.requests.items()}}
        for name, amount in (("pods", 1), *itself.requests.items()):
            if amount > index.allocatable(name)[position] - taken.get(name, 0):
                pods = f"{most} {plural(most, 'pod leaves', 'pods leave')}"
                return f"{where}, sized without the DaemonSet, has too little {name}: {pods} it no place"
    return ""
