"""Running pods of others as workloads of their own, so that a timeline can follow those that are deleted.

No controller recreates a bare pod. Other pods are recreated like the running ones, and then may wait or take room
elsewhere. A pod stays where it is if its recreation is unknown (claims of a StatefulSet, controllers that are not part
of Kubernetes).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.base.identity import each_once
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.base.text import and_more
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.events.limits import MOST_MOVED
from kubesched_lint.engine.events.search.events import ForeignWorkload
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.nodes.node import REGION, ZONE
from kubesched_lint.engine.model.pod import BoundPod, NodeSelectorTerm, Pod, knows_scheduler
from kubesched_lint.engine.model.resources import is_resizing
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scheduler.preemption.eviction import evicted, preempting_priority
from kubesched_lint.engine.scheduler.tolerance import CORDON, tolerates_any

_FROM_NODES = frozenset([ZONE, REGION])
_REMADE = ("ReplicaSet", "ReplicationController", "Job")


class Weaker(NamedTuple):
    """A pod outside the set that may be preempted because of a member."""

    member: int
    bound: BoundPod

    @property
    def rank(self) -> int:
        return self.bound.pod.priority or 0


class EvictablePods:
    """The pods outside the set, and how they interact with the set."""

    def __init__(self, simulated: SimulatedSet) -> None:
        self._simulated = simulated
        self._pods = simulated.objects.pods
        self._fewer: dict[frozenset[Pod], SimulatedSet] = {}

    @cached_property
    def _by_rank(self) -> tuple[BoundPod, ...]:
        return tuple(sorted(self._pods, key=lambda bound: bound.pod.priority or 0))

    @cached_property
    def _kinds(self) -> Sequence[Pod]:
        """Identical pods are one Pod object."""
        return [group.pod for group in self._simulated.others]

    @cached_property
    def weakest(self) -> float:
        """The lowest priority; infinite if there is no pod."""
        return min((pod.priority or 0 for pod in self._kinds), default=inf)

    def weaker(self, members: Iterable[int]) -> Iterator[Weaker]:
        """Yield the pods that members, or the pods that these evict, may preempt, the least important ones first."""
        simulated, then = self._simulated, self._evicted[1]
        for i in members:
            if i not in self._preempting:
                continue
            ours = preempting_priority(simulated.pods[i])
            for bound in self._by_rank:
                rank, at = bound.pod.priority or 0, simulated.index.positions.get(bound.node, -1)
                if rank >= max(ours, then):
                    break
                if at >= 0 and not bound.terminating and (rank < then or simulated.usable[i] >> at & 1):
                    yield Weaker(i, bound)

    @property
    def weaker_kinds(self) -> Collection[Pod]:
        """The pods that may be preempted because of the set."""
        return self.preemptors.keys()

    @cached_property
    def _eager(self) -> Mapping[tuple[int, NodeSet], Sequence[int]]:
        """The workloads that may preempt, by their priorities and the nodes that they can use."""
        eager: dict[tuple[int, NodeSet], list[int]] = {}
        for i, pod in enumerate(self._simulated.pods):
            if preempting_priority(pod) > self.weakest:
                eager.setdefault((preempting_priority(pod), self._simulated.usable[i]), []).append(i)
        return eager

    @cached_property
    def _evicted(self) -> tuple[Sequence[NodeSet], int]:
        return evicted(self._simulated.others, self._eager)

    @cached_property
    def preemptors(self) -> Mapping[Pod, Sequence[int]]:
        """Pod → the workloads of the set because of which it may be preempted, for pods that have any."""
        preemptors: dict[Pod, Sequence[int]] = {}
        for group, nodes in zip(self._simulated.others, self._evicted[0], strict=True):
            if nodes:
                rank = group.pod.priority or 0
                own = [who for (p, usable), who in self._eager.items() if rank < p and usable & nodes]
                groups = own if rank >= self._evicted[1] else [*self._eager.values()]
                before = preemptors.get(group.pod)  # if some of these pods terminate
                if before is not None:
                    preemptors[group.pod] = sorted({*before, *chain.from_iterable(groups)})
                else:
                    preemptors[group.pod] = groups[0] if len(groups) == 1 else sorted(chain.from_iterable(groups))
        return preemptors

    @cached_property
    def _preempting(self) -> frozenset[int]:
        return frozenset(chain.from_iterable(each_once(self.preemptors.values())))

    # --- who may have gone ------------------------------------------------------------------------------------------

    def gone_at_best(self, event: str, number: int) -> SimulatedSet | None:
        """Return the set without pods that may be gone, in some order, before a pod of the workload comes.

        None if the pod's affinity or spread counts one of them: then its deletion may hinder or help.
        """
        simulated, pod = self._simulated, self._simulated.pods[number]
        going = tuple(dict.fromkeys((*self.weaker_kinds, *self._taken(event, number))))
        if not going:
            return simulated
        counting = [c.selector for c in pod.spread if c.is_hard and c.selector is not None]
        for other in going:
            counted = other.namespace == pod.namespace and any(s.matches(other.labels) for s in counting)
            if counted or any(simulated.selects(t, pod, other) for t in pod.required_affinity):
                return None
        return self._without(frozenset(going))

    def _taken(self, event: str, number: int) -> Iterator[Pod]:
        """Yield pods that the event, or a controller of the set, may delete and whose deletion opens nodes.

        A deleted pod opens other nodes if anti-affinity involves it; a drain also opens the drained node to pods that
        may be bound there.
        """
        yield from (bound.pod for bound in self._simulated.to_be_deleted)
        simulated, pod = self._simulated, self._simulated.pods[number]
        if not simulated.deletes(event):
            return
        back = simulated.drains(event) and (event != "drain" or comes_back(simulated.member(number)))
        everybody = back or pod.required_anti_affinity
        for other in self._kinds if everybody else self._repelling:
            repels = any(simulated.selects(t, other, pod) for t in other.required_anti_affinity)
            if back or repels or any(simulated.selects(t, pod, other) for t in pod.required_anti_affinity):
                yield other

    @cached_property
    def _repelling(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self._kinds if pod.required_anti_affinity)

    def _without(self, kinds: frozenset[Pod]) -> SimulatedSet:
        fewer = self._fewer.get(kinds)
        if fewer is None:
            objects = self._simulated.objects
            staying = tuple(b for b in self._pods if b.pod not in kinds)
            fewer = self._fewer[kinds] = replace(self._simulated, objects=objects.with_pods(staying))
        return fewer

    # --- who is followed --------------------------------------------------------------------------------------------

    @cached_property
    def hosted(self) -> tuple[ForeignWorkload, ...]:
        """The pods that a timeline follows: bare pods, which drains evict, and owned pods that may be preempted."""
        weak = {_owner_of(w.bound) for w in self.weaker(range(len(self._simulated.workloads)))}
        pods = [b for b in self._pods if not b.kept_by_finalizers and (b.owner is None or _owner_of(b) in weak)]
        if len(pods) > MOST_MOVED:
            return ()
        groups: list[list[BoundPod]] = []
        for bound in pods:
            group = next((g for g in groups if _is_alike(g[0], bound)), None)
            if group is None:
                groups.append([bound])
            else:
                group.append(bound)
        return tuple(_guest(group) for group in groups if self._is_predictable(group))

    def _is_predictable(self, group: Sequence[BoundPod]) -> bool:
        """Whether it is known where the group's pods go, and in which order."""
        owner, pod = group[0].owner, group[0].pod
        if any(bound.node and bound.node not in self._simulated.index.positions for bound in group):
            return False
        if owner is None:
            return all(bound.node for bound in group)
        known = owner.kind in _REMADE or (owner.kind == "DaemonSet" and all(bound.node for bound in group))
        by_devices = self._simulated.cluster.may_serve(pod)
        plain = not (pod.volumes or by_devices or pod.group or pod.scheduling_gates)
        pod = _before_binding(pod)
        same = all(same_values(_before_binding(bound.pod), pod) for bound in group)
        return known and plain and same and not is_resizing(pod) and knows_scheduler(pod)


