"""The lines below the findings: what was checked, what was skipped, and the counts that all reports share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from kubesched_lint.engine.base.limits import LONGEST_LIST
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import SHOWN, first_few, joined, many, plural
from kubesched_lint.findings import Finding, Report, Severity, Summary, TargetSummary
from kubesched_lint.linter.causes import members, one_per_cause
from kubesched_lint.report.causes import tellers_of
from kubesched_lint.report.premises import standing

_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
_NAMES = r" \(in [^()]+\)$"
"""The names that ``commands.lint.merging`` puts at the end of what only some targets have."""
FAIL_ON: dict[str, Severity | None] = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "note": Severity.NOTE,
    "never": None,
}
"""The values of ``--fail-on``; with None, no finding fails the run."""


def open_findings(report: Report) -> Iterator[Finding]:
    """Findings that count: neither waived nor known from a baseline."""
    return (finding for finding in report.findings if finding.suppressed is None)


def standing_premises(report: Report) -> Iterator[tuple[str, str]]:
    """Yield ``assumes`` and each premise of all that is judged from files, with the number of findings it holds for."""
    found = list(open_findings(report))
    for premise, count in standing(found).items():
        yield "assumes", f"{premise} ({count:,} of {many(len(found), 'finding')})"


def in_shadow(report: Report, fail_on: Severity | None) -> Report:
    """Return the report of a run that only tries the gate, with what would have failed it."""
    failing = [f.fingerprint for f in open_findings(report) if fail_on is not None and f.severity >= fail_on]
    return replace(report, summary=replace(report.summary, shadow=True, would_block=tuple(failing)))


def objects_with_errors(report: Report) -> frozenset[ObjectRef]:
    errors = (finding for finding in open_findings(report) if finding.severity is Severity.ERROR)
    return frozenset(member.object for finding in errors for member in members(finding))


def counts(findings: Iterable[Finding]) -> Mapping[Severity, int]:
    """Return the number of causes by severity: a finding beside one of its cause and severity is not counted again."""
    shown = list(findings)
    tellers = tellers_of(shown)
    count = dict.fromkeys(_SEVERITIES, 0)
    for finding in shown:
        teller = tellers.get((finding.told_by, finding.object))
        if teller is None or teller.severity is not finding.severity:
            count[finding.severity] += 1
    return count


def suppressed(report: Report) -> tuple[int, int]:
    """(number of waived findings, number of findings known from a baseline)."""
    known = sum(1 for f in report.findings if f.suppressed and f.suppressed.known)
    return sum(1 for f in report.findings if f.suppressed) - known, known


def verdict(report: Report) -> str:
    """``2 errors, 1 warning (3 suppressed, 1 known)``, or ``no findings``.

    That something was not judged is a part of it: ``no findings in the 104 workloads read; 40 of 157 releases not read
    (cilium, loki, rook and 37 more)``.
    """
    summary = report.summary
    parts = [many(n, severity.word) for severity, n in counts(open_findings(report)).items() if n]
    waived, known = suppressed(report)
    aside = [f"{n} {word}" for n, word in ((waived, "suppressed"), (known, "known")) if n]
    found = ", ".join(parts) or "no findings"
    if not parts and summary.unjudged:
        read = many(summary.workloads, "workload")
        found = f"no findings in the {read} read" if summary.workloads else "no workload was read"
    left = f"; {summary.gaps}" if summary.gaps else ""
    shadow = f"; shadow: {len(summary.would_block):,} would have blocked, exit 0" if summary.shadow else ""
    return found + (f" ({', '.join(aside)})" if aside else "") + left + shadow


def footer(report: Report, most_names: int = SHOWN) -> Iterator[tuple[str, str]]:
    """Yield (short label, sentence) in reading order; the verdict is the last.

    A line names at most ``most_names`` rules; with 0, one line counts all rules with missing inputs.
    """
    summary = report.summary
    documents = many(summary.documents, "document")
    checked = f"{many(summary.files, 'file')} ({documents}), {many(summary.workloads, 'workload')}"
    yield "checked", f"{checked}, by {many(summary.rules, 'rule')}"
    if summary.targets:
        yield from (("target", line) for line in _targets(summary))
    else:
        yield "cluster", cluster(report)
    if summary.configuration:
        yield "config", summary.configuration
    yield from (("skipped", line) for line in (skips(report, most_names) if most_names else skip_counts(report)))
    yield from (("left out", line) for line in _left_out(summary, max(most_names, LONGEST_LIST)))
    if summary.unread_kinds:
        kinds = sorted(summary.unread_kinds.items(), key=lambda pair: (-pair[1], pair[0]))
        yield "not read", _named([f"{count:,} {kind}" for kind, count in kinds])
    yield from (("ends", line) for line in exceptions(summary, max(most_names, LONGEST_LIST)))
    yield from (("note", note) for note in summary.notes)
    if summary.advice:
        yield "note", summary.advice
    if summary.proposes_fixes and any(True for _ in open_findings(report)):
        yield "note", "--diff proposes fixes"
    yield from (("decide", question) for question in summary.questions)
    turned = softened(report)
    yield "result", f"{outcome(report)}{f'; {turned}' if turned else ''}"


def _targets(summary: Summary) -> Iterator[str]:
    """One line per target; of many targets, one line for those of which the same is said."""
    alike: dict[object, list[TargetSummary]] = {}
    for number, target in enumerate(summary.targets):
        is_one_of_few = len(summary.targets) <= LONGEST_LIST
        alike.setdefault(number if is_one_of_few else (target.cluster, target.verdict), []).append(target)
    for first, *others in alike.values():
        names = first_few([first.name, *(other.name for other in others)])
        yield f"{names}: {first.cluster}: {first.verdict}"


def exceptions(summary: Summary, most: int = LONGEST_LIST) -> Iterator[str]:
    """One line per exception, the earliest end first: ``2027-03-01: some-rule at web.yaml:3 (@team)``."""
    for one in summary.exceptions[:most]:
        owner = f" ({one.owner})" if one.owner else ""
        ended = ", has ended" if one.has_ended else ""
        yield f"{one.until}{ended}: {one.rule} at {one.path}:{one.line}{owner}"
    more = len(summary.exceptions) - most
    if more > 0:
        yield f"{many(more, 'more exception')} (--format json lists them all)"


def _left_out(summary: Summary, most: int) -> Iterator[str]:
    """One line per folder: ``tests (34 files): tests; --include-tests judges them``."""
    for item in summary.left_out[:most]:
        yield f"{item.path}{f' ({item.files:,} files)' if item.files > 1 else ''}: {item.reason}"
    more = len(summary.left_out) - most
    if more > 0:
        yield f"{many(more, 'more folder')} (--verbose names them)"


def cluster(report: Report) -> str:
    """One sentence on the cluster, or on why there is none."""
    path = report.summary.unreadable_cluster
    return report.summary.cluster or (f"{path} could not be read" if path else "none given (--cluster)")


def outcome(report: Report) -> str:
    """The verdict, and how many problems the input has: ``2 errors, 1 problem with the input``."""
    return verdict(report) + problems(report)


def problems(report: Report) -> str:
    return f", {many(len(report.errors), 'problem')} with the input" if report.errors else ""


def summary_of(name: str, report: Report) -> TargetSummary:
    """What the report says of one target, or of one cluster of a fleet."""
    return TargetSummary(name, cluster(report), outcome(one_per_cause(report)))


def softened(report: Report) -> str:
    """Return ``node-groups = "complete" makes 2 warnings errors``, and so for --fixed; or nothing."""
    found = list(open_findings(report))
    complete = sum(1 for finding in found if finding.if_complete is Severity.ERROR)
    fixed = sum(1 for finding in found if finding.if_fixed is Severity.ERROR)
    parts = []
    if complete:
        parts.append(f'node-groups = "complete" makes {_into_errors(complete)}')
    if fixed:
        parts.append(f"--fixed (no autoscaler) makes {_into_errors(fixed, ' more' if complete else '')}")
    return "; ".join(parts)


def _into_errors(number: int, more: str = "") -> str:
    return f"{number}{more} {plural(number, 'warning an error', 'warnings errors')}"


def skips(report: Report, most_names: int = SHOWN) -> Iterator[str]:
    """One line per reason, with the rules: ``12 rules need a cluster (--cluster): a, b, …``."""
    for reason, named in _reasons(report):
        rules = many(len(named), "rule")
        if not named:
            yield reason
        elif _lacks(reason):
            yield f"{rules} {plural(len(named), 'needs', 'need')} {_needed(reason)}: {_named(named, most_names)}"
        else:
            yield f"{_named(named, most_names)}: {reason}"


def cut_short(report: Report) -> str:
    """The rules that stopped at the limit of work, as one sentence; empty if there are none."""
    rules = sorted({skip.rule for skip in report.skipped if skip.cut})
    reason = next((skip.reason for skip in report.skipped if skip.cut), "")
    return f"{_named(rules)}: {reason}" if rules else ""


def skipped_rules(report: Report) -> str:
    """Return ``not checked: 12 rules, which need running pods, claims and node pools (-v lists them)``; or nothing."""
    lacking = {reason: named for reason, named in _reasons(report) if named and _lacks(reason)}
    rules = {rule for named in lacking.values() for rule in named}
    if not rules:
        return ""
    needed = list(dict.fromkeys(_gist(_needed(reason)).partition(":")[0] for reason in lacking))
    need = plural(len(rules), "which needs", "which need")
    return f"not checked: {many(len(rules), 'rule')}, {need} {joined(needed[:SHOWN])} (-v lists them)"


def skip_counts(report: Report) -> Iterator[str]:
    """One line for all missing inputs (``9 rules: 6 need running pods, 3 need claims``), one per other reason."""
    lacking = {reason: named for reason, named in _reasons(report) if named and _lacks(reason)}
    if lacking:
        needs = [
            (len(named), f"{plural(len(named), 'needs', 'need')} {_gist(_needed(reason))}")
            for reason, named in lacking.items()
        ]
        needed = f" {needs[0][1]}" if len(needs) == 1 else ": " + ", ".join(f"{n} {words}" for n, words in needs)
        rules = {rule for named in lacking.values() for rule in named}
        yield f"{many(len(rules), 'rule')}{needed} (--verbose lists them)"
    for reason, named in _reasons(report):
        if not named:
            yield reason
        elif not _lacks(reason):
            yield f"{_named(named)}: {reason}"


def _lacks(reason: str) -> bool:
    """Whether a rule was skipped because of a missing input."""
    return reason.startswith("needs ")


def _needed(reason: str) -> str:
    return reason.removeprefix("needs ")


def _gist(needed: str) -> str:
    """The first words, like ``claims`` for ``claims (kubectl get pvc -A), which the snapshot does not hold``.

    The names of the targets or clusters at the end stay: ``claims (in edge)``.
    """
    names = re.search(_NAMES, needed) if " (in " in needed else None
    return needed.partition(" (")[0].partition(",")[0] + (names[0] if names else "")


def _reasons(report: Report) -> list[tuple[str, list[str]]]:
    """(reason, rules), the reason with most rules first; a skipped document has no rule."""
    reasons: dict[str, list[str]] = {}
    for skip in report.skipped:
        reasons.setdefault(skip.reason, []).append(skip.rule)
    found = [(reason, sorted(filter(None, rules))) for reason, rules in reasons.items()]
    return sorted(found, key=lambda pair: (-len(pair[1]), pair[0]))


def statistics(report: Report) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """(head, rows) of a table: findings of each rule by severity, the most severe first."""
    kinds = [severity.word for severity in _SEVERITIES] + ["suppressed", "known"]
    table: dict[str, dict[str, int]] = {}
    for finding in report.findings:
        waiver = finding.suppressed
        kind = finding.severity.word if waiver is None else "known" if waiver.known else "suppressed"
        row = table.setdefault(finding.rule, dict.fromkeys(kinds, 0))
        row[kind] += 1
    shown = [kind for kind in kinds if any(row[kind] for row in table.values())]
    ordered = sorted(table.items(), key=lambda item: (*(-item[1][kind] for kind in shown), item[0]))
    rows = [(rule, *(str(row[kind] or "") for kind in shown)) for rule, row in ordered]
    if len(rows) > 1:
        rows.append(("total", *(str(sum(row[kind] for row in table.values())) for kind in shown)))
    return ("rule", *shown), rows


def _named(names: list[str], most: int = SHOWN) -> str:
    return first_few(names, most=most)


def exit_code(
    report: Report,
    fail_on: Severity | None = Severity.ERROR,
    strict_skips: bool = False,
    require_node_groups: bool = False,
) -> int:
    """Return 0 for a clean run, 1 for findings of at least ``fail_on``, 2 for input errors.

    Suppressed and known findings never count; skipped rules count only when ``strict_skips``. With
    ``require_node_groups``, it is an input error that the user has not decided whether the node groups are complete.
    """
    if report.errors or (require_node_groups and report.summary.undecided):
        return 2
    if report.summary.shadow:
        return 0
    if fail_on is not None and any(finding.severity >= fail_on for finding in open_findings(report)):
        return 1
    return 1 if strict_skips and report.skipped else 0
