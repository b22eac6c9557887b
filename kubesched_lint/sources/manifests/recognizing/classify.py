"""Recognize YAML that is not a manifest to check: Helm sources, Kustomize patches, kinds that are only counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import islice
from typing import Any

from kubesched_lint.engine.base.placeholders import placeholder
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.sources.manifests.yaml.fast_reader import TAILS, NotPlainError

HELM = "Helm source: not YAML before it is rendered (helm template CHART | kubesched-lint lint -)"
YTT = "ytt template: render it first (ytt -f FOLDER | kubesched-lint lint -)"
TERRAFORM = "Terraform template: not YAML before templatefile fills it in"
FILLED_IN = "a template: not YAML before somebody fills in"
_RENDERED = "lint the rendered output (kubectl kustomize DIR)"

_ANNOTATIONS = ("metadata", "annotations")

# The first four are compiled when a file needs one; most files need none.
# A template at the start of a value or line is never valid YAML on purpose.
_BARE_TEMPLATE = r"(?m)^[ ]*(?:- +)*(?:[\w./-]+:[ ]+)?(?:\{\{|\{%)"
_OF_HELM = r"\{\{-?\s*(?:\.|\$|include\b|template\b|printf\b|default\b)"
# An action where YAML has a key, or a name that is filled in. Text in a manifest is indented further.
_SOURCE = rb"""(?m)^(?:\{\{|\{%|  name:[ ]+["']?\{\{)"""
# ytt writes its code in comments: ``#@ load(…)`` on a line, ``name: #@ data.values.name`` behind a key.
_OF_YTT = r"(?m)^[ ]*#@(?: \S|(?:data|schema|overlay|library|yaml)/)|[:-] +#@ \S"
# A directive of Terraform where YAML has an item, a key or a value.
_OF_TERRAFORM = r"(?m)^[ ]*(?:- +)*(?:[\w./-]+:[ ]+)?%\{~?[ ]*(?:if|for|else|endif|endfor)\b"
# A word that a person replaces: ``REPLACEME-canary``, ``PV_NAME``, ``__NS__``, ``PORT``, ``FILLED BY THE OPERATOR``. No
# name may have capitals.
_WORD = (
    r"\b_*(?:[A-Z][A-Z0-9]*_[A-Z0-9_]+|[A-Z0-9]*(?:REPLACE|CHANGE|NAME|YOUR|PORT|TODO|FIXME)[A-Z0-9]*)(?![a-z0-9])"
    r"|\b[A-Z]{2,}(?: [A-Z]{2,})+\b"
)
# Booleans in YAML 1.1, which kubectl reads. In YAML 1.2, which Kustomize reads, they are text and written with quotes.
_OLD_TRUTH = r"(?i)(?:y|yes|on|n|no|off)$"
_HEADER = re.compile(r"(?:(?:---)?[ \t]*(?:#[^\n]*)?\n)*")
_USUAL = re.compile(r"apiVersion: ((?:[a-z][a-z.-]*/)?v[1-9]\w*)\nkind: ([A-Z][A-Za-z]*)", re.ASCII)
_REMEMBERED = 256
_KEY_LINE = r"([ ]*)(-[ ]+)?([A-Za-z]\w*):(?:[ ]+([|>]))?"
CLUSTER_WIDE = frozenset(
    {
        "CSIDriver",
        "CSINode",
        "Namespace",
        "NodePool",
        "PersistentVolume",
        "PriorityClass",
        "Provisioner",
        "RuntimeClass",
        "StorageClass",
        "VolumeAttachment",
    }
)
"""Kinds of objects that we read and that are in no namespace."""


def is_templated(text: str) -> bool:
    """Return whether the text holds ``{{ … }}``; call it only for text that is not a valid manifest."""
    return any(0 <= text.find(begin) < text.rfind(end) for begin, end in (("{{", "}}"), ("{%", "%}")))


def braces(text: str) -> str | None:
    """Return the first template action of Helm or Jinja in a line; None if there is none."""
    for begin, end in (("{{", "}}"), ("{%", "%}")):
        start = text.find(begin)
        stop = text.find(end, start + 2)
        if 0 <= start < stop:
            return text[start : stop + 2]
    return None


def placeholder_of(value: Any, path: Path) -> str | None:
    """Return the placeholder in the text at ``path``; None if there is none, or the value is not text."""
    text = value_at(value, path)
    return placeholder(text) if isinstance(text, str) else None


def word_to_replace(value: Any, path: Path, file: str) -> str | None:
    """Return the word in capitals that a person replaces in the text at ``path``; None if there is none.

    In a ``file`` called template it may also be written ``service_name``.
    """
    text = value_at(value, path)
    pattern = rf"{_WORD}|[a-z]+_[a-z_]+" if "template" in file.rpartition("/")[2].lower() else _WORD
    match = re.search(pattern, text) if isinstance(text, str) else None
    return match[0] if match else None


def may_be_open(text: str) -> bool:
    """Return whether a document in plain YAML can hold a placeholder at all."""
    return "$" in text or "<" in text or may_be_template(text)


_EXPANDED = frozenset(("args", "command", "env", "image", "annotations"))
"""Fields in which Kubernetes itself expands ``$(NAME)``, or which do not affect scheduling."""


def _is_expanded(key: object, child: Any) -> bool:
    """Return whether it is such a field; a label may be called ``env``, too."""
    return key in _EXPANDED and (key == "image" or not isinstance(child, str))


def unfilled(value: Any) -> str | None:
    """Return the first placeholder in any value that affects scheduling; None if there is none."""
    if isinstance(value, str):
        return placeholder(value) if "$" in value or "{" in value or "<" in value else None
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        inner = (item for key, child in value.items() if not _is_expanded(key, child) for item in (key, child))
    elif isinstance(value, list):
        inner = value
    return next((placeholder_text for item in inner if (placeholder_text := unfilled(item)) is not None), None)


def rendered_text(path: Path, value: Any, written: str) -> str | None:
    """Return the text that Kustomize 5.5 (kubectl 1.32) writes for a value that YAML 1.1 does not read as text, else
    None. Kustomize writes the object's own annotations as text, whatever their type; it keeps those of a template.
    """
    if isinstance(value, (bool, int, float)) and (path[:2] == _ANNOTATIONS or re.match(_OLD_TRUTH, written)):
        return written
    return None


def breaks_by_template(text: str, line: int) -> bool:
    """Return whether a template is what breaks the YAML; ``line`` of the text, from 1, is where the parser fails."""
    if not is_templated(text):
        return False
    if re.search(_BARE_TEMPLATE, text):
        return True
    lines = text.split("\n")
    return "{{" in "".join(lines[max(0, line - 2) : line])


def may_be_template(text: str) -> bool:
    """Return whether the text holds ``{{`` or ``{%``."""
    return "{{" in text or "{%" in text


def is_template_source(start: bytes) -> bool:
    """Return whether a file that begins so is a template of Helm, Go or Jinja, which lies in a folder of templates."""
    return re.search(_SOURCE, start) is not None


def has_actions(data: bytes) -> bool:
    """Return whether a file in a folder of templates has anything to fill in."""
    return b"{{" in data or b"{%" in data


def is_of_ytt(text: str) -> bool:
    """Return whether a file is a template of ytt, which is valid YAML without its values."""
    return "@" in text and "#@" in text and re.search(_OF_YTT, text) is not None


def is_of_terraform(text: str) -> bool:
    """Return whether text that is no valid YAML is a template of Terraform."""
    return "%{" in text and re.search(_OF_TERRAFORM, text) is not None


def line_to_fill_in(text: str, number: int) -> str:
    """Return a line that is nothing but ``<PLACEHOLDER>``, where text is no valid YAML or just before; else empty."""
    lines = (line.strip() for line in islice(text.split("\n"), max(number - 2, 0), number))
    return next((line for line in lines if re.fullmatch(r"<[A-Z][A-Z0-9_ -]*>", line)), "")


def is_named_by_template(value: Any) -> bool:
    """Return whether the object's name or namespace is a Helm template, although the text is valid YAML."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(meta, dict):
        return False
    names = (meta.get("name"), meta.get("namespace"))
    return any(isinstance(name, str) and re.search(_OF_HELM, name) is not None for name in names)


def kind_to_count(text: str, is_read: Callable[[object, object], bool]) -> tuple[str, str, int] | None:
    """Return ``(apiVersion, kind, offset)`` of a block mapping of a kind that is not decoded; None otherwise, or if
    unsure. A key of a block mapping in column 0 is always a top-level key. One of the two keys must be on the first
    line, which proves that the root is a block mapping. Neither key may occur twice.
    """
    start = 4 if text.startswith("---\n") else 0
    usual = _two_lines(text[start : text.find("\n", text.find("\n", start) + 1)])
    if usual is not None and (is_read(*usual) or usual[1].endswith("List")):
        return None
    fields = []
    for key in ("apiVersion:", "kind:"):
        at = 0 if text.startswith(key) else text.find("\n" + key) + 1
        if at == 0 and not text.startswith(key):
            return None
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        after = text[at + len(key) : end]
        try:
            value = TAILS[after]
        except NotPlainError:
            return None
        if not isinstance(value, str) or after[0] != " ":
            return None
        fields.append((value, at, end))
    (version, version_at, version_end), (kind, kind_at, kind_end) = fields
    if is_read(version, kind) or kind.endswith("List"):
        return None
    first = min(version_at, kind_at)
    if first and _HEADER.fullmatch(text, 0, first) is None:
        return None
    if text.find("\nkind:", kind_end) >= 0 or text.find("\napiVersion:", version_end) >= 0:
        return None
    return version, kind, first


@lru_cache(maxsize=_REMEMBERED)
def _two_lines(text: str) -> tuple[str, str] | None:
    """Return ``(apiVersion, kind)`` if the two lines hold exactly these keys in this order; else None."""
    match = _USUAL.fullmatch(text)
    return (match[1], match[2]) if match else None


def wraps_pod_template(text: str) -> bool:
    """Return whether the text of a document seems to hold a pod template:

    ``template: {spec: {containers: …}}`` in its spec.
    """
    if "containers:" not in text or "template:" not in text:
        return False
    path: list[tuple[int, str]] = []
    key_at_start = re.compile(_KEY_LINE).match
    literal = -1  # the column of the key whose block scalar contains this line; -1 outside a block scalar
    for line in text.split("\n"):
        match = key_at_start(line)
        if match is None:
            continue
        indent = len(match[1])
        if 0 <= literal < indent:
            continue
        column = indent + len(match[2] or "")
        while path and path[-1][0] >= column:
            path.pop()
        path.append((column, match[3]))
        literal = column if match[4] else -1
        if [key for _, key in path[-3:]] == ["template", "spec", "containers"] and path[0][1] == "spec":
            return True
    return False


def holds_pod_template(value: Any, depth: int = 6) -> bool:
    """Like ``wraps_pod_template``, for a value that is already parsed."""
    if isinstance(value, list):
        return depth > 0 and any(holds_pod_template(item, depth - 1) for item in value)
    if not isinstance(value, dict) or depth == 0:
        return False
    template = value.get("template")
    spec = template.get("spec") if isinstance(template, dict) else None
    if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
        return True
    return any(holds_pod_template(child, depth - 1) for child in value.values())


_PLACING = ("tolerations", "nodeSelector", "affinity", "topologySpreadConstraints")
"""Fields by which operators place pods that they make of fields instead of a template; so are requests and numbers."""
_NUMBERS = ("replicas", "instances", "numberOfInstances", "nodeCount")


@lru_cache(maxsize=1)
def _amounts() -> re.Pattern[str]:
    numbers = "|".join(_NUMBERS)
    return re.compile(
        r"\bresources?[\"']?:\s*\{?\s*(?:[\"']?(?:requests|limits)[\"']?:\s*\{?\s*)?[\"']?(?:cpu|memory)\b"
        rf"|(?:^|[{{,\s\"'])(?:{numbers})[\"']?: *\d+ *(?:$|[}},#])",
        re.MULTILINE,
    )


def is_custom(api_version: str) -> bool:
    """Return whether a kind of this apiVersion is one of those that operators add to Kubernetes."""
    group = api_version.rpartition("/")[0]
    return "." in group and (not group.endswith(".k8s.io") or group.endswith(".x-k8s.io"))


def places_pods(text: str) -> bool:
    """Return whether the text of a custom resource seems to place pods, so that its controller may make some."""
    return any(f"{name}:" in text for name in _PLACING) or _amounts().search(text) is not None


def has_placing_field(value: Any, depth: int = 8) -> bool:
    """Like ``places_pods``, for a value that is already parsed."""
    if isinstance(value, list):
        return depth > 0 and any(has_placing_field(item, depth - 1) for item in value)
    if not isinstance(value, dict) or depth == 0:
        return False
    is_placing = any(name in value for name in _PLACING) or any(type(value.get(name)) is int for name in _NUMBERS)
    amounts = (_merged(value.get(name)) for name in ("resource", "resources"))
    is_placing = is_placing or any(not {"cpu", "memory"}.isdisjoint(held) for held in amounts)
    return is_placing or any(has_placing_field(child, depth - 1) for child in value.values())


def _merged(amounts: Any) -> set[str]:
    """Return the names of resources: those that are written, requested or limited."""
    held = amounts if isinstance(amounts, dict) else {}
    inner = (held.get(name) for name in ("requests", "limits"))
    return {*held, *(key for named_amounts in inner if isinstance(named_amounts, dict) for key in named_amounts)}


def patch_reason(value: object, text: str, in_kustomization: bool) -> str | None:
    """Return why the document is a Kustomize patch; None if it is a manifest."""
    if isinstance(value, list):
        if value and all(isinstance(item, dict) and "op" in item and "path" in item for item in value):
            return f"a JSON patch: {_RENDERED}"
        return None
    if isinstance(value, dict) and "patch" in value and "metadata" not in value and "patch:" in text:
        return "an entry that says how to patch an object, not the object"
    if "$" in text and "$patch" in text and _has_directive(value):
        return f"a strategic merge patch ($patch): {_RENDERED}"
    if in_kustomization and _is_partial(value):
        return f"a partial object beside a kustomization, so a patch: {_RENDERED}"
    if "template:" in text and "image:" not in text and "selector:" not in text and _is_partial(value):
        return f"a partial object without selector and images, so a patch: {_RENDERED}"
    return None


def is_called_patch(path: str) -> bool:
    """Return whether the file name says patch:

    ``patches/x.yaml``, ``memory-patch.yaml``, but not ``dispatcher.yaml``.
    """
    low = path.lower()
    return "patch" in low and re.search(r"(?:^|[^a-z])patch", low) is not None


def listed_patch(kustomization: str) -> str:
    return f"a Kustomize patch, listed in {kustomization}: {_RENDERED}"


def _has_directive(value: object) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if "$patch" in item:
                return True
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False


def _is_partial(value: object) -> bool:
    """Return whether a workload, Pod, Service or claim lacks a field that each of its kind must have."""
    if not isinstance(value, dict):
        return False
    kind, spec = value.get("kind"), value.get("spec")
    if kind == "PersistentVolumeClaim":
        return isinstance(spec, dict) and "accessModes" not in spec
    if kind == "Service" and "/" not in str(value.get("apiVersion")):  # Knative has a kind of this name
        return isinstance(spec, dict) and spec.keys().isdisjoint(("ports", "clusterIP", "externalName"))
    if kind not in ("Deployment", "DaemonSet", "StatefulSet", "Pod"):
        return False
    if not isinstance(spec, dict):
        return True
    template = spec.get("template")
    pod = spec if kind == "Pod" else template.get("spec") if isinstance(template, dict) else None
    containers = pod.get("containers") if isinstance(pod, dict) else None
    if kind == "Pod":
        return not containers or any(isinstance(c, dict) and "image" not in c for c in containers)
    return "selector" not in spec or not containers
