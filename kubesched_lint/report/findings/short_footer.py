"""The three lines below the findings of a terminal: counts, what was checked, and the one thing to know beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.findings import Report
from kubesched_lint.report.findings.footer import (
    cut_short,
    exceptions,
    open_findings,
    problems,
    skipped_rules,
    softened,
    verdict,
)
from kubesched_lint.report.terminal.cells import width
from kubesched_lint.report.wording.words import nodes_in_short

_WEAKER = ("makes the gate weaker", "the change edits files")
"""What the ``config`` line says of what lets findings pass; the first line counts waivers and known findings."""

_MUTATED = " than its manifest"
"""What notes say of pods that webhooks change: findings may rest on it."""

_TO_ACT_ON = (" not shown", " can make no node", "no target reads ", ": judged as Kubernetes ")
"""What notes say of findings that are kept back, of pools that contradict themselves, and of what is left unjudged or
judged otherwise; other notes are background."""


def short_footer(report: Report, room: int = 0) -> Iterator[str]:
    """Yield at most three lines, if possible of at most ``room`` cells (0: no limit); ``footer`` has everything."""
    yield _counts(report)
    lines = [_checked(report, report.summary.environments), _checked(report, ())]
    yield next((line for line in lines if not room or width(line) <= room), lines[-1])
    asides = list(_asides(report))
    if asides:
        yield asides[0] + (f" (-v: {many(len(asides) - 1, 'more remark')})" if len(asides) > 1 else "")


def _counts(report: Report) -> str:
    files = {finding.location.path for finding in open_findings(report)}
    where = f" in {many(len(files), 'file')}" if files else ""
    fixes = "; --diff proposes fixes" if files and report.summary.proposes_fixes else ""
    return f"{verdict(report)}{where}{problems(report)}{fixes}"


def _checked(report: Report, environments: Sequence[str]) -> str:
    summary = report.summary
    where = f" ({first_few(environments)})" if environments else ""
    nodes = _nodes(report)
    if summary.targets:
        nodes = f"in {many(len(summary.targets), 'target')} ({first_few([target.name for target in summary.targets])})"
    return f"checked {many(summary.workloads, 'workload')}{where} {nodes}"


def _nodes(report: Report) -> str:
    """Return ``on 9 nodes (cluster/nodes.json, 8 days old)``."""
    if not report.summary.cluster:
        return "without a cluster (--cluster)"
    return f"on {nodes_in_short(report.summary.cluster)}"


def _asides(report: Report) -> Iterator[str]:
    """Yield what a reader may have to act on, the most important first."""
    summary = report.summary
    unread = [skip.reason for skip in report.skipped if not skip.rule]
    if unread:
        several = f"{many(len(unread), 'document')} (-v says why)"
        yield f"not read: {unread[0] if len(unread) == 1 else several}"
    if left := cut_short(report):
        yield f"not finished: {left}"
    is_found = any(True for _ in open_findings(report))
    yield from (note for note in summary.notes if is_found and _MUTATED in note)
    yield from (note for note in summary.notes if any(words in note for words in _TO_ACT_ON))
    if any(words in summary.configuration for words in _WEAKER):
        yield f"config: {summary.configuration}"
    if summary.advice:
        yield f"note: {summary.advice}"
    if summary.questions:
        yield f"decide: {summary.questions[0]}"
    elif turned := softened(report):
        yield f"decide: {turned}"
    yield from (f"ends: {line}" for line in exceptions(summary))
    if skipped := skipped_rules(report):
        yield skipped
