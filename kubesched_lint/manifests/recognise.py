"""What is YAML and yet no manifest: Helm sources, Kustomize patches, and kinds that are not ours."""

from __future__ import annotations

import re
from typing import Any

_TEMPLATED = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_TOP_LEVEL = re.compile(r"^(kind|apiVersion)[ \t]*:[ \t]+([\"']?)([\w./-]+)\2[ \t]*(?:#.*)?$", re.MULTILINE)
_BLOCK_KEY = re.compile(r"^[\w.\"'-]+[ \t]*:(?:[ \t]|$)", re.MULTILINE)
_POD_TEMPLATE = re.compile(r"^[ \t]+template[ \t]*:", re.MULTILINE)
_CONTAINERS = re.compile(r"^[ \t]+(?:- )?containers[ \t]*:", re.MULTILINE)

HELM = "Helm source: not YAML before it is rendered (helm template CHART | kubesched-lint lint -)"


def is_templated(text: str) -> bool:
    """Whether the text holds ``{{ … }}``; only asked of text that is no valid manifest."""
    return _TEMPLATED.search(text) is not None


def plain_kind(text: str) -> tuple[str, str] | None:
    """``(apiVersion, kind)`` of a block mapping when its top-level lines say so beyond doubt; else None.

    A key of a block mapping that starts in column 0 is a top-level key: nothing nested begins there, and inside a
    block scalar of the top level no line does.
    """
    found: dict[str, str] = {}
    for match in _TOP_LEVEL.finditer(text):
        if match[1] in found:
            return None
        found[match[1]] = match[3]
    if len(found) != 2 or (not _BLOCK_KEY.match(text.lstrip("\n")[:200].lstrip()) and not _starts_plain(text)):
        return None
    return found["apiVersion"], found["kind"]


def _starts_plain(text: str) -> bool:
    """Whether the first line that is not blank, comment or marker is a top-level key."""
    for line in text.split("\n", 64)[:64]:
        if line and not line.startswith(("#", "---", " ", "\t", "\r")):
            return _BLOCK_KEY.match(line) is not None
    return False


def wraps_pod_template(text: str) -> bool:
    """Whether an unread document seems to hold a pod template."""
    return _POD_TEMPLATE.search(text) is not None and _CONTAINERS.search(text) is not None


def listed_patches(data: bytes) -> tuple[str, ...]:
    """The files that a kustomization lists as patches; none where it cannot be read."""
    from kubesched_lint.manifests.building import BuildError, build

    try:
        value = build(data.decode("utf-8", "replace"))
    except BuildError:
        return ()
    if not isinstance(value, dict):
        return ()
    found = [p for p in _list(value, "patchesStrategicMerge") if isinstance(p, str) and "\n" not in p]
    for field in ("patches", "patchesJson6902"):
        found += [p["path"] for p in _list(value, field) if isinstance(p, dict) and isinstance(p.get("path"), str)]
    return tuple(found)


def _list(value: dict[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def patch_reason(value: object, patch_of: str, in_kustomization: bool) -> str | None:
    """Why a document is a Kustomize patch and no manifest; None when it is one."""
    if patch_of:
        return f"a Kustomize patch, listed in {patch_of}: lint the rendered output (kubectl kustomize DIR)"
    if isinstance(value, list):
        if value and all(isinstance(item, dict) and "op" in item and "path" in item for item in value):
            return "a JSON patch: lint the rendered output (kubectl kustomize DIR)"
        return None
    if isinstance(value, dict):
        if _has_directive(value):
            return "a strategic merge patch ($patch): lint the rendered output (kubectl kustomize DIR)"
        if in_kustomization and _is_partial(value):
            return (
                "a partial object beside a kustomization, so a patch: lint the rendered output (kubectl kustomize DIR)"
            )
    return None


def _has_directive(value: object) -> bool:
    waiting = [value]
    for _ in range(20_000):
        if not waiting:
            return False
        item = waiting.pop()
        if isinstance(item, dict):
            if "$patch" in item:
                return True
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False


def _is_partial(value: dict[str, Any]) -> bool:
    """A Deployment, DaemonSet or StatefulSet that lacks what every one of them must have."""
    if value.get("kind") not in ("Deployment", "DaemonSet", "StatefulSet"):
        return False
    spec = value.get("spec")
    if not isinstance(spec, dict):
        return True
    template = spec.get("template")
    pod = template.get("spec") if isinstance(template, dict) else None
    containers = pod.get("containers") if isinstance(pod, dict) else None
    return "selector" not in spec or not containers
