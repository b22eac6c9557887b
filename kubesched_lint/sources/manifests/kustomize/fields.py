"""The fields that a kustomization may hold. A field not listed here is never passed to a tool.

Kustomize decodes with Go's ``encoding/json``, so keys match in any case. Each value is plain data or names something to
read; a name goes to ``Reader``, which returns the name that the tool reads instead. The result holds only listed keys,
in their standard spelling. Fields: ``api/types`` of kubernetes-sigs/kustomize.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kubesched_lint.engine.base.places import Path

CHARTS = "it inflates a Helm chart"


class Reader(Protocol):
    """Follow the names in a kustomization. Each method returns the text that replaces the name."""

    def file(self, entry: str, where: Path) -> str: ...

    def resource(self, entry: str, where: Path) -> str:
        """Handle a file, or a folder with a kustomization."""
        ...

    def folder(self, entry: str, where: Path) -> str: ...

    def patch(self, entry: str, where: Path) -> str:
        """Handle a file, or the patch itself."""
        ...

    def plugin(self, entry: str, where: Path) -> str:
        """Handle a file or folder of objects that configure plugins, or such objects themselves."""
        ...

    def charts(self, value: Any, where: Path) -> list[str]:
        """Handle the charts to inflate; return the files that have what they become."""
        ...

    def refuse(self, words: str, where: Path, *, key: bool = False) -> None:
        """Record what Kustomize would refuse, or what is unknown here. ``key``: the key is wrong, not the value."""
        ...

    def skip(self, words: str, where: Path) -> None:
        """Record what Kustomize may accept and this linter does not support."""
        ...


Shape = Callable[[Any, Path, Reader], Any]
_LIKE_ASCII = str.maketrans({"\u017f": "s", "\u212a": "k"})


def fold(key: str) -> str:
    """Return the key folded as Go's encoding/json does: also the long s and the Kelvin sign."""
    return key.translate(_LIKE_ASCII).lower()


def data(value: Any, where: Path, reader: Reader) -> Any:
    """Return the value unchanged: it names nothing to read."""
    del where, reader
    return value


def mapping(shapes: Mapping[str, Shape]) -> Shape:
    known = {fold(name): (name, shape) for name, shape in shapes.items()}

    def checked(value: Any, where: Path, reader: Reader) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            reader.refuse(f"{_named(where)} must be a mapping", where)
            return None
        known_fields: dict[str, Any] = {}
        for key, inside in value.items():
            name, shape = known.get(fold(key), ("", data))
            if not name:
                reader.refuse(f"{key!r} is not a known field of {_named(where)}", (*where, key), key=True)
            elif name in known_fields:
                reader.refuse(f"{key!r} and {name!r} are one field to Kustomize", (*where, key), key=True)
            elif inside is not None:
                known_fields[name] = shape(inside, (*where, key), reader)
        return known_fields

    return checked


def each(shape: Shape) -> Shape:
    def checked(value: Any, where: Path, reader: Reader) -> Any:
        if not isinstance(value, list):
            reader.refuse(f"{_named(where)} must be a list", where)
            return None
        return [shape(entry, (*where, number), reader) for number, entry in enumerate(value)]

    return checked


def _text(follow: Callable[[Reader, str, Path], str]) -> Shape:
    def checked(value: Any, where: Path, reader: Reader) -> Any:
        if isinstance(value, str):
            return follow(reader, value, where)
        reader.refuse(f"{_named(where)} must be text", where)
        return None

    return checked


def _file_source(reader: Reader, entry: str, where: Path) -> str:
    """Return ``path`` or ``key=path`` with the path replaced; without a key, the file's own name is the key."""
    key, separator, path = entry.partition("=")
    if not separator:
        key, path = os.path.basename(entry), entry
    elif "=" in path or not key or not path:
        reader.refuse(f"{entry!r} is neither a path nor key=path", where)
        return entry
    read = reader.file(path, where)
    return read if not separator and os.path.basename(read) == key else f"{key}={read}"


