"""Recorded lifecycles as a kind of recording that ``verify`` accounts for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubesched_lint.commands.verify.agreement import Agreement, Answer
from kubesched_lint.lifecycle.conformance import Compared, compare


def verify_lifecycle(
    case: Mapping[str, Any], account: Agreement, version: str | None = None
) -> Iterator[dict[str, object]]:
    """Predicts the outcome sets of every phase of a case, and adds to ``account`` how the recorded runs agree."""
    for prediction, compared in compare(case, kubernetes_version=version):
        yield prediction
        for one in compared:
            account.pods += len(one.seen)
            account.count("searched to the end", holds=not one.is_frame)
            account.count("one value", holds=one.is_single)
            for answer in _answers(one):
                account.note(answer, str(case["id"]), f"{one.workload} after {one.name} (phase {one.phase})")


def _answers(one: Compared) -> Iterator[Answer]:
    misses = one.misses
    for seen in one.seen:
        yield Answer("outcome inside the expected range", seen not in misses, seen, one.told)
    if one.seen and one.agree:
        yield Answer(
            "range is one value, or has a replayed trace at both ends",
            one.is_single or one.witnessed,
            one.seen[0],
            one.told,
            "the search was cut short" if one.is_frame else "",
        )
