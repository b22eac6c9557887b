"""The most pods that find room near the pods that their affinity selects."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.bounds.bounds import at_once, most_on_each, terms_apart
from kubesched_lint.engine.cluster.pods.alike import Alike
from kubesched_lint.engine.events.answers.event_bounds import (
    NOTHING_ELSE,
    Bound,
    Meanwhile,
)
from kubesched_lint.engine.events.start import others
from kubesched_lint.engine.events.start.preemption_scope import may_be_preempted
from kubesched_lint.engine.events.start.quotas import most_pods
from kubesched_lint.engine.events.start.rooms import room_of
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet
from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scheduler.capacity import Room
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints


def most_beside(member: SimulatedMember, wanted: int, meanwhile: Meanwhile = NOTHING_ELSE) -> Bound:
    """Return the most pods that fit into n domains, where n pods match the workload's required affinity.

    A node without the topology key is in no domain, also for a first pod that selects itself (interpodaffinity's
    satisfyPodAffinity). Pods that select themselves may open any domain.
    """
    simulated = member.set
    pod, index = with_enforced_constraints(member.pod), simulated.index
    if not pod.required_affinity or member.running or simulated.terminating_of_others:
        return Bound(wanted, "all that are wanted")
    hosts = _hosts_of(member)
    key = pod.required_affinity[0].topology_key
    if meanwhile.whole_nodes and index.one_node_each(key) and not hosts.run:
        meanwhile = meanwhile._replace(hosts_move=False)
    usable, surges = member.usable, meanwhile.mixed or member.workload.kind != "DaemonSet"
    terms, most = terms_apart(member, meanwhile), most_on_each(member, wanted) if surges else 1
    room = room_of(simulated, replace(pod, required_anti_affinity=terms), usable, most)
    changing = simulated.draws(pod, pod) or any(_may_come_and_go(simulated.member(i)) for i in hosts.members)
    if hosts.stay and not (changing or meanwhile.hosts_move):
        there = others.where(hosts.outside)
        nodes = usable & index.near(pod.required_affinity, there)
        total = room.within_apart(terms, index, nodes, most)
        why = f"room for {total} on the {many(nodes.bit_count(), 'node')} near the pods that its affinity selects"
        return Bound(min(total, wanted), why, near=hosts.who(simulated))
    if not (changing or meanwhile.hosts_move or hosts.run) and index.one_node_each(key):
        room = _room_beside(simulated, pod, [simulated.pods[i] for i in hosts.members], room)
    domains = (nodes & usable for nodes in index.domains(key).values())
    # The pods that it follows may be anywhere: the largest domains count, which only raises the bound.
    sizes = sorted(room.within_apart(terms, index, nodes, most) for nodes in domains)
    most_hosts = hosts.most(simulated, meanwhile)
    if changing or most_hosts >= len(sizes):
        return Bound(min(sum(sizes), wanted), f"room for {sum(sizes)} on usable nodes with the label {key}")
    total = sum(sizes[len(sizes) - most_hosts :])
    pods = f"the {most_hosts} {plural(most_hosts, 'pod')}"
    why = f"room for {total} in the {domain_word(key, 2)} of {pods} that its affinity selects"
    return Bound(min(total, wanted), why, near=hosts.who(simulated))


class _Hosts(NamedTuple):
    """The pods that all required affinity of a workload selects."""

    members: Sequence[int]
    """Workloads of the set."""
    running: Sequence[BoundPod]
    """Pods of the set that run."""
    outside: Sequence[Alike]
    """Groups of pods outside the set."""

    @property
    def run(self) -> bool:
        """Whether some run already."""
        return bool(self.running or self.outside)

    @property
    def stay(self) -> bool:
        """Whether all are outside the set, and on nodes."""
        return bool(self.outside) and not (self.members or self.running or any(g.elsewhere for g in self.outside))

    def most(self, simulated: SimulatedSet, meanwhile: Meanwhile) -> int:
        """Return the most domains that they may use during an event."""
        outside = sum(len(group.bound) + group.elsewhere for group in self.outside) * (1 + meanwhile.hosts_move)
        return sum(_hosting(simulated.member(i), meanwhile) for i in self.members) + outside + len(self.running)

    def who(self, simulated: SimulatedSet) -> tuple[Workload | str, ...]:
        """Return the workloads, and the name of a pod of each group: nobody asks most rows for names."""
        first = (*(group.bound[0] for group in self.outside if group.bound), *self.running[:1])
        members = map(simulated.workloads.__getitem__, self.members)
        return (*members, *(f"Pod {bound.namespace}/{bound.name}" for bound in first))


def _hosts_of(member: SimulatedMember) -> _Hosts:
    simulated = member.set
    pod = member.pod
    running = [bound for pods in simulated.running.values() for bound in pods if simulated.draws(bound.pod, pod)]
    members = simulated.selection.of_all(pod.required_affinity, pod.namespace)
    return _Hosts(members, running, list(others.drawing(member)))


def _hosting(member: SimulatedMember, meanwhile: Meanwhile) -> int:
    """Return the most domains that pods of a workload may use during an event; one that moves counts twice."""
    if meanwhile.hosts_move:
        return 2 * most_pods(member) if member.usable else 0
    return at_once(member, most_pods(member) if member.running else member.wanted)


def _room_beside(simulated: SimulatedSet, pod: Pod, hosts: Sequence[Pod], room: Room) -> Room:
    """Return ``room`` where each node must also hold one of the ``hosts``: the one that leaves the most room."""
    ledger, asked = simulated.cluster.ledger, {"pods": 1, **pod.requests}
    limits = [(ledger.free(name), each, name) for name, each in asked.items() if each]
    most_at = {}
    for position, most in room.by_position().items():
        most_at[position] = 0
        for host in hosts:
            taken = {"pods": 1, **host.requests}
            left = ((free[position] - taken.get(name, 0), each) for free, each, name in limits)
            # A resource that a node pool does not state has no limit.
            beside = min((int(amount // each) for amount, each in left if amount < inf), default=most)
            most_at[position] = max(most_at[position], min(most, beside))
    return Room(most_at.items())


def _may_come_and_go(member: SimulatedMember) -> bool:
    """Whether more pods of a workload may run one after another than it has at any one time."""
    return member.workload.kind == "Job" or may_be_preempted(member)
