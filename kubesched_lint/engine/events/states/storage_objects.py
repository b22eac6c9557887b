"""What the storage objects of a snapshot read of nodes: nodes that differ in it are not alike."""

from __future__ import annotations

from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE
from kubesched_lint.engine.model.storage import is_local
from kubesched_lint.engine.scheduler.plugins.volume_binding import SELECTED_NODE


def keys_read(objects: Inventory, *, makes_volumes: bool) -> tuple[str, ...]:
    """Return the label keys that storage objects read, and those of volumes that a driver makes for new pods."""
    keys: set[str] = {ZONE} if makes_volumes else set()
    if makes_volumes and any(is_local(c.provisioner) for c in objects.storage_classes):
        keys.add(HOSTNAME)
    if makes_volumes:
        keys |= {key for c in objects.csi_nodes for keys in c.drivers.values() for key in keys}
    for volume in objects.volumes:
        keys |= {e.key for term in volume.node_terms or () for e in term.expressions}
        keys |= volume.labels.keys()
    for storage_class in objects.storage_classes:
        keys |= {key for term in storage_class.allowed_topologies for key in term}
    for room in objects.storage_capacities:
        keys |= {r.key for r in room.topology.requirements} if room.topology is not None else set()
    return tuple(sorted(keys))


def nodes_named(objects: Inventory) -> frozenset[str]:
    """Return the names of nodes in storage objects."""
    terms = [term for volume in objects.volumes for term in volume.node_terms or ()]
    named = {value for term in terms for e in term.fields for value in e.values}
    named |= {attachment.node for attachment in objects.volume_attachments}
    return frozenset(named | {c.annotations.get(SELECTED_NODE, "") for c in objects.claims})
