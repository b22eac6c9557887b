"""Findings at a template's placeholder: the value is unknown, so the rule counts as skipped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kubesched_lint.findings import Severity, Skip
from kubesched_lint.manifests.classify import may_be_open, unfilled, value_at
from kubesched_lint.manifests.document import Document

if TYPE_CHECKING:
    from kubesched_lint.linter.judged import Judged


def without_open_text(judged: Iterable[Judged]) -> tuple[tuple[Judged, ...], tuple[Skip, ...]]:
    """Return the findings that are not at a placeholder, and a skip for each of the others."""
    kept: list[Judged] = []
    skips: list[Skip] = []
    for one in judged:
        text = _left_open(one)
        if text is None:
            kept.append(one)
        else:
            place = one.finding.location
            reason = f"{place.path}:{place.span.line}: {text} is a placeholder, render the template first"
            skips.append(Skip(one.rule.slug, reason))
    return tuple(kept), tuple(dict.fromkeys(skips))


def _left_open(judged: Judged) -> str | None:
    """The placeholder at the finding's place, or None; a warning about the text alone holds for any value."""
    if judged.finding.severity is not Severity.ERROR and judged.rule.needs == ("text",):
        return None
    at = judged.hazard.at
    source = judged.hazard.source or (judged.workload and judged.workload.source)
    if at[:1] == ("metadata",):
        return None  # an object may have any name
    if isinstance(source, Document) and source.is_plain and not may_be_open(source.text):
        return None  # saves parsing the values again
    return unfilled(value_at(getattr(source, "value", None), at))
