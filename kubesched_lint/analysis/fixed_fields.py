"""Fields that the API server does not let anybody change: an object that exists has to be deleted and made anew.

Upstream: the ``Validate…Update`` functions of pkg/apis/{core,apps,batch,storage,scheduling}/validation.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesched_lint.findings import Path
from kubesched_lint.manifests.changes import Append, Change

_FIXED: Mapping[str, tuple[Path, ...]] = {
    "Deployment": (("spec", "selector"),),
    "ReplicaSet": (("spec", "selector"),),
    "DaemonSet": (("spec", "selector"),),
    "StatefulSet": (
        ("spec", "selector"),
        ("spec", "serviceName"),
        ("spec", "podManagementPolicy"),
        ("spec", "volumeClaimTemplates"),
    ),
    "Job": (
        ("spec", "template"),
        ("spec", "selector"),
        ("spec", "manualSelector"),
        ("spec", "completionMode"),
        ("spec", "podFailurePolicy"),
        ("spec", "successPolicy"),
        ("spec", "backoffLimitPerIndex"),
    ),
    "Pod": (("spec",),),
    "Service": (("spec", "clusterIP"), ("spec", "clusterIPs")),
    "PersistentVolumeClaim": (("spec",),),
    "PersistentVolume": (("spec", "nodeAffinity"), ("spec", "volumeMode")),
    "StorageClass": (("provisioner",), ("parameters",), ("reclaimPolicy",), ("volumeBindingMode",)),
    "PriorityClass": (("value",), ("preemptionPolicy",)),
}
_FREE: Mapping[str, tuple[Path, ...]] = {
    "Pod": (("spec", "activeDeadlineSeconds"),),
    "PersistentVolumeClaim": (("spec", "resources"), ("spec", "volumeAttributesClassName")),
}
"""What may change all the same inside one of them."""


def is_fixed(kind: str, change: Change) -> bool:
    """Whether the API server would refuse the change in an object of this kind that exists already."""
    at = change.at
    if kind == "Pod" and (at[-1:] == ("image",) or (isinstance(change, Append) and at == ("spec", "tolerations"))):
        return False
    inside = any(at[: len(path)] == path for path in _FIXED.get(kind, ()))
    return inside and not any(at[: len(path)] == path for path in _FREE.get(kind, ()))
