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
    for one in waiting:
        groups.setdefault((ref_of(one.pods[0], one.owner), one.ours), []).append(one)
    for (ref, ours), several in groups.items():
        first = max(several, key=lambda one: len(one.pods))
        workload = workloads.get(first.owner.key) if first.owner is not None else None
        pod = now.today.admission.schedulers.for_next_copy(first.pods[0].pod, workload)
        plugin = decisive(pod, first.diagnosis, now.state_today)
        count = sum(len(one.pods) for one in several)
        passes = not ours or (may_grow and not any(_for_long(one, now) for one in several))
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
    left = sum(len(one.pods) for one in several if one is not first)
    if left:
        yield "note", f"kube-scheduler says other words of {many(left, 'pod')} of them (--verbose shows them)"


def _for_long(one: Waiting, now: RunningCluster) -> bool:
    """Whether the pods have waited longer than an autoscaler takes to add a node."""
    since = [when for b in one.pods if b.unscheduled is not None and (when := time_of(b.unscheduled.since))]
    captured = time_of(now.cluster.captured_at)
    return bool(since) and captured is not None and captured - min(since) > _LONG


def _said(one: Waiting, now: RunningCluster) -> Iterator[tuple[str, str]]:
    if one.theirs:
        yield "kube-scheduler", one.theirs
    if one.verdict == AGREES:
        yield "model", "agrees"
    elif one.ours:
        yield "model", f"{one.ours} (not compared: {one.why})" if one.verdict == UNTESTED else f"differs: {one.ours}"
    else:
        nodes = now.today.names(one.diagnosis.feasible)
        yield "model", f"{first_few(nodes)} {plural(len(nodes), 'fits', 'fit')} now"
    if one.verdict == OLDER:
        yield "note", f"the message may be older than the snapshot: {one.why}"
    since = one.pods[0].unscheduled.since if one.pods[0].unscheduled is not None else ""
    if since:
        yield "since", min(b.unscheduled.since for b in one.pods if b.unscheduled is not None)


def _hope(one: Waiting, *, may_grow: bool) -> Iterator[tuple[str, str]]:
    if one.ours and may_grow:
        yield "note", "nodes come and go in this cluster: an autoscaler may add one for it"


def gated(now: RunningCluster) -> Iterator[AuditFinding]:
    """Yield a finding for each owner of pods with scheduling gates."""
    found: dict[tuple[ObjectRef, tuple[str, ...]], list[BoundPod]] = {}
    for bound in now.cluster.unbound:
        if bound.pod.scheduling_gates and not bound.terminating:
            ref = ref_of(bound, now.cluster.running.workload_of(bound))
            found.setdefault((ref, bound.pod.scheduling_gates), []).append(bound)
    for (ref, gates), pods in found.items():
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
