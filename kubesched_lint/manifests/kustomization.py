"""What a kustomization lists: its patches, its resources, and whatever else it reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesched_lint.record import record

_SUFFIXES = (".yaml", ".yml", ".json")
_ADDRESSES = ("http://", "https://", "ssh://", "git://", "file://", "git::", "git@", "s3://", "oci://")
_FOLDERS = ("resources", "bases", "components")
_FILES = ("crds", "configurations", "transformers", "generators", "validators", "patchesStrategicMerge")
_PATHS = ("patches", "patchesJson6902", "replacements")
_CHARTS = ("helmCharts", "helmChartInflationGenerator")


@record
class Kustomization:
    """``listed`` may be folders, files or addresses; ``read`` are files only, of which some may be written inline."""

    listed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    is_component: bool = False
    has_charts: bool = False
    value: Any = None


def kustomization(data: bytes) -> Kustomization | None:
    """None for what Kustomize would not take for one: other objects, empty files, and broken YAML."""
    value = value_of(data)
    if not isinstance(value, dict) or not value:
        return None
    version, kind = value.get("apiVersion", ""), value.get("kind", "Kustomization")
    if not isinstance(version, str) or kind not in ("Kustomization", "Component"):
        return None
    if version and not version.startswith("kustomize.config.k8s.io/"):
        return None  # Flux calls an object of its own so
    listed = [entry for field in _FOLDERS for entry in _list(value, field) if isinstance(entry, str)]
    return Kustomization(
        tuple(listed),
        tuple(path for path in _read(value) if "\n" not in path),
        kind == "Component",
        any(value.get(field) for field in _CHARTS),
        value,
    )


def _read(value: dict[str, Any]) -> Iterator[Any]:
    for field in _FILES:
        yield from (entry for entry in _list(value, field) if isinstance(entry, str))
    for field in _PATHS:
        yield from (p["path"] for p in _list(value, field) if isinstance(p, dict) and isinstance(p.get("path"), str))
    schema = value.get("openapi")
    if isinstance(schema, dict) and isinstance(schema.get("path"), str):
        yield schema["path"]
    for field in ("configMapGenerator", "secretGenerator"):
        for generator in _list(value, field):
            if isinstance(generator, dict):
                named = (*_list(generator, "files"), *_list(generator, "envs"), generator.get("env"))
                yield from (name.rpartition("=")[2] for name in named if isinstance(name, str))


def is_address(entry: str) -> bool:
    """Whether Kustomize would fetch this from elsewhere; asked of what does not exist as a file or folder."""
    if entry.startswith(_ADDRESSES) or "://" in entry or "?ref=" in entry or "?version=" in entry:
        return True
    host = entry.partition("/")[0].partition(":")[0]
    is_host = "." in host.strip(".") and not entry.endswith(_SUFFIXES)
    return is_host and entry != host


def listing(data: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """Paths of patches and of resources, relative to the kustomization; none where it cannot be read.

    Resources that are folders or URLs are left out.
    """
    value = value_of(data)
    if not isinstance(value, dict):
        return frozenset(), frozenset()
    # Kustomize 2 and before listed the files themselves under ``patches``.
    plain = (*_list(value, "patchesStrategicMerge"), *_list(value, "patches"), *_list(value, "patchesJson6902"))
    patches = {p for p in plain if isinstance(p, str) and "\n" not in p}
    for field in ("patches", "patchesJson6902"):
        patches |= {p["path"] for p in _list(value, field) if isinstance(p, dict) and isinstance(p.get("path"), str)}
    resources = {r for r in _list(value, "resources") if isinstance(r, str) and r.endswith(_SUFFIXES)}
    return frozenset(patches), frozenset(resources)


def value_of(data: bytes) -> Any:
    """The first document of a kustomization; None where it cannot be read."""
    from kubesched_lint.manifests.plain import NotPlainError, read_plain

    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        return read_plain(text)
    except NotPlainError:
        from kubesched_lint.manifests.building import BuildError, build

        try:
            return build(text)
        except BuildError:
            return None


def _list(value: dict[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []
