"""A node must have the devices that the pod's claims ask for.

Mirrors ``pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import DEVICES_PLUGIN, Pod, is_given_devices
from kubesched_lint.engine.scheduler.plugins.verdict import PreFilterRefusal, Rejection

if TYPE_CHECKING:
    from kubesched_lint.engine.scheduler.devices.attempt import Attempt

NAME = DEVICES_PLUGIN


def runs(pod: Pod, state: ClusterState) -> bool:
    """Return whether the plugin has anything to do for a pod."""
    return attempt_of(pod, state) is not None


def attempt_of(pod: Pod, state: ClusterState) -> Attempt | None:
    """Return the pod's claims and what each node can give them; None if it needs no devices, or they are unknown."""
    if state.devices is None or not is_given_devices(pod):
        return None
    from kubesched_lint.engine.scheduler.devices.attempt import attempt

    pod_attempt = attempt(pod, state.devices, state.index)
    return None if pod_attempt.is_empty else pod_attempt


def waits_for(pod: Pod, state: ClusterState) -> str:
    """Return why the pod is not tried: a claim of it does not exist, or is being deleted; empty if it is tried."""
    pod_attempt = attempt_of(pod, state)
    return "" if pod_attempt is None else pod_attempt.waits_for


def prefilter(pod: Pod, state: ClusterState) -> PreFilterRefusal | None:
    pod_attempt = attempt_of(pod, state)
    if pod_attempt is None or not pod_attempt.refusal:
        return None
    return PreFilterRefusal(NAME, pod_attempt.refusal, resolvable=False)


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    """Yield the nodes by reason. An error on one node ends the attempt. Raises UndecidedError."""
    pod_attempt = attempt_of(pod, state)
    if pod_attempt is None:
        return
    reasons: dict[tuple[str, bool], NodeSet] = {}
    for nodes, given in pod_attempt.groups(among):
        if given.reason:
            key = given.reason, given.is_error
            reasons[key] = reasons.get(key, EMPTY) | nodes
    has_error = any(is_error for _, is_error in reasons)
    for (reason, is_error), nodes in reasons.items():
        if is_error or not has_error:
            yield Rejection(NAME, reason, among if is_error else nodes, resolvable=False, is_error=is_error)


def postfilter(pod: Pod, state: ClusterState, *, is_refused: bool) -> str:
    """Return what the plugin says about a pod that fits nowhere: it may free claims that no other pod uses.

    ``is_refused``: a PreFilter ended the attempt.
    """
    pod_attempt = attempt_of(pod, state)
    if pod_attempt is None or is_refused:
        return "no new claims to deallocate"
    idle = any(not claim.reserved_for for given in pod_attempt.seen() for claim in given.unavailable)
    return "deallocation of ResourceClaim completed" if idle else "still not schedulable"
