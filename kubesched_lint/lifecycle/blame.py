"""Find the manifest line that keeps a pod waiting, and the message in the pod's condition."""

from __future__ import annotations

from typing import NamedTuple

from kubesched_lint.findings import Path
from kubesched_lint.lifecycle.oracle import Oracle
from kubesched_lint.lifecycle.states import State
from kubesched_lint.model.pod import Pod
from kubesched_lint.model.workload import Workload
from kubesched_lint.scheduler.framework import Diagnosis, message
from kubesched_lint.scheduler.plugins.inter_pod_affinity import REPELLED, UNATTRACTED, UNWELCOME, selects_pod
from kubesched_lint.scheduler.preemption import preempt
from kubesched_lint.scheduler.verdict import Rejection

# Reasons that involve no other pod come last: they explain where a pod never fits, seldom why it waits now.
_STATIC = ("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity")


class Blame(NamedTuple):
    """The workload with the line, the path of the line, and the message of the waiting pod."""

    workload: Workload
    at: Path
    message: str


def blame(oracle: Oracle, state: State, slot: int, position: int = -1) -> Blame:
    """Return why a waiting pod of a slot waits in this state."""
    pod_types = oracle.pod_types
    number, revision, _ = pod_types.slots[slot]
    workload = pod_types.revisions[number][revision]
    found = oracle.diagnosis(state, slot, position)
    pod = oracle.pod(slot, position)
    # The scheduler skips a pod with a node name, so there is no message.
    text = "" if pod.node_name else message(found, preempt(pod, found, oracle.cluster).message)
    if found.refusal is not None:
        return Blame(workload, _path_of(found.refusal.plugin, "", workload), text)
    reason = _main_reason(found, found.total)
    if reason is None:
        return Blame(workload, workload.pod.path, text)
    if reason.reason == UNWELCOME:
        holder = _holder(oracle, pod)
        if holder is not None:
            return Blame(*holder, text)
    return Blame(workload, _path_of(reason.plugin, reason.reason, workload), text)


def _main_reason(found: Diagnosis, total: int) -> Rejection | None:
    """Return the reason that rejects the most nodes; prefer reasons that involve other pods."""
    lively = [r for r in found.rejections if r.plugin not in _STATIC]
    return max(lively or found.rejections, key=lambda r: r.nodes.bit_count(), default=None)


def _holder(oracle: Oracle, pod: Pod) -> tuple[Workload, Path] | None:
    """Return the workload of the story whose anti-affinity repels the pod, and the path of the term."""
    for revisions, pods in zip(oracle.pod_types.revisions, oracle.pod_types.pods, strict=True):
        for workload, other in zip(reversed(revisions), reversed(pods), strict=True):
            for term in other.required_anti_affinity:
                if selects_pod(term, other.namespace, pod, oracle.cluster):
                    return workload, term.path
    return None


def _path_of(plugin: str, reason: str, workload: Workload) -> Path:
    pod = workload.pod
    match plugin:
        case "InterPodAffinity":
            if reason == UNATTRACTED and pod.required_affinity:
                return pod.required_affinity[0].path
            if reason == REPELLED and pod.required_anti_affinity:
                return pod.required_anti_affinity[0].path
        case "PodTopologySpread":
            return next((c.path for c in pod.spread if c.is_hard), pod.path)
        case "NodePorts":
            return pod.host_ports[0].path if pod.host_ports else pod.path
        case "NodeResourcesFit":
            return _request(workload, reason.removeprefix("Insufficient "))
        case "NodeAffinity":
            if pod.required_node_terms:
                return pod.required_node_terms[0].path
            return (*pod.path, "nodeSelector") if pod.node_selector else pod.path
        case "TaintToleration":
            return (*pod.path, "tolerations") if pod.tolerations else pod.path
        case "VolumeBinding" | "VolumeZone" | "VolumeRestrictions" | "NodeVolumeLimits":
            if workload.claim_templates:
                return ("spec", "volumeClaimTemplates")
            return pod.volumes[0].path if pod.volumes else pod.path
    return pod.path


def _request(workload: Workload, resource: str) -> Path:
    asking = [c for c in (*workload.pod.containers, *workload.pod.init_containers) if c.requests.get(resource)]
    if not asking:
        return workload.pod.path
    largest = max(asking, key=lambda c: c.requests[resource])
    return (*largest.path, "resources", "requests", resource)