def _none_of(words: str) -> Shape:
    def checked(value: Any, where: Path, reader: Reader) -> Any:
        if value:
            reader.skip(words, where)
        return value

    return checked


def _named(where: Path) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in where)
    return text.removeprefix(".") or "a kustomization"


def _all_data(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, data)


FILE = _text(lambda reader, entry, where: reader.file(entry, where))
_FILES = each(FILE)
_RESOURCES = each(_text(lambda reader, entry, where: reader.resource(entry, where)))
_PATCH_TEXTS = each(_text(lambda reader, entry, where: reader.patch(entry, where)))
_PLUGINS = each(_text(lambda reader, entry, where: reader.plugin(entry, where)))
_PATCH = mapping({"path": FILE, **_all_data("patch", "target", "options")})
_REPLACEMENT = mapping({"path": FILE, **_all_data("source", "targets", "sourceValue")})
_GENERATOR: dict[str, Shape] = {
    "files": each(_text(_file_source)),
    "envs": _FILES,
    "env": FILE,
    **_all_data("name", "namespace", "behavior", "literals", "options", "type"),
}
_HEAD = _all_data("apiVersion", "kind", "metadata")

KUSTOMIZATION = mapping(
    {
        **_HEAD,
        **_all_data("namePrefix", "nameSuffix", "namespace", "commonLabels", "labels", "commonAnnotations"),
        **_all_data("images", "imageTags", "replicas", "vars", "sortOptions", "generatorOptions", "buildMetadata"),
        "resources": _RESOURCES,
        "bases": _RESOURCES,
        "components": each(_text(lambda reader, entry, where: reader.folder(entry, where))),
        "crds": _FILES,
        "configurations": _FILES,
        "openapi": mapping({"path": FILE, "version": data}),
        "patches": each(_PATCH),
        "patchesJson6902": each(_PATCH),
        "patchesStrategicMerge": _PATCH_TEXTS,
        "replacements": each(_REPLACEMENT),
        "configMapGenerator": each(mapping(_GENERATOR)),
        "secretGenerator": each(mapping(_GENERATOR)),
        "generators": _PLUGINS,
        "transformers": _PLUGINS,
        "validators": _PLUGINS,
        "helmGlobals": _none_of(CHARTS),
        "helmCharts": lambda value, where, reader: reader.charts(value, where),
        "helmChartInflationGenerator": _none_of(CHARTS),
    }
)
PLUGIN_FOLDER = mapping({**_HEAD, "resources": _PLUGINS, "bases": _PLUGINS})
"""A kustomization whose objects configure plugins; patches are not allowed, because they could name anything."""

_DATA_PLUGINS = (
    "AnnotationsTransformer",
    "HashTransformer",
    "IAMPolicyGenerator",
    "ImageTagTransformer",
    "LabelTransformer",
    "LegacyOrderTransformer",
    "NamespaceTransformer",
    "PrefixSuffixTransformer",
    "PrefixTransformer",
    "ReplicaCountTransformer",
    "SortOrderTransformer",
    "SuffixTransformer",
)
PLUGINS: Mapping[str, Shape] = {
    **dict.fromkeys(_DATA_PLUGINS, data),
    "ConfigMapGenerator": mapping(_HEAD | _GENERATOR),
    "SecretGenerator": mapping(_HEAD | _GENERATOR),
    "PatchTransformer": mapping({**_HEAD, "path": FILE, **_all_data("patch", "target", "options")}),
    "PatchJson6902Transformer": mapping({**_HEAD, "path": FILE, **_all_data("jsonOp", "target")}),
    "PatchStrategicMergeTransformer": mapping({**_HEAD, "paths": _PATCH_TEXTS, "patches": data}),
    "ReplacementTransformer": mapping({**_HEAD, "replacements": each(_REPLACEMENT)}),
    "ValueAddTransformer": mapping({**_HEAD, "targetFilePath": FILE, **_all_data("value", "targets")}),
}
"""Kustomize's own plugins, by kind; their ``apiVersion`` is ``builtin``."""
