"""One report from those of several targets or clusters: what they share stands once, with their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kubesched_lint.engine.base.text import in_which
from kubesched_lint.findings import Finding, Report, Summary
from kubesched_lint.linter.environments.environments import once_each

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


def merged(
    reports: Mapping[str, Report], reads: Mapping[str, Hashable] | None = None, configuration: str = ""
) -> Report:
    """Return one report from name → report. What only some have names them: a finding in ``targets``, else its text.

    Reports with equal ``reads`` (name → what it read; by default its own files) count their files once.
    ``configuration`` is what their ``config`` lines have in common.
    """
    return Report(
        findings=merged_findings(reports),
        skipped=tuple(
            replace(skip, reason=f"{skip.reason}{where}")
            for skip, where in _once(reports, lambda report: report.skipped)
        ),
        errors=tuple(
            replace(error, message=f"{error.message}{where}")
            for error, where in _once(reports, lambda report: report.errors)
        ),
        summary=_summary({name: report.summary for name, report in reports.items()}, reads or {}, configuration),
    )


def merged_findings(reports: Mapping[str, Report]) -> tuple[Finding, ...]:
    """Return each finding once, with the names of its reports as ``targets``: same place, rule and message.

    Evidence and help of the first report hold for the others only if they are equal; else they say where they hold.
    """
    by_place: dict[Hashable, dict[str, Finding]] = {}
    for name, report in reports.items():
        for finding in report.findings:
            place = finding.location.path, finding.location.span
            key = (
                *place,
                finding.rule,
                finding.object,
                finding.severity,
                finding.message,
                finding.suppressed,
                finding.rendered,
            )
            by_place.setdefault(key, {}).setdefault(name, finding)
    return tuple(map(_of_all_targets, by_place.values()))


def _of_all_targets(by_target: Mapping[str, Finding]) -> Finding:
    (name, first), *others = by_target.items()
    evidence, help_, fixes = first.evidence, first.help, first.fixes
    if any(other.evidence != evidence for _, other in others):
        evidence = replace(evidence, text=f"in {name}: {evidence.text}")
    if any(other.help != help_ for _, other in others):
        help_ = f"in {name}: {help_}"
    if any(other.fixes != fixes for _, other in others):
        fixes = ()
    return replace(first, evidence=evidence, help=help_, fixes=fixes, targets=tuple(by_target))


def _once(of: Mapping[str, T], items: Callable[[T], Iterable[H]]) -> Iterator[tuple[H, str]]:
    """Yield equal items of several once, with `` (in prod-eu)`` for those that only some have."""
    each = (((name,), item) for name, report in of.items() for item in dict.fromkeys(items(report)))
    yield from ((item, in_which(names or tuple(of), len(of))) for item, names in once_each(each, tuple(of)))


def _summary(of: Mapping[str, Summary], reads: Mapping[str, Hashable], configuration: str) -> Summary:
    def lines(text: Callable[[Summary], str]) -> Sequence[str]:
        return list(_texts(of, lambda summary: filter(None, [text(summary)])))

    inputs = {reads.get(name, name): summary for name, summary in of.items()}.values()
    kinds: Counter[str] = Counter()
    unjudged: Counter[str] = Counter()
    for summary in inputs:
        kinds.update(summary.unread_kinds)
        unjudged.update(summary.unjudged)
    own = lines(lambda summary: summary.configuration.removeprefix(configuration).removeprefix("; "))
    return Summary(
        files=sum(summary.files for summary in inputs),
        documents=sum(summary.documents for summary in inputs),
        workloads=sum(summary.workloads for summary in inputs),
        unread_kinds=dict(kinds),
        unjudged=dict(unjudged),
        releases=tuple(release for summary in inputs for release in summary.releases),
        cluster="; ".join(lines(lambda summary: summary.cluster)),
        rules=max(summary.rules for summary in of.values()),
        notes=tuple(_texts(of, lambda summary: summary.notes)),
        unreadable_cluster="; ".join(lines(lambda summary: summary.unreadable_cluster)),
        undecided="\n".join(lines(lambda summary: summary.undecided)),
        configuration="; ".join(filter(None, [configuration, *own])),
        exceptions=tuple(sorted({exception for summary in of.values() for exception in summary.exceptions})),
        left_out=tuple(dict.fromkeys(item for summary in of.values() for item in summary.left_out)),
    )


def _texts(of: Mapping[str, Summary], texts: Callable[[Summary], Iterable[str]]) -> Iterator[str]:
    return (f"{text}{where}" for text, where in _once(of, texts))
