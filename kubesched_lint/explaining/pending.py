"""The pods of a snapshot that wait for a node: why, by the model, and whether kube-scheduler says the same.

Their PodScheduled conditions test the model on the spot. kube-scheduler writes such a message at each attempt, and
tries a pod again when something changes that may help it, at the latest after five minutes
(``pkg/scheduler/backend/queue/scheduling_queue.go``, flushUnschedulablePodsLeftover), so a message may be older than
the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.pods.pod_scheduled import LEFT_OUT, said
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod, Pod, knows_scheduler
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.limits import MOST_PODS_PENDING
from kubesched_lint.engine.scenario.devices.devices import allocator_for, needs_devices
from kubesched_lint.engine.scenario.others.running import all_running_pods
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.engine.scheduler.framework import Diagnosis, diagnose, message
from kubesched_lint.engine.scheduler.preemption.preemption import preempt

AGREES, OLDER, DIFFERS, UNTESTED = "agrees", "older", "differs", "untested"
_LAG = timedelta(minutes=6)
"""The longest time between two attempts, with the half minute until the queue is flushed, and back-off."""


class Waiting(Struct, frozen=True):
    """Equal pods that wait for a node, with one owner and one message."""

    pods: tuple[BoundPod, ...]
    owner: Workload | None
    ours: str
    """The message that the model predicts for a pod that is tried now; empty if a node fits."""
    diagnosis: Diagnosis
    verdict: str
    """AGREES, OLDER, DIFFERS or UNTESTED."""
    why: str = ""
    """Why the message is older than the snapshot, or cannot be compared."""

    @property
    def theirs(self) -> str:
        """kube-scheduler's message; empty if the snapshot holds none."""
        condition = self.pods[0].unscheduled
        return condition.message if condition is not None else ""


class Tally(Struct, frozen=True):
    """How many messages agree, are older than the snapshot, differ, and were not compared."""

    agree: int = 0
    older: int = 0
    differ: int = 0
    untested: int = 0

    @property
    def compared(self) -> int:
        return self.agree + self.older + self.differ


