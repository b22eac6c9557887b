"""Whether the volumes that a StatefulSet asks for can be made wherever its pods land."""

from __future__ import annotations

from kubesched_lint.lifecycle.setting import Setting

_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def made_anywhere(setting: Setting, number: int, wanted: int) -> bool:
    """Whether each pod's claims are new, and their class makes a volume on whichever node the pod lands."""
    workload, objects = setting.workloads[number], setting.objects
    if objects.volumes or objects.csi_nodes or objects.storage_capacities:
        return False
    anywhere = {
        c.name
        for c in objects.storage_classes
        if c.binding_mode == "WaitForFirstConsumer" and not c.allowed_topologies and c.provisioner != _NO_PROVISIONER
    }
    taken = {c.name for c in objects.claims if c.namespace == workload.namespace}
    return all(
        t.storage_class in anywhere and f"{t.name}-{workload.name}-{i}" not in taken
        for t in workload.claim_templates
        for i in range(wanted)
    )
