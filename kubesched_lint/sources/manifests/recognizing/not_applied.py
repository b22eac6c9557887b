"""Objects that nobody applies as they stand: their controller is told to leave them out, or they are encrypted.

Mirrors ``utils.AnyInMetadata`` of fluxcd/pkg/ssa, which compares labels and annotations without case, and the hook
``Skip`` of Argo CD.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesched_lint.sources.manifests.document import ENCRYPTED, Document, Skipped

_OF_FLUX = {
    "kustomize.toolkit.fluxcd.io/reconcile": "disabled",
    "kustomize.toolkit.fluxcd.io/ssa": "ignore",
}
_HOOK = "argocd.argoproj.io/hook"


def left_to_others(document: Document) -> Document | Skipped:
    """Return the document; why it is not read if nobody applies its text."""
    is_encrypted = _is_encrypted(document)
    why = "is encrypted by SOPS: its values are not known" if is_encrypted else _why(document)
    if not why:
        return document
    where = document.location(())
    words = f"{document.kind} {document.name} {why}"
    return Skipped(where.path, where.span.line, words, unrendered=ENCRYPTED if is_encrypted else "")


def _is_encrypted(document: Document) -> bool:
    encrypted = document.value.get("sops")
    return document.kind != "Secret" and isinstance(encrypted, dict) and "mac" in encrypted


def _why(document: Document) -> str:
    by = "" if document.delivered_by is None else document.delivered_by.title
    metadata = document.value.get("metadata") if by else None
    marks = [metadata.get(field) for field in ("labels", "annotations")] if isinstance(metadata, dict) else []
    if by.startswith("Kustomization ") and any(map(_is_left_by_flux, marks)):
        return f"is not applied: {by} is told to leave it out"
    hooks = str(marks[1].get(_HOOK)) if len(marks) == 2 and isinstance(marks[1], dict) else ""
    if by.startswith("Application") and "Skip" in [hook.strip() for hook in hooks.split(",")]:
        return f"is not applied: {by} is told to skip it"
    return ""


def _is_left_by_flux(marks: Any) -> bool:
    marked: Mapping[Any, Any] = marks if isinstance(marks, dict) else {}
    return any(str(marked.get(key)).lower() == value for key, value in _OF_FLUX.items())
