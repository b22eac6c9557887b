"""The API server would refuse this object: the very field, in its own words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, Path, proof
from kubesched_lint.manifests.document import Document
from kubesched_lint.validation.causes import Cause
from kubesched_lint.validation.validate import Verdict, validate

_PLACEHOLDERS = ("${", "{{")
_GONE = 404
_UNDECODED = 400


def check(document: Document, facts: Facts) -> Iterator[Hazard]:
    meta = document.value.get("metadata")
    if isinstance(meta, dict) and meta.get("resourceVersion"):
        return  # a server stored it, so one accepted it
    verdict = validate(document.value, version=facts.premises.kubernetes_version)
    seen: set[Path] = set()
    for cause in verdict.causes:
        if cause.path not in seen and not _is_placeholder(document.value, cause.path):
            seen.add(cause.path)  # one place, one finding: what follows there says the same in other words
            yield _hazard(cause, verdict)


def _hazard(cause: Cause, verdict: Verdict) -> Hazard:
    unknown = cause.message.startswith("unknown field ")
    variant = "gone" if verdict.code == _GONE else "unreadable" if verdict.code == _UNDECODED else "default"
    if unknown:
        variant = "misspelt" if cause.suggestion else "unknown"
    text = str(cause) if cause.field and not unknown else cause.message
    return Hazard(
        at=cause.path,
        evidence=proof(f"{verdict.code}: {text}"),
        values={"field": cause.field, "words": text, "meant": cause.suggestion},
        variant=variant,
        key=unknown,
    )


def _is_placeholder(value: Any, path: Path) -> bool:
    """Text that something fills in before it is applied: ``${NAMESPACE}``."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
    return isinstance(value, str) and any(mark in value for mark in _PLACEHOLDERS)
