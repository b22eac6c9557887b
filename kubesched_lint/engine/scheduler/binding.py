"""Bind a pod to a node: set its topology labels, and bind the claims that wait for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from msgspec.structs import replace

from kubesched_lint.engine.base.quirks import POD_TOPOLOGY_LABELS, has
from kubesched_lint.engine.cluster.nodeset import NodeSet, only, positions
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.cluster.storage.free_volumes import FreeVolumes, VolumePool
from kubesched_lint.engine.cluster.storage.storage import Storage
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.nodes.node import HOSTNAME, REGION, ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod, NodeSelectorTerm, Pod, is_given_devices
from kubesched_lint.engine.model.storage import Claim, PersistentVolume, is_local
from kubesched_lint.engine.scheduler.plugins.node_volume_limits import migrated
from kubesched_lint.engine.scheduler.plugins.volume_binding import (
    BIND_COMPLETED,
    NO_PROVISIONER,
    Choice,
    choices,
    pod_claims,
)

_HOLDER = "kubesched-lint/"
"""No name of a pod has a slash."""
MADE_AT_ONCE = "kubesched-lint/made-at-once"
"""Our mark on a volume that ``settle`` made: its location is unknown."""


def bind(pod: Pod | BoundPod, position: int, state: ClusterState, *, allocates: bool = True) -> Placement:
    """Place a pod as the scheduler would: with its node's zone and region labels, and its waiting claims bound.

    A pod that names its node is bound as it is created: no scheduler binds its claims or allocates its devices.

    A provisioned claim gets a volume that is reachable as far as its driver allows (see ``provisioned``). Claims for
    devices are allocated, unless the caller keeps account of them: ``allocates`` False.
    """
    plain = pod.pod if isinstance(pod, BoundPod) else pod
    if plain.volumes and not plain.node_name:
        _bind_claims(plain, position, state)
    return placed(pod, position, state, allocates=allocates)


def bind_each(pod: Pod, nodes: NodeSet, state: ClusterState) -> None:
    """Bind one such pod to each of some nodes."""
    if pod.volumes or state.devices is not None:
        for position in positions(nodes):
            bind(pod, position, state)
        return
    labelled: dict[Pod, dict[int, int]] = {}
    for position in positions(nodes):
        own = with_topology_labels(pod, state.index.nodes[position], state)
        labelled.setdefault(own, {})[position] = 1
    for own, counts in labelled.items():
        state.place_many(own, counts)


def placed(pod: Pod | BoundPod, position: int, state: ClusterState, *, allocates: bool = True) -> Placement:
    """Place a pod as ``bind`` does, but leave its volumes alone."""
    plain = pod.pod if isinstance(pod, BoundPod) else pod
    labelled = with_topology_labels(plain, state.index.nodes[position], state)
    takes_devices = allocates and state.devices is not None and is_given_devices(plain)
    holder = _allocate(plain, position, state) if takes_devices else ""
    if isinstance(pod, BoundPod):
        placement = state.place(replace(pod, node=state.index.names[position], pod=labelled), position)
    else:
        placement = state.place(labelled, position)
    placement.holder = holder or placement.holder
    return placement


def _allocate(pod: Pod, position: int, state: ClusterState) -> str:
    """Allocate and reserve the claims of a pod; return the name for which they are reserved, empty without any."""
    from kubesched_lint.engine.scheduler.devices.life import bound_devices

    assert state.devices is not None, "without devices there are no claims to allocate"
    holder = f"{_HOLDER}{state.mark()}"
    state.devices = bound_devices(pod, holder, position, state.devices, state.index)
    return holder


def with_topology_labels(pod: Pod, node: Node, state: ClusterState) -> Pod:
    """Return the pod with the zone and region labels of its node; existing labels are kept.

    Mirrors ``plugin/pkg/admission/podtopologylabels`` and the binding of ``pkg/registry/core/pod/storage`` (v1.36).
    """
    if not has(state.kubernetes_version, POD_TOPOLOGY_LABELS):
        return pod
    place = pod, node.labels.get(ZONE), node.labels.get(REGION)
    known = state.labelled.get(place)
    if known is None:
        added = {key: node.labels[key] for key in (ZONE, REGION) if key in node.labels and key not in pod.labels}
        known = state.labelled[place] = replace(pod, labels={**pod.labels, **added}) if added else pod
    return known


def _bind_claims(pod: Pod, position: int, state: ClusterState) -> None:
    delayed = state.storage.once(pod_claims, pod).delayed
    named = tuple(c for c in delayed if (c.namespace, c.name) in state.storage.claims)
    for _, choice in choices(named, state, only(position)) if named else ():
        if isinstance(choice, Choice):
            state.storage = _bound_storage(choice, state.index.nodes[position], state.storage)


def _bound_storage(choice: Choice, node: Node, storage: Storage) -> Storage:
    pairs = list(choice.static)
    pairs += [(claim, provisioned(claim, node, storage)) for claim in choice.provision]
    return storage.with_objects(
        claims=(bound_claim(claim, volume) for claim, volume in pairs),
        volumes=(
            replace(volume, claim_ref=(claim.namespace, claim.name, claim.uid), phase="Bound")
            for claim, volume in pairs
        ),
    )


def bound_claim(claim: Claim, volume: PersistentVolume) -> Claim:
    """Return the claim as it is once it is bound to a volume."""
    annotations = {**claim.annotations, BIND_COMPLETED: "yes"}
    return replace(claim, volume_name=volume.name, phase="Bound", annotations=annotations)


def provisioned(claim: Claim, node: Node, storage: Storage) -> PersistentVolume:
    """Return the volume that a driver makes for a claim of a pod on ``node``.

    It is reachable from the nodes with the same values of the ``topology_keys``; if there are none, from every node.
    """
    storage_class = storage.class_of(claim)
    driver = storage_class.provisioner if storage_class is not None else ""
    keys = topology_keys(driver, node, storage)
    return PersistentVolume(
        name=f"pvc-{claim.namespace}-{claim.name}",
        storage_class=storage_class.name if storage_class is not None else "",
        capacity=claim.request,
        access_modes=claim.access_modes,
        volume_mode=claim.volume_mode,
        node_terms=_with_labels(tuple((key, node.labels[key]) for key in keys if key in node.labels)),
        kind="csi",
        csi_driver=migrated(driver),  # so that it counts against the limit of the driver that replaced it
        volume_handle=f"{claim.namespace}/{claim.name}",
    )


def topology_keys(provisioner: str, node: Node, storage: Storage) -> Sequence[str]:
    """Return the labels of a node that a volume made for its pods asks other nodes for.

    Those of the driver's CSINode. A driver that a CSINode does not have asks for none, unless its name says that it
    makes local volumes: those of Rancher's and OpenEBS's provisioners stay on their node. Without a CSINode, the zone.
    """
    driver, csi_node = migrated(provisioner), storage.csi_nodes.get(node.name)
    if csi_node is not None and driver in csi_node.drivers:
        return csi_node.drivers[driver]
    if is_local(provisioner):
        return (HOSTNAME,)
    return () if csi_node is not None else (ZONE,)


@lru_cache(maxsize=256)
def _with_labels(labels: tuple[tuple[str, str], ...]) -> tuple[NodeSelectorTerm, ...] | None:
    """Return the terms of a volume that all nodes with these labels reach; None for no labels."""
    expressions = tuple(Requirement(key, "In", (value,)) for key, value in labels)
    return (NodeSelectorTerm(expressions),) if expressions else None


def settle(storage: Storage, contested: Collection[str] = ()) -> Storage:
    """Return the storage after the volume controller ran: Immediate claims are bound, or provisioned if possible.

    A claim is bound to the smallest matching volume, whatever its node affinity. A provisioned claim gets a volume that
    every node reaches, because its future location is unknown. Claims of a class that does not exist, or that
    provisions nothing, stay unchanged. So do claims that compete for the volumes of a class, with each other or with
    future claims of ``contested`` classes, and those with several smallest volumes in different places: their binding
    depends on the order in which the controller sees them.
    """
    waiting = [(c, _class_name(c, storage)) for c in storage.claims.values() if _binds_at_once(c, storage)]
    counts = Counter(name for _, name in waiting)
    for claim, name in waiting:
        volumes = candidates(claim, name, storage)
        free = next(volumes, None)
        is_free = free is not None and not _is_reserved(free, claim)
        if is_free and (counts[name] > 1 or name in contested or _may_be_elsewhere(free, volumes)):
            continue
        volume = free or _made_at_once(claim, storage)
        if volume is not None:
            bound = replace(volume, claim_ref=(claim.namespace, claim.name, claim.uid), phase="Bound")
            storage = storage.with_objects([bound_claim(claim, volume)], [bound])
    return storage


def _binds_at_once(claim: Claim, storage: Storage) -> bool:
    storage_class = storage.class_of(claim)
    return not (claim.volume_name or claim.phase or (storage_class and storage_class.binding_mode != "Immediate"))


def _class_name(claim: Claim, storage: Storage) -> str:
    storage_class = storage.class_of(claim)
    return storage_class.name if storage_class is not None else claim.storage_class or ""


def _may_be_elsewhere(first: PersistentVolume | None, others: Iterable[PersistentVolume]) -> bool:
    """Whether volumes as small as the first one are in another place: sort.Sort orders equal sizes in any way."""
    if first is None:
        return False
    as_small = takewhile(lambda other: other.capacity == first.capacity, others)
    return any((other.node_terms, other.labels) != (first.node_terms, first.labels) for other in as_small)


def _is_reserved(volume: PersistentVolume, claim: Claim) -> bool:
    return volume.claim_ref is not None and volume.claim_ref[:2] == (claim.namespace, claim.name)


def candidates(claim: Claim, storage_class: str, storage: Storage) -> Iterator[PersistentVolume]:
    """Yield the volumes that the controller may bind a claim to, its first choice first: reserved, then smallest.

    Mirrors FindMatchingVolume of ``component-helpers/storage/volume/pv_helpers.go`` without a node (v1.36).
    """
    reserved = VolumePool(
        v for v in storage.reserved(claim) if v.storage_class == storage_class and _is_reserved(v, claim)
    )
    for some in (FreeVolumes(reserved, reserved.all), storage.loose(storage_class)):
        yield from some.pool.some(some.open_to(claim))


def _made_at_once(claim: Claim, storage: Storage) -> PersistentVolume | None:
    storage_class = storage.class_of(claim)
    if storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
        return None
    made = provisioned(claim, Node(HOSTNAME), storage)
    return replace(made, node_terms=None, annotations={MADE_AT_ONCE: storage_class.provisioner})
