"""What the storage objects of a snapshot say of nodes: what they read of them, and where they can make volumes."""

from __future__ import annotations

from kubesched_lint.controllers.statefulset import claim_name
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.node import ZONE
from kubesched_lint.model.workload import Workload
from kubesched_lint.scheduler.plugins.volume_binding import SELECTED_NODE

_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def keys_read(objects: Inventory, *, makes_volumes: bool) -> tuple[str, ...]:
    """Return the label keys that storage objects read, and those of volumes that a driver makes for new pods."""
    found: set[str] = {ZONE} if makes_volumes else set()
    if makes_volumes:
        found |= {key for c in objects.csi_nodes for keys in c.drivers.values() for key in keys}
    for volume in objects.volumes:
        found |= {e.key for term in volume.node_terms or () for e in term.expressions}
        found |= volume.labels.keys()
    for storage_class in objects.storage_classes:
        found |= {key for term in storage_class.allowed_topologies for key in term}
    for room in objects.storage_capacities:
        found |= {r.key for r in room.topology.requirements} if room.topology is not None else set()
    return tuple(sorted(found))


def nodes_named(objects: Inventory) -> frozenset[str]:
    """Return the names of nodes in storage objects."""
    terms = [term for volume in objects.volumes for term in volume.node_terms or ()]
    named = {value for term in terms for e in term.fields for value in e.values}
    named |= {attachment.node for attachment in objects.volume_attachments}
    return frozenset(named | {c.annotations.get(SELECTED_NODE, "") for c in objects.claims})


def made_anywhere(objects: Inventory, workload: Workload, wanted: int) -> bool:
    """Whether each pod's claims are new, and their class provisions a volume on any node where the pod lands."""
    if objects.volumes or objects.csi_nodes or objects.storage_capacities:
        return False
    anywhere = {
        c.name
        for c in objects.storage_classes
        if c.binding_mode == "WaitForFirstConsumer" and not c.allowed_topologies and c.provisioner != _NO_PROVISIONER
    }
    taken = {c.name for c in objects.claims if c.namespace == workload.namespace}
    return all(
        t.storage_class in anywhere and claim_name(workload, t, i) not in taken
        for t in workload.claim_templates
        for i in range(wanted)
    )
