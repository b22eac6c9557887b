"""Group findings with one cause: those at one line, those about one thing that the cluster lacks, and similar ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.findings import Finding, Location, ObjectRef, Report

_WORTH_GROUPING = 3
"""Minimum number of findings in a group; two are quicker to read in full."""
_REMEMBERED = 1024
"""Size of the cache of texts."""


class FindingGroup(Struct, frozen=True):
    """A group: the finding shown in full, and similar ones listed by location."""

    first: Finding
    others: tuple[Finding, ...] = ()
    count: int = 1
    """Number of its findings in the verdict, which counts what ``one_per_cause`` folds as one."""


def errors_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by severity, then by place: the order of reports for people."""
    return sorted(findings, key=lambda finding: (-finding.severity, *_place(finding)))


def by_place(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by path, line, column and rule: the order of reports for programs."""
    return sorted(findings, key=_place)


def _place(finding: Finding) -> tuple[object, ...]:
    where = finding.location
    return (where.path, where.span.line, where.span.column, finding.rule, str(finding.object), finding.message)


def one_per_cause(report: Report) -> Report:
    """Return the report with one open finding per cause; its ``also`` has the others, and no report counts these.

    A line that several objects share is one cause: overlays render it, or many objects depend on it. So is what one
    edit mends (``Finding.cause``), and a mistake of one object that several files define.
    """
    groups: list[list[Finding]] = []
    known: dict[tuple[object, ...], list[Finding]] = {}
    mistakes: dict[tuple[object, ...], dict[str, int]] = {}
    for finding in report.findings:
        there = mistakes.setdefault((finding.rule, finding.location, finding.object), {})
        keys = tuple(_keys(finding, there.setdefault(finding.message, len(there))))
        group = next((known[key] for key in keys if key in known), None)
        if group is None:
            groups.append(group := [])
        group.append(finding)
        known.update((key, group) for key in keys if key not in known)
    folded = (replace(first, also=(*first.also, *others)) if others else first for first, *others in groups)
    return replace(report, findings=tuple(folded))


def _keys(finding: Finding, mistake: int) -> Iterator[tuple[object, ...]]:
    """Yield what findings of the same cause share; ``mistake`` numbers those of one object at one line."""
    if finding.suppressed is not None:
        return
    alike = (finding.rule, finding.severity, finding.targets)
    if finding.cause:
        yield (*alike, finding.cause, *_nameless_premises(finding))
    yield (*alike, finding.location, finding.at, mistake)
    yield (*alike, finding.object, finding.at, finding.message, finding.evidence.text)


def members(finding: Finding) -> tuple[Finding, ...]:
    """Return the finding, then those of its rule that ``one_per_cause`` folded into it."""
    return (finding, *(part for part in finding.also if part.rule == finding.rule))


def tellers_of(findings: Iterable[Finding]) -> Mapping[tuple[str, ObjectRef], Finding]:
    """Return rule and object → the finding about it: ``told_by`` of another finding of the object may name it."""
    found = list(findings)
    named = {finding.told_by for finding in found}
    return {(one.rule, part.object): one for one in found if one.rule in named for part in members(one)}


def causes(findings: Sequence[Finding]) -> Iterator[FindingGroup]:
    """Yield groups in the order of their first findings; two similar findings follow each other without a group.

    All findings of a rule with ``once_per_run`` are one group. A finding that a rule in preview tells better
    (``told_by``) is in the group of that rule's finding.
    """
    tellers = tellers_of(findings)
    told: dict[tuple[str, ObjectRef], list[Finding]] = {}
    alone: list[Finding] = []
    for finding in findings:
        teller = (finding.told_by, finding.object)
        (told.setdefault(teller, []) if teller in tellers else alone).append(finding)
    for group in _alike(alone):
        keys = {(finding.rule, part.object): None for finding in group for part in members(finding)} if told else {}
        yield _group(group, [finding for key in keys for finding in told.pop(key, ())])


def _alike(findings: Sequence[Finding]) -> Iterable[Sequence[Finding]]:
    """Return the findings in groups of those that differ only in names and places."""
    alike: dict[tuple[object, ...], list[Finding]] = {}
    rules = Counter(finding.rule for finding in findings)
    for number, finding in enumerate(findings):
        key: tuple[object, ...] = (number,)
        if finding.once_per_run:
            key = (finding.rule, finding.severity)
        elif rules[finding.rule] > 1:
            key = _likeness(finding)
        alike.setdefault(key, []).append(finding)
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for key, group in alike.items():
        is_whole = len(group) >= _WORTH_GROUPING or group[0].once_per_run
        for finding in group:
            groups.setdefault(key if is_whole else (*key, finding.location), []).append(finding)
    return groups.values()


def _group(findings: Sequence[Finding], told: Sequence[Finding] = ()) -> FindingGroup:
    first, *others = (member for finding in (*findings, *told) for member in members(finding))
    return FindingGroup(first, tuple(others), len(findings))


def once_per_run(findings: Sequence[Finding]) -> Iterator[FindingGroup]:
    """Yield each finding alone, but those of a rule with ``once_per_run`` in one group at the place of the first."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        key = (finding.rule, finding.severity, finding.targets) if finding.once_per_run else (number,)
        groups.setdefault(key, []).append(finding)
    yield from map(_group, groups.values())


def difference(finding: Finding, first: Finding) -> str:
    """The evidence (or else the message) of ``finding`` if it differs from that of ``first``; else empty.

    Of another rule, its name and the message.
    """
    if finding.rule != first.rule:
        return f"{finding.rule}: {finding.message}"
    if finding.evidence.text:
        ours, theirs = finding.evidence.text, first.evidence.text
    else:
        ours, theirs = finding.message, first.message
    return "" if nameless(finding, ours) == nameless(first, theirs) else ours


def distinct_place(finding: Finding, first: Finding) -> Location:
    """The first place of ``finding`` that ``first`` does not have, because one term may be to blame for many pods."""
    known = {first.location, *(related.location for related in first.related)}
    places = (finding.location, *(related.location for related in finding.related))
    return next((location for location in places if location not in known), finding.location)


def _likeness(finding: Finding) -> tuple[object, ...]:
    evidence = finding.evidence
    return (
        finding.rule,
        finding.severity,
        finding.targets,
        evidence.kind,
        *(_numberless(nameless(finding, text)) for text in (finding.message, evidence.text, finding.help)),
        evidence.assumes,
    )


def _nameless_premises(finding: Finding) -> Iterator[str]:
    return (_numberless(nameless(finding, premise)) for premise in finding.evidence.assumes)


def nameless(finding: Finding, text: str) -> str:
    """``text`` without the names of the finding's object."""
    subject = finding.object
    for name in filter(None, (str(subject), subject.title, subject.name)):
        text = _without(name, text)
    return text


def _without(name: str, text: str) -> str:
    """``text`` with ``name`` blanked where it is a whole word."""
    if name not in text:
        return text
    parts = text.split(name)
    result = parts[0]
    for part in parts[1:]:
        alone = not (result and _joins(result[-1])) and not (part and _joins(part[0]) and not _ends(part))
        result += ("∙" if alone else name) + part
    return result


def _joins(character: str) -> bool:
    return character.isalnum() or character in "-_./"


def _ends(part: str) -> bool:
    """Whether the dot at the start of ``part`` ends a sentence and is not part of a name."""
    return part[0] == "." and not (len(part) > 1 and part[1].isalnum())


@lru_cache(maxsize=_REMEMBERED)
def _numberless(text: str) -> str:
    """``text`` with separate numbers blanked; ``pool-2`` and ``v1.36`` are names."""
    return " ".join("#" if word.strip(".,;:()").isdecimal() else word for word in text.split(" "))