def comes_back(member: SimulatedMember) -> bool:
    """Whether pods of a workload may be bound to a drained node, because a cordon does not stop them."""
    pod = member.pod
    return member.workload.kind == "DaemonSet" or bool(pod.node_name) or tolerates_any(pod.tolerations, CORDON)


def _before_binding(pod: Pod) -> Pod:
    """Return a pod without the labels that binding gives it from its node (``binding.with_topology_labels``)."""
    if not _FROM_NODES & pod.labels.keys():
        return pod
    return replace(pod, labels={key: value for key, value in pod.labels.items() if key not in _FROM_NODES})


def _owner_of(bound: BoundPod) -> tuple[str, str, str]:
    owner = bound.owner
    return ("Pod", bound.namespace, "") if owner is None else (owner.kind, bound.namespace, owner.name)


def _is_alike(bound: BoundPod, other: BoundPod) -> bool:
    """Whether both have the same owner; for bare pods, whether they differ only in name and node."""
    return _owner_of(bound) == _owner_of(other) and (bound.owner is not None or same_values(bound.pod, other.pod))


def _guest(group: Sequence[BoundPod]) -> ForeignWorkload:
    first = group[0]
    if first.owner is None:
        name, kind, pod = f"{first.name}{and_more(len(group) - 1)}", "Pod", first.pod
    else:
        name, kind = first.owner.name, first.owner.kind
        pod = _where_it_runs(first.pod, group) if kind == "DaemonSet" else _before_binding(first.pod)
    return ForeignWorkload(Workload(kind, first.namespace, name, pod, replicas=len(group)), tuple(group))


def _where_it_runs(pod: Pod, group: Sequence[BoundPod]) -> Pod:
    """Return the pod restricted to the nodes where the DaemonSet has pods: these are taken as its targets."""
    names = sorted({bound.node for bound in group})
    terms = tuple(NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (name,)),)) for name in names)
    return replace(pod, required_node_terms=terms)


@once_per_set
def guests_of(simulated: SimulatedSet) -> EvictablePods:
    """Return the pods outside the set."""
    return EvictablePods(simulated)
