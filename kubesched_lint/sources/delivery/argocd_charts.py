"""What Helm is asked to render for an Application of Argo CD: a chart of the lock, or one in the repository."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubesched_lint.files import whole
from kubesched_lint.sources.charts.lock import Pinned, are_versions, pinned
from kubesched_lint.sources.charts.parameters import values_set
from kubesched_lint.sources.charts.rendering import Asked, ChartFile, given_values
from kubesched_lint.sources.delivery.argocd_objects import Application, is_open
from kubesched_lint.sources.delivery.flux_objects import listed, mapping
from kubesched_lint.sources.manifests.inputs import LARGEST
from kubesched_lint.sources.manifests.recognizing.kustomization import merged, text_to_read, value_in
from kubesched_lint.sources.manifests.walking import why_unreadable

_OTHERS = ("fileParameters", "kubeVersion", "apiVersions", "skipTests")
"""Settings that would change what is rendered."""


class CannotRenderError(Exception):
    """What is rendered is not in the repository; the text says why."""


def chart_of(source: Mapping[str, Any]) -> Pinned:
    """Return the version, or range, of a chart that a source names. Raises CannotRenderError."""
    chart, address, version = (str(source.get(key) or "") for key in ("chart", "repoURL", "targetRevision"))
    if not are_versions(version):
        raise CannotRenderError(f"{version or 'no version'} is no version of the chart {chart}")
    pinned_chart = pinned(address if "://" in address else f"oci://{address}", chart, version)
    if not pinned_chart.is_sound:
        raise CannotRenderError(f"{address} is no address of charts")
    return pinned_chart


def asked_of(
    application: Application, source: Mapping[str, Any], root: str, own: Sequence[str], folder: str = ""
) -> Asked:
    """Return what Helm is asked for. Raises CannotRenderError.

    ``folder`` has a chart of the repository ``root``; ``own`` are the names by which sources refer to that one.
    """
    helm = mapping(source.get("helm"))
    if is_open(helm):
        raise CannotRenderError("its values are a template that nobody fills")
    if other := next((key for key in _OTHERS if helm.get(key)), ""):
        raise CannotRenderError(f"helm.{other} is not read")
    below: list[ChartFile | str] = []
    values: dict[str, Any] = {}
    for each in _values(helm, root, own, folder):
        if isinstance(each, ChartFile):
            below += [_as_json(values), each]
            values = {}
        else:
            values = merged(values, each)
    for parameter in map(mapping, listed(helm.get("parameters"))):
        values = merged(values, _parameter(parameter))
    text = _as_json(values)
    name = str(helm.get("releaseName") or application.name)
    namespace = str(helm.get("namespace") or application.namespace)
    return Asked(Pinned("", "", "") if folder else chart_of(source), name, namespace, text, folder, below=tuple(below))


def _as_json(values: Mapping[str, Any]) -> str:
    text = given_values(values)
    if text is None:
        raise CannotRenderError("its values are none that Helm could get")
    return text


def _values(
    helm: Mapping[str, Any], root: str, own: Sequence[str], folder: str
) -> Iterator[Mapping[str, Any] | ChartFile]:
    """Yield the values in the order in which later ones win; those in an archive by the file's name there."""
    for name in map(str, listed(helm.get("valueFiles"))):
        yield from _of_file(name, root, own, folder, is_optional=bool(helm.get("ignoreMissingValueFiles")))
    inline = helm.get("valuesObject") or helm.get("values")
    if inline:
        value = value_in(inline) if isinstance(inline, str) else inline
        if not isinstance(value, dict):
            raise CannotRenderError("its values are no mapping")
        yield value


def _of_file(
    name: str, root: str, own: Sequence[str], folder: str, *, is_optional: bool
) -> Iterator[Mapping[str, Any] | ChartFile]:
    ref, _, rest = name.removeprefix("$").partition("/")
    if name.startswith("$"):
        if ref not in own:
            raise CannotRenderError(f"{name} is in another repository")
        path = os.path.join(root, rest)
    elif "://" in name or any(sign in name for sign in "*?["):
        raise CannotRenderError(f"{name} is not read")
    elif not folder:
        yield ChartFile(name.lstrip("/"), is_optional)
        return
    else:
        path = os.path.join(root, name.lstrip("/")) if name.startswith("/") else os.path.join(folder, name)
    try:
        value = value_in(text_to_read(whole(path, LARGEST, root=root)))
    except FileNotFoundError:
        if is_optional:
            return
        raise CannotRenderError(f"{name} does not exist") from None
    except OSError as error:
        raise CannotRenderError(f"{name}: {why_unreadable(error)}") from None
    except ValueError:
        raise CannotRenderError(f"{name!r} is no name of a file") from None
    if value is not None and not isinstance(value, dict):
        raise CannotRenderError(f"{name} is no mapping")
    yield value or {}


def _parameter(parameter: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values that a parameter sets, as far as it is written plainly."""
    name, text = str(parameter.get("name") or ""), str(parameter.get("value") or "")
    nested = values_set(name, text, is_text=bool(parameter.get("forceString")))
    if nested is None:
        raise CannotRenderError(f"the parameter {name} is not read")
    return nested
