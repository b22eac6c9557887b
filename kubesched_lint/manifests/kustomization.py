"""What a kustomization lists: files that are patches, and files that are objects of their own."""

from __future__ import annotations

from typing import Any

_SUFFIXES = (".yaml", ".yml", ".json")


def listing(data: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """Paths of patches and of resources, relative to the kustomization; none where it cannot be read.

    Resources that are folders or URLs are left out.
    """
    value = _value(data)
    if not isinstance(value, dict):
        return frozenset(), frozenset()
    patches = {p for p in _list(value, "patchesStrategicMerge") if isinstance(p, str) and "\n" not in p}
    for field in ("patches", "patchesJson6902"):
        patches |= {p["path"] for p in _list(value, field) if isinstance(p, dict) and isinstance(p.get("path"), str)}
    resources = {r for r in _list(value, "resources") if isinstance(r, str) and r.endswith(_SUFFIXES)}
    return frozenset(patches), frozenset(resources)


def _value(data: bytes) -> Any:
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
