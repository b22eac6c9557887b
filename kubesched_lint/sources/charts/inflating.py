"""The ``helmCharts`` of a kustomization, inflated from pulled charts as ``kustomize build --enable-helm`` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubesched_lint.files import content_at, root_of
from kubesched_lint.sources.charts.lock import LockError, Pinned, are_versions, pinned
from kubesched_lint.sources.charts.rendering import Asked, Charts, NoHelmError, given_values
from kubesched_lint.sources.manifests.inputs import KUSTOMIZATIONS, LARGEST
from kubesched_lint.sources.manifests.kustomize.tree import Inflate
from kubesched_lint.sources.manifests.recognizing.kustomization import merged, text_to_read, value_in, value_of
from kubesched_lint.sources.manifests.rendered.charts import Made
from kubesched_lint.sources.manifests.walking import Found, Walk

_READ = frozenset(
    {
        *("name", "repo", "version", "releaseName", "namespace", "valuesFile", "valuesInline", "valuesMerge"),
        *("additionalValuesFiles", "includeCRDs", "skipTests"),
    }
)


class CannotInflateError(Exception):
    """A chart is not inflated; the text says why."""


def inflating(charts: Charts) -> Inflate:
    """Return how kustomizations get the objects of their charts."""

    def inflate(entry: Mapping[str, Any], read: Callable[[str], bytes | str]) -> Made:
        try:
            (made,) = charts.made([_asked(entry, read)])
        except CannotInflateError as error:
            return Made(why=str(error))
        except NoHelmError as error:
            return Made(why=str(error), is_refused=True)
        except LockError as error:
            return Made(why=f"{charts.lock}: {error}", is_refused=True)
        return made

    return inflate


def chart_of(entry: Mapping[str, Any]) -> Pinned:
    """Return the version, or range, of a chart that an entry of ``helmCharts`` names. Raises CannotInflateError."""
    name, address, version = (str(entry.get(key) or "") for key in ("name", "repo", "version"))
    if not address:
        raise CannotInflateError(f"{name or 'an entry'} names no repository")
    if not are_versions(version):
        raise CannotInflateError(f"{version or 'no version'} is no version of the chart {name}")
    chart = pinned(address, name, version)
    if not chart.is_sound:
        raise CannotInflateError(f"{address} is no address of charts")
    return chart


def _asked(entry: Mapping[str, Any], read: Callable[[str], bytes | str]) -> Asked:
    chart = chart_of(entry)
    if other := next((key for key in entry if key not in _READ), ""):
        raise CannotInflateError(f"{other} of {chart.chart} is not read")
    if not entry.get("releaseName"):
        raise CannotInflateError(f"{chart.chart} has no releaseName, so that helm draws one")
    values: dict[str, Any] = {}
    for name in _value_files(entry):
        data = read(name)
        value = value_in(text_to_read(data)) if isinstance(data, bytes) else None
        if not isinstance(value, dict):
            raise CannotInflateError(f"{name} {data if isinstance(data, str) else 'is no mapping'}")
        values = merged(values, value)
    inline, how = entry.get("valuesInline") or {}, entry.get("valuesMerge") or "override"
    if not isinstance(inline, dict) or how not in ("override", "replace", "merge"):
        raise CannotInflateError(f"the values of {chart.chart} are not read")
    if inline:
        pairs = {"override": (values, inline), "merge": (inline, values), "replace": ({}, inline)}
        values = merged(*pairs[str(how)])
    text = given_values(values)
    if text is None:
        raise CannotInflateError(f"the values of {chart.chart} are none that Helm could get")
    return Asked(chart, str(entry["releaseName"]), str(entry.get("namespace") or "default"), text)


def _value_files(entry: Mapping[str, Any]) -> Iterator[str]:
    more = entry.get("additionalValuesFiles") or []
    yield from map(str, [entry["valuesFile"]] if entry.get("valuesFile") else [])
    yield from map(str, more if isinstance(more, list) else [more])


def charts_of_kustomizations(folder: str) -> Iterator[Pinned]:
    """Yield the charts that the kustomizations of a repository inflate. Raises OSError."""
    root = root_of(folder) or os.path.realpath(folder)
    for item in Walk(folder, root).below(folder, os.path.realpath(folder)):
        if not isinstance(item, Found) or os.path.basename(item.real) not in KUSTOMIZATIONS:
            continue
        value = value_of(content_at(item.real, LARGEST))
        entries = value.get("helmCharts") if isinstance(value, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            try:
                yield chart_of(entry if isinstance(entry, dict) else {})
            except CannotInflateError:
                continue
