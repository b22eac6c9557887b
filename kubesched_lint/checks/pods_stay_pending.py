"""Pods that are proven to stay Pending, or never to be created, in the words of the bound that proves it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.ends.bad_ends import BadEnd, bad_end
from kubesched_lint.explaining.ends.hazards import told
from kubesched_lint.explaining.ends.reasons import is_uncreated
from kubesched_lint.explaining.sizes.replicas import replicas_wanted_here
from kubesched_lint.findings import Hazard


def check(it: Member) -> Iterator[Hazard]:
    for event in ("deploy", "scale-down"):
        end = bad_end(it, event)
        if end is not None and end.cell.stuck:
            return  # rollout-never-ends tells of it
        if end is not None:
            when = "" if event == "deploy" else "scaled down, "
            related = () if it.workload.kind in ("DaemonSet", "Pod") else (replicas_wanted_here(it),)
            yield told(it, end, _variant(it, end), {"when": when, "fate": _fate(it, end)}, *related)
            return


def _variant(it: Member, end: BadEnd) -> str:
    if it.workload.kind == "Pod":
        return "pod"
    return "all" if end.missing == end.cell.wanted else "default"


def _fate(it: Member, end: BadEnd) -> str:
    """Return what becomes of the missing pods; a pod that a quota, the API server or a kubelet refuses never waits."""
    is_single = end.missing <= 1
    if it.pod.node_name:
        return "never runs" if is_single else "never run"
    if is_uncreated(it, end.cell):
        return "is not created" if is_single else "are not created"
    return "stays Pending" if is_single else "stay Pending"
