"""Group findings with one cause: those that differ only in names and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from kubesched_lint.findings import Finding, Location
from kubesched_lint.record import record

_FEWEST = 3
"""Minimum number of findings in a group; two are quicker to read in full."""
_REMEMBERED = 1024
"""Size of the cache of texts."""


@record
class FindingGroup:
    """A group: the finding shown in full, and similar ones listed by location."""

    first: Finding
    others: tuple[Finding, ...] = ()


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by path, line, column and rule, which is the order of every report."""
    return sorted(
        findings,
        key=lambda f: (f.location.path, f.location.span.line, f.location.span.column, f.rule, str(f.object), f.message),
    )


def causes(findings: Sequence[Finding]) -> Iterator[FindingGroup]:
    """Yield groups in the order of their first findings; fewer than three similar findings are not grouped.

    All findings of a rule with ``once_per_run`` are one group.
    """
    rules: dict[str, int] = {}
    for finding in findings:
        rules[finding.rule] = rules.get(finding.rule, 0) + 1
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        key: tuple[object, ...] = (number,)
        if finding.once_per_run:
            key = (finding.rule, finding.severity)
        elif rules[finding.rule] >= _FEWEST:
            key = _likeness(finding)
        groups.setdefault(key, []).append(finding)
    shown: list[tuple[int, FindingGroup]] = []
    order = {id(finding): number for number, finding in enumerate(findings)}
    for group in groups.values():
        if len(group) >= _FEWEST or group[0].once_per_run:
            shown.append((order[id(group[0])], FindingGroup(group[0], tuple(group[1:]))))
        else:
            shown.extend((order[id(finding)], FindingGroup(finding)) for finding in group)
    yield from (cause for _, cause in sorted(shown, key=lambda pair: pair[0]))


def once_per_run(findings: Sequence[Finding]) -> Iterator[FindingGroup]:
    """Yield each finding alone, but those of a rule with ``once_per_run`` in one group at the place of the first."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        key = (finding.rule, finding.severity) if finding.once_per_run else (number,)
        groups.setdefault(key, []).append(finding)
    yield from (FindingGroup(group[0], tuple(group[1:])) for group in groups.values())


def difference(finding: Finding, first: Finding) -> str:
    """The evidence (or else the message) of ``finding`` if it differs from that of ``first``; else empty."""
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
        evidence.kind,
        *(_numberless(nameless(finding, text)) for text in (finding.message, evidence.text, finding.help)),
        evidence.assumes,
    )


def nameless(finding: Finding, text: str) -> str:
    """``text`` without the names of the finding's object."""
    subject = finding.object
    for name in (str(subject), f"{subject.namespace}/{subject.name}", subject.name):
        text = _without(name, text)
    return text


def _without(name: str, text: str) -> str:
    """``text`` with ``name`` blanked where it is a whole word."""
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
