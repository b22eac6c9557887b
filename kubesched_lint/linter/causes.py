"""What a finding is: one rule at one place; the objects and the environments that have it are inside.

Reports, baselines, ``plan`` and ``--diff`` count findings by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec.structs import replace

from kubesched_lint.findings import Finding, Report

_REMEMBERED = 1024
"""Size of the cache of texts."""


def one_per_cause(report: Report) -> Report:
    """Return the report with one finding per cause; its ``also`` has the others, and no report counts these.

    Open findings, and those of one waiver or of a baseline, are folded apart.

    A line that several objects share is one cause: overlays render it, or many objects depend on it. So is what one
    edit mends (``Finding.cause``), and a mistake of one object that several files define.
    """
    return replace(report, findings=tuple(_folded(*group) for group in grouped(report.findings)))


def grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Return the findings of each cause together, in the order of the first ones."""
    groups: list[list[Finding]] = []
    known: dict[tuple[object, ...], list[Finding]] = {}
    mistakes: dict[tuple[object, ...], dict[str, int]] = {}
    for finding in findings:
        there = mistakes.setdefault((finding.rule, finding.location, finding.object), {})
        keys = tuple(_keys(finding, there.setdefault(finding.message, len(there))))
        group = next((known[key] for key in keys if key in known), None)
        if group is None:
            groups.append(group := [])
        group.append(finding)
        known.update((key, group) for key in keys if key not in known)
    return groups


def number_of(findings: Iterable[Finding]) -> int:
    """Return how many findings these are."""
    return len(grouped(findings))


def _folded(first: Finding, *others: Finding) -> Finding:
    return replace(first, also=(*first.also, *others)) if others else first


def _keys(finding: Finding, mistake: int) -> Iterator[tuple[object, ...]]:
    """Yield what findings of the same cause share; ``mistake`` numbers those of one object at one line."""
    alike = (finding.rule, finding.severity, finding.suppressed)
    if finding.cause:
        yield (*alike, finding.cause, finding.owner, *_nameless_premises(finding))
    yield (*alike, finding.location, finding.at, mistake)
    yield (*alike, finding.object, finding.at, finding.message, finding.evidence.text)


def members(finding: Finding) -> tuple[Finding, ...]:
    """Return the finding, then those of its rule that ``one_per_cause`` folded into it."""
    return (finding, *(part for part in finding.also if part.rule == finding.rule))


def _nameless_premises(finding: Finding) -> Iterator[str]:
    return (numberless(nameless(finding, premise)) for premise in finding.evidence.assumes)


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
def numberless(text: str) -> str:
    """``text`` with separate numbers blanked, and counts such as ``1/0/2``; ``pool-2`` and ``v1.36`` are names."""
    words = ((word, word.strip(".,;:()").replace("/", "")) for word in text.split(" "))
    return " ".join("#" if digits.isdecimal() else word for word, digits in words)
