"""The objects with which controllers install charts: HelmRelease of Flux, HelmChart of K3s."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kubesched_lint.custom._charts import CHARTS
from kubesched_lint.custom.app_template import Chart, Plain, objects_of
from kubesched_lint.custom.card import EVENTS
from kubesched_lint.custom.chart_values import Values, values_of
from kubesched_lint.custom.derive import UnreadableError
from kubesched_lint.custom.others import Others
from kubesched_lint.engine.model.decode.fields import DecodeError
from kubesched_lint.engine.model.decode.objects import decode_object
from kubesched_lint.engine.model.workload import Custom, Workload
from kubesched_lint.engine.scenario.settings.not_read import Release
from kubesched_lint.sources.manifests.document import Document, Text

NO_CARD = "no values card describes its chart"
_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_REVISION = "pod-template-hash"

Decoded = tuple[str, Any]
"""The field of Inventory of an object, and the object."""


def read_release(document: Document, namespace: str, order: int, others: Others) -> tuple[Release, tuple[Decoded, ...]]:
    """Return the release that an object installs, and the objects that its chart makes, as far as a card tells.

    ``namespace`` is that of objects without one, ``order`` the place in the reading order, and ``others`` has the
    objects of the set that it names.
    """
    spec = _mapping(document.value, "spec")
    home = str(spec.get("targetNamespace") or document.namespace or namespace)
    chart, version = _chart(document, spec, document.namespace or namespace, others)
    where = document.location(())
    title = " ".join(filter(None, (chart, version)))
    release = Release(document.kind, home, document.name, title, where.path, where.span.line, NO_CARD)
    card = CHARTS.get(chart) if document.kind == "HelmRelease" else None
    if card is None:
        return release, ()
    first, last = (str(card["versions"][key]) for key in ("first", "last"))
    if _numbers(version) < _numbers(first):
        return replace(release, why=f"its values card begins with {chart} {first}"), ()
    values = values_of(document, _name(document, spec), home, others)
    is_newer = _numbers(version) > _numbers(last)
    try:
        plain = list(objects_of(values, Chart(tuple(card["pod"]), tuple(card["container"]), is_newer)))
        doubts = tuple(_doubts(values, spec, chart, version, last))
        objects = tuple(_decoded(document, one, home, order, doubts) for one in plain)
    except (UnreadableError, DecodeError) as error:
        return replace(release, why=getattr(error, "message", str(error))), ()
    return replace(release, why=_why_partly(values, spec)), objects


def _doubts(values: Values, spec: Mapping[str, Any], chart: str, version: str, last: str) -> Iterator[str]:
    """Yield what nothing of the release can be proven without."""
    if _numbers(version) > _numbers(last):
        named = f"version {version}" if version else "a version that nobody names"
        yield f"the values card describes {chart} up to {last}, and this is {named}"
    why = _why_partly(values, spec)
    if why:
        yield why


def _why_partly(values: Values, spec: Mapping[str, Any]) -> str:
    if values.unknown:
        return f"values of {', '.join(values.unknown)} are not known"
    if spec.get("postRenderers"):
        return "postRenderers change what the chart makes"
    return "rawResources are not read" if values.value.get("rawResources") else ""


def _decoded(document: Document, plain: Plain, namespace: str, order: int, doubts: Sequence[str]) -> Decoded:
    value = plain.value
    source = replace(
        document, written=Text(document.text, value), moves=tuple(plain.moves.values()), kind=value["kind"]
    )
    found, made = decode_object(value, namespace, source, order)
    whys = (*doubts, *(f"values.{at} is a template of the chart" for at in plain.open))
    if whys and isinstance(made, Workload):
        owner = "ReplicaSet" if made.kind == "Deployment" else made.kind
        unknown = dict.fromkeys(EVENTS, whys[0])
        made = replace(made, custom=Custom(made.ref, 1, owner, "", _REVISION, (), unknown, made.selector))
    return found, made


def _chart(document: Document, spec: Mapping[str, Any], namespace: str, others: Others) -> tuple[str, str]:
    """Return the chart and its version; empty where the object does not tell."""
    if document.kind == "HelmChart":
        return str(spec.get("chart") or ""), str(spec.get("version") or "")
    ref = _mapping(spec, "chartRef")
    if not ref:
        chart = _mapping(_mapping(spec, "chart"), "spec")
        return str(chart.get("chart") or ""), str(chart.get("version") or "")
    named = others.named(str(ref.get("kind")), str(ref.get("namespace") or namespace), str(ref.get("name")))
    if named is None:
        return str(ref.get("name") or ""), ""
    source = _mapping(named.value, "spec")
    return str(source.get("url") or "").rpartition("/")[2], str(_mapping(source, "ref").get("tag") or "")


def _name(document: Document, spec: Mapping[str, Any]) -> str:
    """Return the name that helm-controller gives a release."""
    if spec.get("releaseName"):
        return str(spec["releaseName"])
    target = spec.get("targetNamespace")
    return f"{target}-{document.name}" if target else document.name


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version; those of no version that exists if it is not exact."""
    match = _VERSION.match(version)
    return tuple(map(int, match.groups())) if match else (10**6,)


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
