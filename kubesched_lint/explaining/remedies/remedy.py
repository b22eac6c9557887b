"""What would fix a hazard: changes to one object, and whether they are safe without review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.sources.manifests.changes import Append, Change, ChangeError
from kubesched_lint.sources.manifests.document import Document

if TYPE_CHECKING:
    from kubesched_lint.sources.manifests.yaml.fragments import Fragment

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


class Remedy(Struct, frozen=True):
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


def written(remedy: Remedy, document: Document) -> tuple[Remedy, Document]:
    """Return the remedy with the places where its values are written, and the document that holds them.

    They differ from the remedy's own if ``document`` is a plain workload that a custom resource stands for.
    Raises ChangeError if some value is not written in the resource, or the values are in several documents.
    """
    if not document.moves:
        return remedy, document
    moves = [document.moved(change.at) for change in remedy.changes]
    home = moves[0].document
    if not all(move.is_exact and move.document is home for move in moves):
        raise ChangeError(f"the card of {document.kind} does not say where its controller takes that value from")
    changes = tuple(replace(change, at=move.at) for change, move in zip(remedy.changes, moves, strict=True))
    return replace(remedy, changes=changes), home


def in_source(remedy: Remedy, document: Document) -> tuple[Remedy, Fragment] | None:
    """Return the remedy of a rendered object as a change of the document that it is rendered from, and that document.

    None if no single document sets the values, or none is rendered again when it changes.
    """
    places = [change.at for change in remedy.changes]
    if document.rendering is None or any(document.is_filled_at(at) for at in places):
        return None
    setting = document.rendering.setting(document.as_written, places)
    if setting is None:
        return None
    fragment, inside = setting
    changes = tuple(replace(change, at=at) for change, at in zip(remedy.changes, inside, strict=True))
    return replace(remedy, changes=changes), fragment


def is_fixed(kind: str, change: Change) -> bool:
    """Whether the API server would refuse the change in an existing object of this kind."""
    at = change.at
    if kind == "Pod" and (at[-1:] == ("image",) or (isinstance(change, Append) and at == ("spec", "tolerations"))):
        return False
    inside = any(at[: len(path)] == path for path in _FIXED.get(kind, ()))
    return inside and not any(at[: len(path)] == path for path in _FREE.get(kind, ()))


def written_at(source: Source | None, at: Path) -> Any:
    """Return the value at a path of a document; None where nothing is written."""
    return value_at(getattr(source, "value", None), at)
