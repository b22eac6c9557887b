"""What hangs on text that a template leaves open cannot be judged: it is no finding, and counts as skipped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kubesched_lint.findings import Severity, Skip
from kubesched_lint.manifests.classify import may_be_open, unfilled, value_at
from kubesched_lint.manifests.document import Document

if TYPE_CHECKING:
    from kubesched_lint.linter.judged import Judged


def without_open_text(judged: Iterable[Judged]) -> tuple[tuple[Judged, ...], tuple[Skip, ...]]:
    """The findings that stand, and the rules that could not be asked because of a placeholder."""
    kept: list[Judged] = []
    skips: list[Skip] = []
    for one in judged:
        text = _left_open(one)
        if text is None:
            kept.append(one)
        else:
            place = one.finding.location
            reason = f"{place.path}:{place.span.line}: {text} is to be filled in, render it first"
            skips.append(Skip(one.rule.slug, reason))
    return tuple(kept), tuple(dict.fromkeys(skips))


def _left_open(judged: Judged) -> str | None:
    """The placeholder at the place to blame. What warns of the text alone is right whatever fills it in."""
    if judged.finding.severity is not Severity.ERROR and judged.rule.needs == ("text",):
        return None
    at = judged.hazard.at
    source = judged.hazard.source or (judged.workload and judged.workload.source)
    if at[:1] == ("metadata",):
        return None  # an object may have any name
    if isinstance(source, Document) and source.is_plain and not may_be_open(source.text):
        return None  # its values need not be read again
    return unfilled(value_at(getattr(source, "value", None), at))
