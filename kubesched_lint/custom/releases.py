"""The objects with which controllers install charts: HelmRelease of Flux, HelmChart of K3s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesched_lint.findings import Release
from kubesched_lint.manifests.document import Document

NO_CARD = "no values card describes its chart"


def release_of(document: Document, namespace: str) -> Release:
    """Return the release that an object installs; ``namespace`` is that of objects without one."""
    spec = _mapping(document.value, "spec")
    home = spec.get("targetNamespace") or document.namespace or namespace
    where = document.location(())
    chart = _chart(document.kind, spec)
    return Release(document.kind, str(home), document.name, chart, where.path, where.span.line, NO_CARD)


def _chart(kind: str, spec: Mapping[str, Any]) -> str:
    """Return the chart and its version as the object names them."""
    if kind == "HelmChart":
        named, version = spec.get("chart"), spec.get("version")
    elif spec.get("chartRef"):
        named, version = _mapping(spec, "chartRef").get("name"), None
    else:
        chart = _mapping(_mapping(spec, "chart"), "spec")
        named, version = chart.get("chart"), chart.get("version")
    return " ".join(str(part) for part in (named, version) if part is not None)


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