def waiting_pods(scenario: Scenario) -> tuple[Waiting, ...] | None:
    """Return the pods that wait for a node, gated ones left out; None if they would cost too much.

    The scenario has no manifests, and today's cluster, with its cordons: kube-scheduler saw nothing else.
    """
    cluster = scenario.cluster
    if cluster is None or not cluster.knows_nodes:
        return ()
    try:
        with work.within(MOST_STEPS // 4):
            return tuple(_Asking(scenario).answers())
    except work.OutOfWorkError:
        return None


def is_waiting(bound: BoundPod) -> bool:
    """Return whether kube-scheduler looks for a node for the pod."""
    return not bound.node and not bound.terminating and not bound.pod.scheduling_gates


class _Asking:
    def __init__(self, scenario: Scenario) -> None:
        assert scenario.cluster is not None
        self._scenario, self._cluster = scenario.without_pools, scenario.cluster
        self._found: dict[tuple[Pod, BoundPod | None], tuple[Diagnosis, str]] = {}
        self._state: ClusterState | None = None

    def answers(self) -> Iterator[Waiting]:
        groups: dict[tuple[object, ...], list[BoundPod]] = {}
        for bound in self._cluster.unbound:
            if is_waiting(bound):
                owner = None if bound.owner is None else (bound.owner.kind, bound.owner.name)
                alone = bound.name if owner is None or bound.nominated_node else ""
                key = (bound.pod, owner, alone, bound.unscheduled and bound.unscheduled.message)
                groups.setdefault(key, []).append(bound)
        for alike in groups.values():
            yield self._answer(alike)

    def _answer(self, pods: Sequence[BoundPod]) -> Waiting:
        owner = self._cluster.running.workload_of(pods[0])
        pod = self._scenario.admission.schedulers.for_next_copy(pods[0].pod, owner)
        diagnosis, ours = self._asked(pod, pods[0])
        verdict, why = self._verdict(pods[0], pod, ours)
        return Waiting(tuple(pods), owner, ours, diagnosis, verdict, why)

    def _asked(self, pod: Pod, bound: BoundPod) -> tuple[Diagnosis, str]:
        """Return the diagnosis of a pod, with the message that it gets; a nominated pod does not keep itself away."""
        state, guests = self._whole(), self._whole().nominated.get(bound.nominated_node, [])
        key = (pod, bound if guests else None)
        if key not in self._found:
            if guests:
                state.nominated[bound.nominated_node] = [other for other in guests if other is not bound]
            diagnosis = diagnose(pod, state)
            says = "" if diagnosis.feasible else message(diagnosis, preempt(pod, diagnosis, state).message)
            if guests:
                state.nominated[bound.nominated_node] = guests
            self._found[key] = diagnosis, says
        return self._found[key]

    def _whole(self) -> ClusterState:
        """The cluster with all running pods, and the devices that waiting pods need."""
        if self._state is None:
            waiting = filter(is_waiting, self._cluster.unbound)
            needy = tuple(dict.fromkeys(b.pod for b in waiting if needs_devices(b.pod, self._scenario)))
            self._state = self._with_devices(needy) if needy else all_running_pods(self._scenario).state
        return self._state

    def _with_devices(self, pods: Sequence[Pod]) -> ClusterState:
        objects = replace(self._cluster.inventory, allocator=allocator_for(pods, self._scenario))
        return ClusterState(
            self._scenario.index, objects, kubernetes_version=self._scenario.premises.kubernetes_version
        )

    def _verdict(self, bound: BoundPod, pod: Pod, ours: str) -> tuple[str, str]:
        condition = bound.unscheduled
        if condition is None or not condition.message:
            return UNTESTED, "kube-scheduler has left no message yet"
        if why := self._untested(bound, pod, condition.message):
            return UNTESTED, why
        mine, schedulers = said(ours), said(condition.message)
        if mine == schedulers:
            return AGREES, ""
        older = self._older(schedulers.nodes)
        return (OLDER, older) if older else (DIFFERS, "")

    def _untested(self, bound: BoundPod, pod: Pod, recorded: str) -> str:
        if LEFT_OUT in recorded:
            return "--redact left a part of the message out"
        if not knows_scheduler(pod):
            return f"another scheduler, {pod.scheduler_name}, wrote the message"
        if pod.group:
            return "kube-scheduler tries the pods of its group together"
        if bound.nominated_node:
            return f"preemption has nominated {bound.nominated_node} for it"
        lacks = [kind for kind in ("Pod", "PersistentVolumeClaim", "CSINode") if self._lacks(kind, pod)]
        return f"the snapshot holds no {lacks[0]}s" if lacks else ""

    def _lacks(self, kind: str, pod: Pod) -> bool:
        return (kind == "Pod" or bool(pod.volumes)) and not self._cluster.has(kind)

    def _older(self, nodes: int | None) -> str:
        """Return why a message may be older than the snapshot; empty if nothing shows it."""
        total = len(self._scenario.nodes)
        if nodes is not None and nodes != total:
            return f"it counts {many(nodes, 'node')}, and there are {total:,} now"
        if not (captured := time_of(self._cluster.captured_at)):
            return ""
        changed = (time_of(b.start_time) or time_of(b.created) for b in self._cluster.inventory.pods if b.node)
        started = sum(when is not None and timedelta(0) <= captured - when <= _LAG for when in changed)
        return f"{many(started, 'pod')} started in the six minutes before the snapshot" if started else ""


def time_of(text: str) -> datetime | None:
    """Return a time of the API (RFC 3339); None if there is none."""
    try:
        time = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return time if time is not None and time.tzinfo is not None else None


def tally(waiting: Iterable[Waiting]) -> Tally:
    """Return the count of each verdict, in pods."""
    counts = dict.fromkeys((AGREES, OLDER, DIFFERS, UNTESTED), 0)
    for group in waiting:
        counts[group.verdict] += len(group.pods)
    return Tally(*counts.values())


def agreement(cluster: Cluster, premises: Premises) -> Iterator[str]:
    """Yield one sentence for the footer of a report, if some messages of waiting pods can be compared.

    Reports on something else do not count every pod of a very large cluster for it.
    """
    if len(cluster.inventory.pods) > MOST_PODS_PENDING:
        yield "kubesched-lint audit compares what kube-scheduler says of pending pods with this model"
        return
    waiting = waiting_pods(Scenario(Inventory(), cluster, premises))
    if waiting is None:
        yield f"the messages of pending pods are not compared with the model, because {work.WHY}"
    elif (count := tally(waiting)).compared:
        yield in_words(count)


def in_words(count: Tally, more: str = "kubesched-lint audit") -> str:
    """Return a tally as a sentence: ``412 of 412 messages of kube-scheduler about pending pods agree …``.

    ``more`` shows the messages that differ.
    """
    agree = plural(count.agree, "agrees", "agree")
    of = f"{count.agree:,} of {count.compared:,} {plural(count.compared, 'message')}"
    text = f"{of} of kube-scheduler about pending pods {agree} with this model on this cluster"
    if count.older:
        text += f"; {count.older:,} {plural(count.older, 'is', 'are')} older than what the snapshot shows"
    if count.differ:
        text += f"; {count.differ:,} {plural(count.differ, 'differs', 'differ')} ({more} shows both messages)"
    return text
