"""Group findings with one cause: those at one line, those about one thing that the cluster lacks, and similar ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.engine.base.text import many
from kubesched_lint.findings import Finding
from kubesched_lint.linter.causes import members, nameless, numberless
from kubesched_lint.project.owners import is_namespace
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.words import overlays

_WORTH_GROUPING = 3
"""Minimum number of findings in a group; two are quicker to read in full."""


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
    return (
        where.path.removeprefix("./"),
        where.span.line,
        where.span.column,
        finding.rule,
        str(finding.object),
        finding.message,
    )


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
    is_long = len(findings) > MOST_LINES  # else no namespace has a heading of its own
    for number, finding in enumerate(findings):
        key: tuple[object, ...] = (number,)
        if finding.once_per_run:
            key = (finding.rule, finding.severity, finding.owner)
        elif rules[finding.rule] > 1:
            key = (*_likeness(finding), "" if is_namespace(finding.owner) and not is_long else finding.owner)
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


class OwnedGroups(Struct, frozen=True):
    """The groups of one owner; ``owner`` is empty if a report names none, because there are no others."""

    owner: str
    groups: tuple[FindingGroup, ...]

    @property
    def title(self) -> str:
        """Return ``@org/team: 3 errors, 1 warning``."""
        numbers = dict.fromkeys(sorted({group.first.severity for group in self.groups}, reverse=True), 0)
        for group in self.groups:
            numbers[group.first.severity] += group.count
        return f"{self.owner}: {', '.join(many(number, severity.word) for severity, number in numbers.items())}"


def by_owner(groups: Iterable[FindingGroup]) -> list[OwnedGroups]:
    """Return the groups of each owner, those of the owner with the worst findings first.

    A namespace, which each message names, gets a heading only where findings are too many to read from the top.
    """
    every = tuple(groups)
    owned: dict[str, list[FindingGroup]] = {}
    for group in every:
        owned.setdefault(group.first.owner, []).append(group)
    if len(owned) < 2 or (len(every) <= MOST_LINES and all(map(is_namespace, owned))):
        return [OwnedGroups("", every)] if every else []
    parts = [OwnedGroups(owner, tuple(its)) for owner, its in owned.items()]
    return sorted(parts, key=lambda part: (-max(group.first.severity for group in part.groups), part.owner))


def once_per_run(findings: Sequence[Finding]) -> Iterator[FindingGroup]:
    """Yield each finding alone, but those of a rule with ``once_per_run`` in one group at the place of the first."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        key = (finding.rule, finding.severity, finding.targets, finding.owner) if finding.once_per_run else (number,)
        groups.setdefault(key, []).append(finding)
    yield from map(_group, groups.values())


def in_environments(cause: FindingGroup, environments: Sequence[str]) -> tuple[FindingGroup, str]:
    """Return the group without what is the same in further environments, and the names of all that have it."""
    first = cause.first
    if not first.rendered:
        return cause, ""
    same = [f for f in cause.others if f.rendered and _is_same(f, first)]
    others = tuple(f for f in cause.others if f not in same)
    return replace(cause, others=others), overlays((first, *same), environments)


def _is_same(finding: Finding, first: Finding) -> bool:
    return (finding.rule, finding.object, finding.location) == (first.rule, first.object, first.location) and (
        not difference(finding, first)
    )


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
        *(numberless(nameless(finding, text)) for text in (finding.message, evidence.text, finding.help)),
        evidence.assumes,
    )
