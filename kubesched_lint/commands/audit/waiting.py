"""Pods that wait for a node, with kube-scheduler's reason and the model's, and pods with scheduling gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from kubesched_lint.commands.audit.findings import GATED, PENDING, AuditFinding
from kubesched_lint.commands.audit.running_cluster import RunningCluster, decisive, place, pods_of, ref_of
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import first_few, many, plural
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.explaining.pending import AGREES, OLDER, UNTESTED, Waiting, time_of
from kubesched_lint.findings import Severity

_LONG = timedelta(minutes=15)
"""maxNodeProvisionTime of cluster-autoscaler: longer, and it gives up on a node."""


def pending(now: RunningCluster, waiting: Iterable[Waiting], *, may_grow: bool) -> Iterator[AuditFinding]:
    """Yield a finding for each owner of waiting pods, and for each reason by the model."""
    workloads = {w.key: w for w in now.running.inventory.workloads}
    groups: dict[tuple[ObjectRef, str], list[Waiting]] = {}
    for group in waiting:
        groups.setdefault((ref_of(group.pods[0], group.owner), group.ours), []).append(group)
    for (ref, ours), several in groups.items():
        first = max(several, key=lambda group: len(group.pods))
        workload = workloads.get(first.owner.key) if first.owner is not None else None
        pod = now.today.admission.schedulers.for_next_copy(first.pods[0].pod, workload)
        plugin = decisive(pod, first.diagnosis, now.state_today)
        count = sum(len(group.pods) for group in several)
        passes = not ours or (may_grow and not any(_for_long(group, now) for group in several))
        yield AuditFinding(
            PENDING,
            Severity.WARNING if passes else Severity.ERROR,
            ref,
            f"{pods_of(ref, count)} {plural(count, 'waits', 'wait')} for a node",
            place(pod, workload, plugin, ref) if ours else "",
            pods=count,
            details=(*_said(first, now), *_others(first, several), *_hope(first, may_grow=may_grow)),
        )


def _others(first: Waiting, several: Sequence[Waiting]) -> Iterator[tuple[str, str]]:
    left = sum(len(group.pods) for group in several if group is not first)
    if left:
        yield "note", f"kube-scheduler says other words of {many(left, 'pod')} of them (--verbose shows them)"


def _for_long(group: Waiting, now: RunningCluster) -> bool:
    """Whether the pods have waited longer than an autoscaler takes to add a node."""
    since = [when for b in group.pods if b.unscheduled is not None and (when := time_of(b.unscheduled.since))]
    captured = time_of(now.cluster.captured_at)
    return bool(since) and captured is not None and captured - min(since) > _LONG


def _said(group: Waiting, now: RunningCluster) -> Iterator[tuple[str, str]]:
    if group.theirs:
        yield "kube-scheduler", group.theirs
    if group.verdict == AGREES:
        yield "model", "agrees"
    elif group.ours:
        yield (
            "model",
            f"{group.ours} (not compared: {group.why})" if group.verdict == UNTESTED else f"differs: {group.ours}",
        )
    else:
        nodes = now.today.names(group.diagnosis.feasible)
        yield "model", f"{first_few(nodes)} {plural(len(nodes), 'fits', 'fit')} now"
    if group.verdict == OLDER:
        yield "note", f"the message may be older than the snapshot: {group.why}"
    since = group.pods[0].unscheduled.since if group.pods[0].unscheduled is not None else ""
    if since:
        yield "since", min(b.unscheduled.since for b in group.pods if b.unscheduled is not None)


def _hope(group: Waiting, *, may_grow: bool) -> Iterator[tuple[str, str]]:
    if group.ours and may_grow:
        yield "note", "nodes come and go in this cluster: an autoscaler may add one for it"


def gated(now: RunningCluster) -> Iterator[AuditFinding]:
    """Yield a finding for each owner of pods with scheduling gates."""
    gated_pods: dict[tuple[ObjectRef, tuple[str, ...]], list[BoundPod]] = {}
    for bound in now.cluster.unbound:
        if bound.pod.scheduling_gates and not bound.terminating:
            ref = ref_of(bound, now.cluster.running.workload_of(bound))
            gated_pods.setdefault((ref, bound.pod.scheduling_gates), []).append(bound)
    for (ref, gates), pods in gated_pods.items():
        is_held = plural(len(pods), "is", "are")
        names = f"{plural(len(gates), 'gate')} {', '.join(gates)}"
        yield AuditFinding(
            GATED,
            Severity.NOTE,
            ref,
            f"{pods_of(ref, len(pods))} {is_held} held by the scheduling {names}",
            pods=len(pods),
            details=(("note", "kube-scheduler tries no pod before a controller has removed every gate"),),
            cause=",".join(gates),
        )
