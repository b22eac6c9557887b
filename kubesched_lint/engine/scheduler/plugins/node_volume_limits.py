"""A node accepts only a limited number of volumes of a CSI driver, given in its CSINode.

Mirrors ``pkg/scheduler/framework/plugins/nodevolumelimits/csi.go`` (v1.36, ``checkCSIDriverOnNode``). There is no limit
without a CSINode, or if none of its drivers has a count. Such a node counts as one whose CSINode nobody captured, so it
does not lack a driver either: a kubelet makes its CSINode when it starts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.quirks import CSI_DRIVER_ON_THE_NODE, has
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, of, only, positions
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.cluster.storage.storage import Storage
from kubesched_lint.engine.model.pod import Pod, Volume
from kubesched_lint.engine.model.storage import Claim, VolumeAttachment
from kubesched_lint.engine.scheduler.plugins.verdict import Rejection
from kubesched_lint.engine.scheduler.plugins.volume_binding import ephemeral_claim

NAME = "NodeVolumeLimits"

# k8s.io/csi-translation-lib: in-tree plugins that count as the CSI driver that replaced them.
_MIGRATED = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
}


CLOUD_DISKS = frozenset(_MIGRATED.values())
"""CSI drivers of clouds' disks, which the attach/detach controller attaches to one node unless the claim says more."""


def migrated(provisioner: str) -> str:
    """Return the CSI driver that replaced an in-tree provisioner; any other name is returned as it is."""
    return _MIGRATED.get(provisioner, provisioner)


Attachment = tuple[str, str]
"""A CSI driver, and the driver's name of the volume."""


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    if not pod.volumes:
        return
    wanted, new = state.storage.once(_wanted, pod)
    drivers = new.keys()
    if not drivers:
        return
    for driver, nodes in lacking(drivers, state, among):
        yield Rejection(NAME, f"{driver} CSI driver is not installed on the node", nodes, resolvable=True)
        among &= ~nodes
    full = EMPTY
    for position in positions(nearly_full(new, state) & among):
        csi_node = state.storage.csi_nodes[state.index.names[position]]
        limits = {d: n for d, n in csi_node.limits.items() if n is not None and d in drivers}
        if _exceeds(wanted, limits, position, state):
            full |= only(position)
    yield Rejection(NAME, "node(s) exceed max volume count", full, resolvable=True)


def _wanted(pod: Pod, storage: Storage) -> tuple[set[Attachment], Mapping[str, int]]:
    """Return the CSI volumes of a new pod, and how many there are of each driver."""
    wanted = set(_attachments(pod, "", -1, storage))
    return wanted, Counter(driver for driver, _ in wanted)


def nearly_full(wanted: Mapping[str, int], state: ClusterState) -> NodeSet:
    """Return the nodes that may have too many volumes with so many new ones of each driver.

    Those of all drivers count, each as often as a pod uses it.
    """
    room, nearly = _limits(state).room, EMPTY
    for driver, new in wanted.items():
        for left, nodes in room.get(driver, {}).items():
            nearly |= state.mounted.at_least(left - new + 1, nodes)
    return nearly


def most_attached(driver: str, state: ClusterState) -> Mapping[int, int]:
    """Return position → how many volumes of a driver a node takes in all; without the nodes that have no limit."""
    limits = ((name, csi_node.limits.get(driver)) for name, csi_node in state.storage.csi_nodes.items())
    positions_of = state.index.positions
    return {positions_of[name]: limit for name, limit in limits if limit is not None and name in positions_of}


class _Limits(Struct, frozen=True):
    read: tuple[object, object]
    """From which objects all this was read."""
    attached: Mapping[str, Sequence[VolumeAttachment]]
    """Node → the volumes that are attached to it."""
    room: Mapping[str, Mapping[int, NodeSet]]
    """Driver → how many volumes a node takes beside those that are attached → the nodes that take as many."""


