"""One finding per cause: drop a finding if a rule that names the cause better has one on the same object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.findings import Severity

if TYPE_CHECKING:
    from kubesched_lint.findings import ObjectRef
    from kubesched_lint.linter.judged import Judged


def without_yielding(judged: Sequence[Judged]) -> Iterator[Judged]:
    """Yield the findings that no better one replaces.

    An error never yields to a lower severity. A trial does not yield to findings that explain fewer waiting pods.
    """
    spoken: dict[tuple[str, ObjectRef], list[Judged]] = {}
    for one in judged:
        spoken.setdefault((one.rule.slug, one.finding.object), []).append(one)
    for one in judged:
        better = [said for slug in one.rule.yields_to for said in spoken.get((slug, one.finding.object), ())]
        enough = one.finding.severity if one.finding.severity is Severity.ERROR else Severity.NOTE
        if all(said.finding.severity < enough for said in better) or _saw_more(one, better):
            yield one


def _saw_more(one: Judged, better: Sequence[Judged]) -> bool:
    """Whether a trial left more pods waiting than all better findings explain; one without a count explains all."""
    if one.finding.evidence.kind != "witness":
        return False  # a second proof would only name another cause for the same pods
    seen = one.hazard.values.get("pending")
    explained = [said.hazard.values.get("pending") for said in better]
    counts = [count for count in explained if isinstance(count, int)]
    return isinstance(seen, int) and len(counts) == len(explained) and sum(counts) < seen
