"""Recognize kustomizations; list their patches and resources; tell entries that are network addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubesched_lint.sources.manifests.yaml.fast_reader import NotPlainError, read_plain
from kubesched_lint.sources.manifests.yaml.split import parts

_SUFFIXES = (".yaml", ".yml", ".json")
_ADDRESS = re.compile(
    r"[:?\\\x00-\x1f\x7f]|^[^/]*@|^(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org)(?:/|$)|amazonaws\.com/|_git/",
    re.IGNORECASE,
)
"""Entries that some version of Kustomize reads as an address, even if a file of that name exists."""


def is_kustomization(value: Any) -> bool:
    """Return whether Kustomize accepts the value as a kustomization; False for other objects and empty files."""
    if not isinstance(value, dict) or not value:
        return False
    version, kind = value.get("apiVersion") or "", value.get("kind") or "Kustomization"
    if not isinstance(version, str) or kind not in ("Kustomization", "Component"):
        return False
    # Flux uses the same kind name for an object of its own.
    return not version or version.startswith("kustomize.config.k8s.io/")


def is_address(entry: str) -> bool:
    """Return whether Kustomize might fetch this entry from the network, whatever the folder holds."""
    return _ADDRESS.search(entry) is not None


def is_like_address(entry: str) -> bool:
    """Return whether the entry looks like an address; call it only for entries that are no existing file or folder."""
    host, slash, _ = entry.partition("/")
    return is_address(entry) or (bool(slash) and "." in host.strip(".") and not entry.endswith(_SUFFIXES))


def text_to_read(data: bytes) -> str:
    return data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


def documents_of(text: str) -> list[dict[str, Any]] | None:
    """Return the objects of a text; None if one of its documents is not an object."""
    try:
        values = [value for part in parts(text) if (value := _value(part.text)) is not None]
    except NotPlainError:
        return None
    return values if values and all(isinstance(value, dict) for value in values) else None


def listing(data: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """Return the paths of patches and of resources, relative to the kustomization; empty if it cannot be read.

    Resources may be folders, and addresses, which are no paths.
    """
    value = value_of(data)
    if not isinstance(value, dict):
        return frozenset(), frozenset()
    # Kustomize 2 and earlier listed the files themselves under ``patches``.
    plain = (*_list(value, "patchesStrategicMerge"), *_list(value, "patches"), *_list(value, "patchesJson6902"))
    patches = {p for p in plain if isinstance(p, str) and "\n" not in p}
    for field in ("patches", "patchesJson6902"):
        patches |= {p["path"] for p in _list(value, field) if isinstance(p, dict) and isinstance(p.get("path"), str)}
    joined = (*_list(value, "resources"), *_list(value, "bases"), *_list(value, "components"))
    return frozenset(patches), frozenset(entry for entry in joined if isinstance(entry, str))


def value_of(data: bytes) -> Any:
    """Return the first document of a kustomization; None if it cannot be read."""
    return value_in(text_to_read(data))


def is_empty(data: bytes) -> bool:
    """Return whether a kustomization holds comments at most, and no value."""
    lines = (line.strip() for line in text_to_read(data).split("\n"))
    return all(not line or line.startswith("#") or line in ("---", "null", "~") for line in lines)


def value_in(text: str) -> Any:
    """Return the value of a document; None if it cannot be read."""
    try:
        return _value(text)
    except NotPlainError:
        return None


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with others above them, as Helm merges them: mappings at any depth."""
    values = dict(below)
    for key, value in above.items():
        old = values.get(key)
        values[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return values


def _value(text: str) -> Any:
    """Raises NotPlainError for what no reader reads."""
    try:
        return read_plain(text)
    except NotPlainError as not_plain:
        from kubesched_lint.sources.manifests.yaml.full_reader import BuildError, build

        try:
            return build(text)
        except BuildError:
            raise not_plain from None


def _list(value: dict[str, Any], key: str) -> list[Any]:
    entries = value.get(key)
    return entries if isinstance(entries, list) else []
