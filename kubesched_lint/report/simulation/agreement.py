"""The report of ``verify``: a table of agreement per kind of recording, and the first disagreements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.commands.verify.agreement import Agreement, Disagreement, first
from kubesched_lint.commands.verify.decisions import SOURCE_ONLY
from kubesched_lint.engine.base.text import many
from kubesched_lint.printing import json_text, visible


def as_text(accounts: Sequence[Agreement], show: int) -> str:
    """Return the report for a terminal or a log, without colour."""
    lines = [line for account in accounts for line in _account(account, show)]
    if any(account.pods for account in accounts):
        lines += ["", "Checked against the v1.36 sources only, because no shared recording has them:"]
        lines += [f"  {item}" for item in SOURCE_ONLY]
    return "\n".join(map(visible, lines))


def _account(account: Agreement, show: int) -> Iterator[str]:
    yield (
        f"{account.kind}: {many(account.cases, 'case')}"
        + (f", {many(account.pods, 'pod')}" if account.pods else "")
        + (f"; {many(account.differing, 'case')} with a difference" if account.differing else "")
    )
    if not account.questions:
        yield "  nothing was compared: the records have no answers"
    width = max(map(len, (*account.questions, *account.figures)), default=0)
    for question in sorted(account.questions, key=_order):
        score = account.questions[question]
        line = f"  {question:<{width}}  {score.agreed:>7,} of {score.asked:,}"
        if score.explained:
            line += f"  ({score.explained:,} more differ {account.excuse})"
        yield line
    for figure, score in account.figures.items():
        yield f"  {figure:<{width}}  {score.agreed:>7,} of {score.asked:,}  (a figure, not a question)"
    for disagreement in first(account.disagreements, show):
        yield from _disagreement(disagreement)


def _disagreement(item: Disagreement) -> Iterator[str]:
    yield f"  {' '.join(filter(None, (item.case, item.pod)))}: {item.question}"
    yield f"    recorded   {item.recorded}"
    yield f"    predicted  {item.predicted}"
    if item.because:
        yield f"    because    {item.because}"


def _order(question: str) -> tuple[int, str]:
    """Return a sort key: questions about the whole decision first, then those about one plugin."""
    return (1 if question.startswith("filter ") else 2 if question.startswith("score ") else 0), question


def as_json(accounts: Sequence[Agreement], show: int) -> str:
    """Return ``{"kinds": [{"kind", "cases", "pods", "differing", "questions", "figures", "disagreements"}], …}``."""
    return json_text(
        {
            "kinds": [
                {
                    "kind": account.kind,
                    "cases": account.cases,
                    "pods": account.pods,
                    "differing": account.differing,
                    "questions": {
                        question: {"agreed": s.agreed, "asked": s.asked, "explained": s.explained}
                        for question, s in account.questions.items()
                    },
                    "figures": {figure: {"counted": s.agreed, "of": s.asked} for figure, s in account.figures.items()},
                    "disagreements": [
                        {
                            "case": d.case,
                            "pod": d.pod,
                            "question": d.question,
                            "recorded": d.recorded,
                            "predicted": d.predicted,
                            "because": d.because,
                            "explained": d.explained,
                        }
                        for d in first(account.disagreements, show)
                    ],
                }
                for account in accounts
            ],
            "checkedAgainstSourceOnly": list(SOURCE_ONLY),
        },
        2,
    )
