"""The room that nodes have for pods beside those of others, by node."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import reduce
from operator import or_
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.limits import MOST_KEPT
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, of
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.model.pod import Pod, profile_of
from kubesched_lint.scheduler.capacity import copies, kind_of_copies
from kubesched_lint.scheduler.framework import as_checked, diagnose
from kubesched_lint.scheduler.plugins import inter_pod_affinity


class Room(NamedTuple):
    """The room of nodes, in pods, up to some number on each."""

    on: dict[int, int]
    """By position."""
    open_: NodeSet
    """Nodes with room for at least one pod."""
    nodes: Mapping[int, NodeSet]
    """Room of a node → such nodes."""

    def total(self, most: int) -> int:
        """Return the sum of the room if ``most`` pods are allowed on each node."""
        return sum(min(here, most) * nodes.bit_count() for here, nodes in self.nodes.items())

    def within(self, among: NodeSet, most: int) -> int:
        """Return the same for the nodes of ``among`` alone."""
        return sum(min(here, most) * (nodes & among).bit_count() for here, nodes in self.nodes.items())


class Apart(NamedTuple):
    """The room of nodes for pods that each need a domain of a key of their own."""

    domains: int
    """Domains with an open node: each takes one pod."""
    loose: int
    """The room of the nodes without the key, which are in no domain."""

    @property
    def total(self) -> int:
        return self.domains + self.loose


def apart(room: Room, key: str, index: NodeIndex, most: int) -> Apart:
    """Return the room of nodes that take ``most`` pods each for pods that repel each other over a key."""
    return Apart(index.domains_of(key, room.open_), room.within(index.all & ~index.with_key(key), most))


def room_of(setting: Setting, pod: Pod, usable: NodeSet, most: int) -> Room:
    """Return the room for ``most`` pods or some more per node, cached because many workloads request the same."""
    most = 1 << (most - 1).bit_length() if most > 0 else 0  # a power of two, which several sizes of workloads share
    key = usable, most, kind_of_copies(pod)
    known: dict[Hashable, Room] = setting.rooms
    found = known.get(key)
    if found is None:
        on = dict(copies(pod, setting.cluster, usable, most))
        if len(known) >= MOST_KEPT:
            known.clear()
        nodes = _by_room(on, usable)
        found = known[key] = Room(on, usable & ~nodes.get(0, 0), nodes)
    return found


def _by_room(on: Mapping[int, int], usable: NodeSet) -> Mapping[int, NodeSet]:
    sizes = set(on.values())
    if len(sizes) == 1:
        return {sizes.pop(): usable}
    alike: dict[int, list[int]] = {here: [] for here in sizes}
    for position, here in on.items():
        alike[here].append(position)
    return {here: of(at) for here, at in alike.items()}


def open_but_for_affinity(setting: Setting, number: int) -> NodeSet:
    """Return the nodes that let a pod of a workload in beside the pods of others, whatever its own affinity."""
    known: dict[Pod, NodeSet] = setting.rooms.setdefault(open_but_for_affinity, {})
    pod = setting.pods[number]
    if pod not in known:
        known[pod] = diagnose(replace(as_checked(pod), required_affinity=()), setting.cluster).feasible
    return known[pod]


def repelled_by_others(setting: Setting, number: int) -> NodeSet:
    """Return the nodes that anti-affinity closes to a workload while the pods of others stay, its own or theirs."""
    known: dict[Pod, NodeSet] = setting.rooms.setdefault(repelled_by_others, {})
    pod = as_checked(setting.pods[number])
    if "InterPodAffinity" not in profile_of(pod).filters:
        return EMPTY
    if pod not in known:
        anywhere = replace(pod, required_affinity=())
        known[pod] = reduce(
            or_,
            (r.nodes for r in inter_pod_affinity.reject(anywhere, setting.cluster, setting.index.all)),
            EMPTY,
        )
    return known[pod]
