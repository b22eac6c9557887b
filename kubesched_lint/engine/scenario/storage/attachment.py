"""Which volumes a controller attaches to one node, as far as class, provisioner or volume tell, and for whom that is
enough.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kubesched_lint.engine.model.nodes.node import HOSTNAME
from kubesched_lint.engine.model.storage import is_local
from kubesched_lint.engine.scenario.storage.claims import storage_class_of, volumes_for
from kubesched_lint.engine.scheduler.plugins.node_volume_limits import CLOUD_DISKS, migrated

if TYPE_CHECKING:
    from kubesched_lint.engine.model.storage import Claim
    from kubesched_lint.engine.scenario.scenario import Member, Scenario

_FILE_SYSTEMS = (
    "nfs|smb|cifs|cephfs|filesystem|efs|fsx|lustre|azurefile|filestore|rwx|glusterfs|juicefs|seaweedfs|cubefs"
)
_OBJECT_STORES = "s3|blob|gcsfuse|rclone"
_OF_NODES = "hostpath|no-provisioner"
_NOT_ATTACHED = rf"(^|[-_./])({_FILE_SYSTEMS}|{_OBJECT_STORES}|{_OF_NODES})([-_./]|$)|^file\.csi\.azure\.com$"
"""Provisioners and names of classes whose volumes no controller attaches to one node."""
_SHARED_OR_LOCAL = ("nfs", "cephfs", "glusterfs", "azureFile", "hostPath", "local")


def is_attached(scenario: Scenario, claim: Claim) -> bool:
    """Return whether a volume of the claim is attached to one node at a time, as far as its class tells.

    Network file systems are mounted wherever a pod runs, whatever the access mode; a local volume keeps every pod at
    its node. If the class is unknown, its name tells: ``local-path`` of k3s, ``nfs-client``.
    """
    if any(volume.kind in _SHARED_OR_LOCAL for volume in volumes_for(scenario, claim)):
        return False
    storage_class = storage_class_of(scenario, claim)
    name = claim.storage_class or "" if storage_class is None else storage_class.provisioner
    return re.search(_NOT_ATTACHED, name) is None and not is_local(name)


def is_surely_attached(scenario: Scenario, claim: Claim) -> bool:
    """Return whether a controller attaches a volume of the claim to one node at a time: a disk of a known cloud."""
    storage_class = storage_class_of(scenario, claim)
    drivers = {volume.csi_driver for volume in volumes_for(scenario, claim)}
    if not drivers and storage_class is not None:
        drivers = {migrated(storage_class.provisioner)}
    return bool(drivers) and drivers <= CLOUD_DISKS


def has_known_class(scenario: Scenario, claim: Claim) -> bool:
    """Return whether a claim names its class, has a volume already, or the default class is known."""
    is_named = claim.storage_class is not None or storage_class_of(scenario, claim) is not None
    return is_named or bool(volumes_for(scenario, claim))


def must_share_a_node(it: Member) -> bool:
    """Return whether all pods must run on the same node, today's only one or another: one attachment is enough."""
    pod, scenario = it.workload.pod, it.scenario
    if pod.node_name or HOSTNAME in pod.node_selector:
        return True
    if scenario.cluster is not None and scenario.cluster.knows_nodes and not scenario.pools and not scenario.is_elastic:
        usable = it.reach.tolerated
        if usable and not usable & (usable - 1):
            return True
    return any(
        t.topology_key == HOSTNAME and t.selector is not None and t.selector.matches(pod.labels)
        for t in pod.required_affinity
    )
