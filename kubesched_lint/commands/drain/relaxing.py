"""Conditions that may keep nodes from being drained, and the same start without some of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from copy import copy
from typing import Any, NamedTuple

from msgspec.structs import replace

from kubesched_lint.commands.drain.running_cluster import RunningCluster
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.controllers.bounds import covers
from kubesched_lint.engine.events.search.events import ForeignWorkload
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.pod import BoundPod, Pod, Toleration
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scheduler.tolerance import CORDON, repelled

BUDGET, BARE, FINALIZER, REFUSED, ROOM = "budget", "bare-pod", "finalizer", "refused", "room"
APART, NEAR, SPREAD, LABELS, TAINT = "anti-affinity", "affinity", "spread", "node-labels", "taint"
VOLUME, PORT = "volume", "host-port"


class Condition(NamedTuple):
    """One condition. ``of`` is a budget or a workload; None for the room of all nodes."""

    kind: str
    of: ObjectRef | None = None


def ref_of(budget: DisruptionBudget) -> ObjectRef:
    return ObjectRef("PodDisruptionBudget", budget.namespace, budget.name)


def conditions(now: RunningCluster) -> Iterator[Condition]:
    """Yield every condition that may be given up: room first, then budgets, then what pods require."""
    yield Condition(ROOM)
    movers = [w for w in workloads(now) if w.kind != "DaemonSet"]
    pods = [w.pod for w in movers]
    for budget in now.simulated.objects.budgets:
        if any(covers(budget, pod.namespace, pod.labels) for pod in pods):
            yield Condition(BUDGET, ref_of(budget))
    for workload in movers:
        pod = workload.pod
        has = {
            APART: pod.required_anti_affinity,
            NEAR: pod.required_affinity,
            SPREAD: any(c.is_hard for c in pod.spread),
            LABELS: pod.node_selector or pod.required_node_terms is not None,
            TAINT: repelled(now.simulated.index, pod.tolerations),
            VOLUME: pod.volumes or workload.claim_templates,
            PORT: pod.host_ports,
        }
        yield from (Condition(kind, workload.ref) for kind, is_there in has.items() if is_there)


def workloads(now: RunningCluster) -> Iterator[Workload]:
    yield from (now.simulated.workloads[i] for i in now.members)
    yield from (guest.workload for guest in now.guests)


def without(now: RunningCluster, given_up: Collection[Condition]) -> RunningCluster:
    """Return the same start without some conditions."""
    if not given_up:
        return now
    kinds: dict[ObjectRef, set[str]] = {}
    for condition in given_up:
        if condition.of is not None:
            kinds.setdefault(condition.of, set()).add(condition.kind)
    other = copy(now)
    other.__dict__.pop("scope", None)
    other.simulated = _simulated(now.simulated, kinds, Condition(ROOM) in given_up)
    edit = _Editor(now.simulated)
    other.__dict__["staying"] = now.staying
    other.__dict__["guests"] = tuple(
        ForeignWorkload(
            edit.workload(guest.workload, kinds), tuple(edit.bound(b, guest.workload, kinds) for b in guest.pods)
        )
        for guest in now.guests
    )
    pairs = ((old.pods, new.pods) for old, new in zip(now.guests, other.guests, strict=True))
    moved = {old: new for olds, news in pairs for old, new in zip(olds, news, strict=True)}
    objects = other.simulated.objects
    other.simulated = replace(
        other.simulated, objects=replace(objects, pods=tuple(moved.get(bound, bound) for bound in objects.pods))
    )
    return other


def _simulated(simulated: SimulatedSet, kinds: dict[ObjectRef, set[str]], has_room: bool) -> SimulatedSet:
    edit = _Editor(simulated)
    budgets = tuple(b for b in simulated.objects.budgets if BUDGET not in kinds.get(ref_of(b), ()))
    nodes = tuple(replace(node, allocatable=None) for node in simulated.nodes) if has_room else simulated.nodes
    owners = simulated.workloads
    running = {i: tuple(edit.bound(bound, owners[i], kinds) for bound in pods) for i, pods in simulated.running.items()}
    return replace(
        simulated,
        nodes=nodes,
        objects=replace(simulated.objects, budgets=budgets),
        workloads=tuple(edit.workload(w, kinds) for w in simulated.workloads),
        running=running,
    )


class _Editor:
    """Takes conditions from pods; equal pods stay one object."""

    def __init__(self, simulated: SimulatedSet) -> None:
        taints = dict.fromkeys(taint for node in simulated.nodes for taint in node.taints if taint != CORDON)
        self._tolerating = tuple(Toleration(t.key, "Equal", t.value, t.effect) for t in taints)
        self._known: dict[tuple[Pod, frozenset[str]], Pod] = {}

    def workload(self, workload: Workload, kinds: dict[ObjectRef, set[str]]) -> Workload:
        given_up = kinds.get(workload.ref)
        if not given_up:
            return workload
        templates = () if VOLUME in given_up else workload.claim_templates
        return replace(workload, pod=self._pod(workload.pod, given_up), claim_templates=templates)

    def bound(self, bound: BoundPod, workload: Workload, kinds: dict[ObjectRef, set[str]]) -> BoundPod:
        given_up = kinds.get(workload.ref)
        return replace(bound, pod=self._pod(bound.pod, given_up)) if given_up else bound

    def _pod(self, pod: Pod, given_up: Collection[str]) -> Pod:
        key = pod, frozenset(given_up)
        if key not in self._known:
            self._known[key] = self._edited(pod, given_up)
        return self._known[key]

    def _edited(self, pod: Pod, given_up: Collection[str]) -> Pod:
        spread = tuple(c for c in pod.spread if not c.is_hard)
        changes: dict[str, dict[str, Any]] = {
            APART: {"required_anti_affinity": ()},
            NEAR: {"required_affinity": ()},
            SPREAD: {"spread": spread},
            LABELS: {"node_selector": {}, "required_node_terms": None},
            TAINT: {"tolerations": (*pod.tolerations, *self._tolerating)},
            VOLUME: {"volumes": ()},
            PORT: {"host_ports": ()},
        }
        for kind in given_up:
            pod = replace(pod, **changes.get(kind, {}))
        return pod
