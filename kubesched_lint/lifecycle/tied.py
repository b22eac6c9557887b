"""Whether a waiting pod may need the nodes that its volumes reach."""

from __future__ import annotations

from kubesched_lint.controllers.statefulset import claim_name
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.workload import Workload

_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def is_tied(setting: Setting, number: int, wanted: int, *, fresh: bool) -> bool:
    """Whether volumes may tie pods of a workload to nodes.

    ``fresh``: nobody deletes its pods, so that none waits for the node of a bound claim.
    """
    workload, volumes = setting.workloads[number], setting.pods[number].volumes
    if any(volume.claim for volume in volumes):
        return True
    return bool(workload.claim_templates) and not (fresh and _made_anywhere(setting.objects, workload, wanted))


def _made_anywhere(objects: Inventory, workload: Workload, wanted: int) -> bool:
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
