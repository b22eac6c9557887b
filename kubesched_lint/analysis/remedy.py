"""What would fix a hazard: changes to one object, and whether they are safe without review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubesched_lint.manifests.changes import Append
from kubesched_lint.record import record

if TYPE_CHECKING:
    from kubesched_lint.findings import Path, Source
    from kubesched_lint.manifests.changes import Change

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
    "ResourceClaim": (("spec",),),
    "ResourceClaimTemplate": (("spec",),),
}
_FREE: Mapping[str, tuple[Path, ...]] = {
    "Pod": (("spec", "activeDeadlineSeconds"),),
    "PersistentVolumeClaim": (("spec", "resources"), ("spec", "volumeAttributesClassName")),
}
"""What may change all the same inside one of them."""


@record
class Remedy:
    """``title`` is an imperative without a full stop: ``add matchLabelKeys: [pod-template-hash]``.

    ``safe``: it writes what the manifest clearly means, and every pod that has a node keeps one. A remedy that changes
    where pods may run, or what they guarantee, is not safe. ``changes`` are applied in order to the object of
    ``source``; None is the object of the finding. ``is_new``: the API server refuses the object as it is written, so no
    object with immutable fields exists yet.
    """

    title: str
    safe: bool
    changes: tuple[Change, ...]
    source: Source | None = None
    is_new: bool = False


def is_fixed(kind: str, change: Change) -> bool:
    """Whether the API server would refuse the change in an existing object of this kind."""
    at = change.at
    if kind == "Pod" and (at[-1:] == ("image",) or (isinstance(change, Append) and at == ("spec", "tolerations"))):
        return False
    inside = any(at[: len(path)] == path for path in _FIXED.get(kind, ()))
    return inside and not any(at[: len(path)] == path for path in _FREE.get(kind, ()))
