"""The metadata of an object to create.

Mirrors ``ValidateObjectMeta`` of ``k8s.io/apimachinery/pkg/api/validation/objectmeta.go`` and of
``pkg/apis/core/validation/validation.go`` (v1.36). A missing namespace gets that of the request, and a cluster-wide
object loses its namespace, so neither is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.values.causes import Cause, complaints, forbidden, invalid, required
from kubesched_lint.engine.apiserver.values.labels import annotation_map, label_map
from kubesched_lint.engine.apiserver.values.names import NameRule, dns_label, dns_subdomain, prefix_of, qualified_name

Value = dict[str, Any]
_PATH = ("metadata",)
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_STANDARD_FINALIZERS = ("kubernetes", _ORPHAN, _FOREGROUND)


def object_meta(meta: Value, name_rule: NameRule = dns_subdomain, *, namespaced: bool = True) -> Iterator[Cause]:
    name, generated, namespace = meta.get("name", ""), meta.get("generateName", ""), meta.get("namespace")
    if generated:
        yield from complaints((*_PATH, "generateName"), generated, prefix_of(name_rule)(generated))
    if not name:
        yield required((*_PATH, "name"), "name or generateName is required")
    elif bad := name_rule(name):
        yield from complaints((*_PATH, "name"), name, bad)
    if namespace and namespaced and (bad := dns_label(namespace)):
        yield from complaints((*_PATH, "namespace"), namespace, bad)
    if "generation" in meta and meta["generation"] < 0:
        yield invalid((*_PATH, "generation"), meta["generation"], "must be greater than or equal to 0")
    if "labels" in meta:
        yield from label_map(meta["labels"], (*_PATH, "labels"))
    if "annotations" in meta:
        yield from annotation_map(meta["annotations"], (*_PATH, "annotations"))
    if "ownerReferences" in meta:
        yield from _owner_references(meta["ownerReferences"])
    if "finalizers" in meta:
        yield from _finalizers(meta["finalizers"])


def _owner_references(owners: Sequence[Value]) -> Iterator[Cause]:
    """Yield causes; upstream names the list, not the entry."""
    controller = ""
    field = "metadata.ownerReferences"
    for i, owner in enumerate(owners):
        at = (*_PATH, "ownerReferences", i)
        version = owner.get("apiVersion", "").rpartition("/")[2]
        if not version:
            detail = "version must not be empty"
            yield invalid((*at, "apiVersion"), owner.get("apiVersion", ""), detail, field=f"{field}.apiVersion")
        for part in ("kind", "name", "uid"):
            if not owner.get(part):
                yield invalid((*at, part), "", "must not be empty", field=f"{field}.{part}")
        if owner.get("controller"):
            reference = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                detected = f'Found "true" in references for {controller} and {reference}'
                detail = f"Only one reference can have Controller set to true. {detected}"
                yield invalid(at, list(owners), detail, field=field)
            else:
                controller = reference


def _finalizers(finalizers: Sequence[str]) -> Iterator[Cause]:
    at, field = (*_PATH, "finalizers"), "metadata.finalizers"
    for i, finalizer in enumerate(finalizers):
        yield from complaints((*at, i), finalizer, qualified_name(finalizer), field=field)
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        detail = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        yield invalid(at, list(finalizers), detail)
    for i, finalizer in enumerate(finalizers):
        yield from kube_finalizer(finalizer, (*at, i))


def kube_finalizer(finalizer: str, path: tuple[str | int, ...], *, field: str | None = None) -> Iterator[Cause]:
    if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        detail = "name is neither a standard finalizer name nor is it fully qualified"
        yield invalid(path, finalizer, detail, field=field)


def template_meta(meta: Value, path: tuple[str | int, ...]) -> Iterator[Cause]:
    """Yield the causes of ``ValidateTemplateObjectMeta``: a claim template may only have labels and annotations."""
    if "annotations" in meta:
        yield from annotation_map(meta["annotations"], (*path, "annotations"))
    if "labels" in meta:
        yield from label_map(meta["labels"], (*path, "labels"))
    for key, value in meta.items():
        if key not in ("annotations", "labels") and value:
            yield forbidden((*path, key), "cannot be set")
