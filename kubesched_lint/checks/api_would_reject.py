"""The API server would refuse this object: the very field, in its own words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, Path, proof
from kubesched_lint.manifests.document import Document
from kubesched_lint.validation.causes import Cause, field_of
from kubesched_lint.validation.validate import Verdict, validate

_PLACEHOLDER = re.compile(r"\$[{(A-Za-z_]|\{\{|\(\$|<[^<>]+>")
# Truth in YAML 1.1, by which kubectl reads; text in 1.2, by which Kustomize reads, and writes it quoted.
_OLD_TRUTH = re.compile(r"(?:y|yes|on|n|no|off)$", re.IGNORECASE)
_MISMATCH = "`selector` does not match template `labels`"
_GONE = 404
_UNDECODED = 400


def check(document: Document, facts: Facts) -> Iterator[Hazard]:
    meta = document.value.get("metadata")
    if isinstance(meta, dict) and meta.get("resourceVersion"):
        return  # a server stored it, so one accepted it
    verdict = validate(document.value, version=facts.premises.kubernetes_version)
    seen: set[Path] = set()
    for cause in verdict.causes:
        if document.unrendered and _is_rendered_away(document, cause, verdict.code):
            continue
        # One place, one finding: what follows there says the same in other words.
        if cause.path in seen or (cause.message.endswith(_MISMATCH) and ("spec", "selector") in seen):
            continue
        if not _is_placeholder(document.value, cause.path):
            seen.add(cause.path)
            yield _hazard(cause, verdict)


def _is_rendered_away(document: Document, cause: Cause, code: int) -> bool:
    """Whether a kustomization may mend it: it adds labels, selectors and images, and quotes what it writes anew."""
    if code != _UNDECODED:
        return cause.message.startswith("Required value") or cause.message.endswith(_MISMATCH)
    if "cannot unmarshal number" not in cause.message and "cannot unmarshal bool" not in cause.message:
        return False
    if cause.path[:2] == ("metadata", "annotations"):
        return True  # Kustomize 5.5 writes every annotation of the object itself as a string; a template's it keeps
    span = document.span(cause.path)
    return _OLD_TRUTH.match(document.line_text(span.line)[span.column - 1 : span.end_column - 1]) is not None


def _hazard(cause: Cause, verdict: Verdict) -> Hazard:
    unknown = cause.message.startswith("unknown field ")
    variant, text = "default", str(cause)
    if verdict.code == _GONE:
        variant, text = "gone", cause.message
    elif unknown:
        variant, text = "misspelt" if cause.suggestion else "unknown", cause.message
    elif verdict.code == _UNDECODED:
        # A quantity's error names no field at all.
        variant, text = "unreadable", cause.message if cause.field else f"{field_of(cause.path)}: {cause.message}"
    return Hazard(
        at=cause.path,
        evidence=proof(f"{verdict.code}: {text}"),
        values={"field": cause.field, "words": text, "meant": cause.suggestion},
        variant=variant,
        key=unknown,
    )


def _is_placeholder(value: Any, path: Path) -> bool:
    """Text that something or somebody fills in before it is applied: ``${NAMESPACE}``, ``$(name)``, ``<your-node>``."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
    return isinstance(value, str) and _PLACEHOLDER.search(value) is not None
