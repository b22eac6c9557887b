"""One report from those of several targets or clusters: what they share is told once, with their names."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from kubesched_lint.findings import Finding, InputError, Report, Summary
from kubesched_lint.record import replace
from kubesched_lint.text import first_few

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)
_MOST_NAMED = 4


def merged(reports: Mapping[str, Report]) -> Report:
    """Return one report from name → report; the summary counts what each target read, so shared files count often.

    What only some targets have says in which: a finding in ``targets``, anything else in its text.
    """
    return Report(
        findings=merged_findings(reports),
        skipped=tuple(
            replace(skip, reason=f"{skip.reason}{suffix(names, reports)}")
            for skip, names in _shared(reports, lambda report: report.skipped)
        ),
        errors=tuple(
            replace(error, message=f"{error.message}{suffix(names, reports)}")
            for error, names in merged_errors(reports)
        ),
        summary=_summary({name: report.summary for name, report in reports.items()}),
    )


def merged_findings(reports: Mapping[str, Report]) -> tuple[Finding, ...]:
    """Return each finding once, with the names of its reports as ``targets``: same place, rule and message.

    Evidence and help of the first report hold for the others only if they are equal; else they say where they hold.
    """
    found: dict[Hashable, dict[str, Finding]] = {}
    for name, report in reports.items():
        for finding in report.findings:
            place = finding.location.path, finding.location.span
            key = (*place, finding.rule, finding.object, finding.severity, finding.message, finding.suppressed)
            found.setdefault(key, {}).setdefault(name, finding)
    return tuple(map(_one, found.values()))


def _one(found: Mapping[str, Finding]) -> Finding:
    (name, first), *others = found.items()
    evidence, help_, fixes = first.evidence, first.help, first.fixes
    if any(other.evidence != evidence for _, other in others):
        evidence = replace(evidence, text=f"in {name}: {evidence.text}")
    if any(other.help != help_ for _, other in others):
        help_ = f"in {name}: {help_}"
    if any(other.fixes != fixes for _, other in others):
        fixes = ()
    return replace(first, evidence=evidence, help=help_, fixes=fixes, targets=tuple(found))


def merged_errors(reports: Mapping[str, Report]) -> Iterator[tuple[InputError, tuple[str, ...]]]:
    """Yield (problem with the input, names of the reports that have it)."""
    return _shared(reports, lambda report: report.errors)


def suffix(names: Iterable[str], everyone: Iterable[str]) -> str:
    """Return `` (in prod-eu, prod-us)``, or nothing if all have it."""
    named = list(names)
    return "" if len(named) == len(list(everyone)) else f" (in {first_few(named, _MOST_NAMED)})"


def _shared(of: Mapping[str, T], items: Callable[[T], Iterable[H]]) -> Iterator[tuple[H, tuple[str, ...]]]:
    names: dict[H, list[str]] = {}
    for name, one in of.items():
        for item in dict.fromkeys(items(one)):
            names.setdefault(item, []).append(name)
    yield from ((item, tuple(named)) for item, named in names.items())


def _summary(of: Mapping[str, Summary]) -> Summary:
    def told(text: Callable[[Summary], str]) -> str:
        return "; ".join(_texts(of, lambda summary: filter(None, [text(summary)])))

    kinds: dict[str, int] = {}
    for summary in of.values():
        for kind, count in summary.unread_kinds.items():
            kinds[kind] = kinds.get(kind, 0) + count
    return Summary(
        files=sum(summary.files for summary in of.values()),
        documents=sum(summary.documents for summary in of.values()),
        workloads=sum(summary.workloads for summary in of.values()),
        unread_kinds=kinds,
        cluster=told(lambda summary: summary.cluster),
        rules=max(summary.rules for summary in of.values()),
        notes=tuple(_texts(of, lambda summary: summary.notes)),
        unreadable_cluster=told(lambda summary: summary.unreadable_cluster),
        undecided=told(lambda summary: summary.undecided),
        configuration=told(lambda summary: summary.configuration),
        left_out=tuple(dict.fromkeys(item for summary in of.values() for item in summary.left_out)),
    )


def _texts(of: Mapping[str, Summary], texts: Callable[[Summary], Iterable[str]]) -> Iterator[str]:
    return (f"{text}{suffix(names, of)}" for text, names in _shared(of, texts))
