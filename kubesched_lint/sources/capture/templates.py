"""The whole pod templates of some workloads, and who scales them: what applying a manifest changes, and undoes.

A snapshot keeps of a template only what scheduling reads. These are kept in memory alone, and no report shows values of
variables, arguments and annotations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.sources.capture.connection import Connection
from kubesched_lint.sources.capture.lists import ListReader, Unavailable
from kubesched_lint.sources.capture.parts import NameMeta, Part
from kubesched_lint.sources.capture.resources import Resource


class _Manager(Part):
    manager: str | None = None
    subresource: str | None = None


class _Meta(NameMeta):
    managed_fields: list[_Manager] | None = None


class _Spec(Part):
    template: Any = None


class _WholeWorkload(Part):
    metadata: _Meta
    spec: _Spec


class Whole(Struct, frozen=True):
    """What a snapshot leaves out of a workload."""

    template: Mapping[str, Any]
    scaled_by: str = ""
    """Who sets its replicas through the subresource ``scale``, such as ``kubectl``; empty if nobody does."""


_GROUPS = {"Deployment": "apps", "StatefulSet": "apps", "DaemonSet": "apps", "Job": "batch"}


def whole_workloads(connection: Connection, wanted: Collection[ObjectRef]) -> Mapping[ObjectRef, Whole]:
    """Return workloads as the API server stores them; without those that it does not return.

    Raises CaptureError if the server cannot be queried.
    """
    asked: dict[tuple[str, str], set[ObjectRef]] = {}
    for ref in wanted:
        if ref.kind in _GROUPS:
            asked.setdefault((ref.kind, ref.namespace), set()).add(ref)
    reader = ListReader(connection)
    return {
        ref: whole
        for (kind, namespace), refs in asked.items()
        for ref, whole in _listed(reader, kind, namespace)
        if ref in refs
    }


def _listed(reader: ListReader, kind: str, namespace: str) -> Iterator[tuple[ObjectRef, Whole]]:
    """Yield the workloads of a namespace: one request, however many are asked for."""
    try:
        items = reader.items(Resource(kind, f"{kind.lower()}s", _GROUPS[kind], _WholeWorkload), "v1", namespace)
    except Unavailable:
        return  # the snapshot names the gap
    for text in items.texts():
        for item in msgspec.json.decode(b"[%b]" % text):
            meta, template = item["metadata"], item["spec"].get("template")
            if isinstance(template, dict):
                by = [m.get("manager", "") for m in meta.get("managedFields", ()) if m.get("subresource") == "scale"]
                yield ObjectRef(kind, namespace, str(meta.get("name"))), Whole(template, by[-1] if by else "")
