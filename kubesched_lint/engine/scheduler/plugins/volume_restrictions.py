"""A ReadWriteOncePod claim serves one pod at a time, and an inline disk one writer per node.

Mirrors ``pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import Pod, Volume
from kubesched_lint.engine.scheduler.plugins.verdict import PreFilterRefusal, Rejection

NAME = "VolumeRestrictions"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)  # fmt: skip
DISK = "node(s) had no available disk"

_RESTRICTED = frozenset(["gcePersistentDisk", "awsElasticBlockStore", "rbd", "iscsi"])


def prefilter(pod: Pod, state: ClusterState) -> PreFilterRefusal | NodeSet | None:
    for volume in pod.volumes:
        if volume.kind == "persistentVolumeClaim" and state.storage.claim(pod.namespace, volume.claim) is None:
            return PreFilterRefusal(NAME, f'persistentvolumeclaim "{volume.claim}" not found', resolvable=False)
    return None


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    disks = [v for v in pod.volumes if v.kind in _RESTRICTED]
    if disks:
        taken = EMPTY
        for pod_class in state.classes.members(state.classes.with_volumes):
            if any(_conflict(ours, theirs) for ours in disks for theirs in pod_class.pod.volumes):
                taken |= pod_class.nodes
        yield Rejection(NAME, DISK, among & taken, resolvable=True)
        among &= ~taken
    if any(state.claim_users(pod.namespace, name).planes for name in _exclusive_claims(pod, state)):
        yield Rejection(NAME, IN_USE, among, resolvable=True)


def _exclusive_claims(pod: Pod, state: ClusterState) -> Iterator[str]:
    for volume in pod.volumes:
        if volume.kind == "persistentVolumeClaim":
            claim = state.storage.claim(pod.namespace, volume.claim)
            if claim is not None and "ReadWriteOncePod" in claim.access_modes:
                yield claim.name


def _conflict(ours: Volume, theirs: Volume) -> bool:
    """Return isVolumeConflict: the same disk, unless both only read it; an EBS volume never twice."""
    if ours.kind != theirs.kind:
        return False
    both_read = ours.read_only and theirs.read_only
    match ours.kind:
        case "gcePersistentDisk":
            return ours.disk.get("pdName") == theirs.disk.get("pdName") and not both_read
        case "awsElasticBlockStore":
            return ours.disk.get("volumeID") == theirs.disk.get("volumeID")
        case "iscsi":
            return ours.disk.get("iqn") == theirs.disk.get("iqn") and not both_read
        case "rbd":
            return _same_image(ours.disk, theirs.disk) and not both_read
    return False


def _same_image(ours: Mapping[str, object], theirs: Mapping[str, object]) -> bool:
    if ours.get("image") != theirs.get("image") or ours.get("pool", "rbd") != theirs.get("pool", "rbd"):
        return False
    our_monitors, their_monitors = ours.get("monitors"), theirs.get("monitors")
    if not isinstance(our_monitors, list) or not isinstance(their_monitors, list):
        return False
    return any(monitor in their_monitors for monitor in our_monitors)
