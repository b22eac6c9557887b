"""One cause that hits many workloads is told once: findings that differ only in names and numbers belong together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from kubesched_lint.findings import Finding, Location
from kubesched_lint.record import record

_FEWEST = 3
"""Findings of one cause that make a group; two are quicker read in full."""
_REMEMBERED = 1024
"""Texts: without names, those of one cause are few."""


@record
class FindingGroup:
    """The finding that is shown in full, and the like of it that are only listed."""

    first: Finding
    others: tuple[Finding, ...] = ()


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by path, line, column and rule: the order of every report."""
    return sorted(
        findings,
        key=lambda f: (f.location.path, f.location.span.line, f.location.span.column, f.rule, str(f.object), f.message),
    )


def causes(findings: Sequence[Finding]) -> Iterator[FindingGroup]:
    """Groups in the order of their first findings; what is alone or in a pair stays by itself."""
    rules: dict[str, int] = {}
    for finding in findings:
        rules[finding.rule] = rules.get(finding.rule, 0) + 1
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        key = _likeness(finding) if rules[finding.rule] >= _FEWEST else (number,)
        groups.setdefault(key, []).append(finding)
    shown: list[tuple[int, FindingGroup]] = []
    order = {id(finding): number for number, finding in enumerate(findings)}
    for group in groups.values():
        if len(group) >= _FEWEST:
            shown.append((order[id(group[0])], FindingGroup(group[0], tuple(group[1:]))))
        else:
            shown.extend((order[id(finding)], FindingGroup(finding)) for finding in group)
    yield from (cause for _, cause in sorted(shown, key=lambda pair: pair[0]))


def difference(finding: Finding, first: Finding) -> str:
    """What explains ``finding`` otherwise than ``first``: its evidence with other numbers, or else its message."""
    if finding.evidence.text:
        ours, theirs = finding.evidence.text, first.evidence.text
    else:
        ours, theirs = finding.message, first.message
    return "" if nameless(finding, ours) == nameless(first, theirs) else ours


def distinct_place(finding: Finding, first: Finding) -> Location:
    """Where ``finding`` is, as far as that is elsewhere than ``first``: one term may be to blame for many pods."""
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
    """``text`` with ``name`` blanked where it stands as a word of its own."""
    parts = text.split(name)
    result = parts[0]
    for part in parts[1:]:
        alone = not (result and _joins(result[-1])) and not (part and _joins(part[0]) and not _ends(part))
        result += ("∙" if alone else name) + part
    return result


def _joins(character: str) -> bool:
    return character.isalnum() or character in "-_./"


def _ends(part: str) -> bool:
    """Whether a name before ``part`` ends with a full stop rather than going on with a dot."""
    return part[0] == "." and not (len(part) > 1 and part[1].isalnum())


@lru_cache(maxsize=_REMEMBERED)
def _numberless(text: str) -> str:
    """``text`` with numbers that stand alone blanked; ``pool-2`` and ``v1.36`` are names."""
    return " ".join("#" if word.strip(".,;:()").isdecimal() else word for word in text.split(" "))