def _limits(state: ClusterState) -> _Limits:
    storage = state.storage
    known: _Limits | None = state.volume_limits
    if known is None or known.read[0] is not storage.csi_nodes or known.read[1] is not storage.attachments:
        attached: dict[str, list[VolumeAttachment]] = {}
        for attachment in storage.attachments:
            attached.setdefault(attachment.node, []).append(attachment)
        room: dict[str, dict[int, list[int]]] = {}
        for name, csi_node in storage.csi_nodes.items():
            for driver, most in csi_node.limits.items():
                if most is not None and name in state.index.positions:
                    left = most - len(attached.get(name, ()))
                    room.setdefault(driver, {}).setdefault(left, []).append(state.index.positions[name])
        sets = {driver: {left: of(at) for left, at in lefts.items()} for driver, lefts in room.items()}
        known = state.volume_limits = _Limits((storage.csi_nodes, storage.attachments), attached, sets)
    return known


def lacking(drivers: Collection[str], state: ClusterState, among: NodeSet) -> Iterator[tuple[str, NodeSet]]:
    """Yield the drivers that must be on a node, each with the nodes that lack it and no earlier one."""
    needed = sorted(state.storage.drivers_needed_on_nodes.intersection(drivers))
    if not needed or not has(state.kubernetes_version, CSI_DRIVER_ON_THE_NODE):
        return
    for driver in needed:
        without = (name for name, there in state.storage.csi_nodes.items() if driver not in there.drivers)
        nodes = of(p for name in without if (p := state.index.positions.get(name)) is not None) & among
        among &= ~nodes
        yield driver, nodes


def _exceeds(wanted: set[Attachment], limits: dict[str, int], position: int, state: ClusterState) -> bool:
    placements = enumerate(state.pods_on(position))
    held = {a for number, placement in placements for a in _held(placement, number, state.storage)}
    attached = held | set(_attached(_limits(state).attached.get(state.index.names[position], ()), state.storage))
    for driver, limit in limits.items():
        new = sum(1 for a in wanted - held if a[0] == driver)
        if new and sum(1 for a in attached if a[0] == driver) + new > limit:
            return True
    return False


def _held(placement: Placement, number: int, storage: Storage) -> Iterator[Attachment]:
    pod = placement.pod
    if pod.volumes:
        yield from _attachments(pod, placement.bound.name if placement.bound else "", number, storage)


def _attachments(pod: Pod, name: str, number: int, storage: Storage) -> Iterator[Attachment]:
    """Yield the CSI volumes of a pod; claims that do not exist are not counted.

    A pod without a ``name`` is told from others on its node by ``number``: no two pods share an ephemeral volume.
    """
    for volume in pod.volumes:
        if volume.kind == "persistentVolumeClaim":
            claim = storage.claim(pod.namespace, volume.claim)
        elif volume.kind == "ephemeral":
            claim = storage.claim(pod.namespace, f"{name}-{volume.name}") if name else _made(pod, volume, number)
        else:
            claim = None
        attachment = None if claim is None else driver_and_handle(claim, storage)
        if attachment is not None:
            yield attachment


def _made(pod: Pod, volume: Volume, number: int) -> Claim | None:
    claim = ephemeral_claim(pod, volume)
    return None if claim is None else replace(claim, name=f"{number}-{volume.name}")


def driver_and_handle(claim: Claim, storage: Storage) -> Attachment | None:
    """Return driver and handle (getCSIDriverInfo) of the bound volume, else of the class that will provision one."""
    volume = storage.volumes.get(claim.volume_name)
    if volume is not None:
        if volume.csi_driver:
            return volume.csi_driver, volume.volume_handle
        driver = _MIGRATED.get(volume.kind)
        return None if driver is None else (driver, volume.name)
    storage_class = storage.classes.get(claim.storage_class or "")
    if storage_class is None:
        return None
    return migrated(storage_class.provisioner), f"unbound {claim.namespace}/{claim.name}"


def _attached(attachments: Iterable[VolumeAttachment], storage: Storage) -> Iterator[Attachment]:
    for attachment in attachments:
        volume = storage.volumes.get(attachment.volume)
        if attachment.attacher and volume is not None and volume.csi_driver:
            yield attachment.attacher, volume.volume_handle
