"""Findings before and after a change: new, gone, of another severity, and the number of the others.

A finding is the same as in a baseline: by rule, object and path inside the object, whatever its line and file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.results.causes import grouped, members, one_per_cause
from kubesched_lint.project.baseline import entry_of

Key = tuple[str, ObjectRef, str]


class FindingChange(Struct, frozen=True):
    """``before`` is None for a new finding, ``after`` for one that is gone.

    ``is_waived``: it is not gone (or was there before), but a waiver hides it after (or hid it before) the change.
    """

    before: Finding | None
    after: Finding | None
    is_waived: bool = False
    environments: tuple[str, ...] = ()
    """The targets in which it holds, of a run over several, if not in all of them."""

    @property
    def finding(self) -> Finding:
        """The finding after the change, or the one that is gone."""
        finding = self.after or self.before
        assert finding is not None
        return finding

    @property
    def is_more_severe(self) -> bool:
        """Whether it is new, or more severe than before."""
        if self.after is None:
            return False
        return self.before is None or self.after.severity > self.before.severity


class FindingChanges(Struct, frozen=True):
    changes: tuple[FindingChange, ...] = ()
    same: tuple[Finding, ...] = ()
    """The open findings of both sides; several may be of one cause."""

    @property
    def unchanged(self) -> Mapping[Severity, int]:
        """Count what is the same by severity, as ``lint`` counts."""
        return Counter(group[0].severity for group in grouped(self.same))

    @property
    def new(self) -> Sequence[FindingChange]:
        return [change for change in self.changes if change.before is None]

    @property
    def gone(self) -> Sequence[FindingChange]:
        return [change for change in self.changes if change.after is None]

    @property
    def others(self) -> Sequence[FindingChange]:
        """Findings of another severity."""
        return [change for change in self.changes if change.before is not None and change.after is not None]


def finding_changes(before: Report, after: Report) -> FindingChanges:
    """Return how the open findings of two reports differ, the most severe first."""
    old, new = _open(before), _open(after)
    waived = _waived(before), _waived(after)
    differing: list[FindingChange] = []
    unchanged: list[Finding] = []
    for key in {**old, **new}:
        left, came = _without_common(old.get(key, []), new.get(key, []), unchanged)
        pairs = min(len(left), len(came))
        differing += (FindingChange(*pair) for pair in zip(left, came, strict=False))
        differing += (FindingChange(finding, None, key in waived[1]) for finding in left[pairs:])
        differing += (FindingChange(None, finding, key in waived[0]) for finding in came[pairs:])
    changes = sorted(_not_both(differing, unchanged), key=_order)
    return FindingChanges(tuple(changes), tuple(unchanged))


def _not_both(changes: Sequence[FindingChange], unchanged: list[Finding]) -> Iterator[FindingChange]:
    """Yield the changes without pairs of a new and a gone finding that a reader cannot tell apart.

    A finding about several objects may stand at another of them, though nothing about it changes. One about a single
    object is new there, even if its message, such as that of a rule of one's own, does not name the object.
    """
    ends: dict[object, tuple[list[int], list[int]]] = {}
    for place, change in enumerate(changes):
        if (change.before is None or change.after is None) and not change.is_waived and change.finding.related:
            ends.setdefault(_words(change.finding), ([], []))[change.after is None].append(place)
    left = set(range(len(changes)))
    for both in ends.values():
        for new, gone in zip(*both, strict=False):
            left -= {new, gone}
            unchanged.append(changes[new].finding)
    yield from (change for place, change in enumerate(changes) if place in left)


def _words(finding: Finding) -> object:
    return finding.rule, finding.severity, finding.message


def each_once(changes: Iterable[FindingChange]) -> tuple[FindingChange, ...]:
    """Return the changes; what happens to one finding at one place in several environments stands once."""
    changes_once: dict[object, FindingChange] = {}
    for change in changes:
        changes_once.setdefault(seen(change), change)
    return tuple(changes_once.values())


def of_whole_findings(changes: Iterable[FindingChange]) -> tuple[FindingChange, ...]:
    """Return the changes; what happens to several objects of one finding stands once."""
    groups: dict[object, list[FindingChange]] = {}
    for change in changes:
        sides = (change.before and change.before.severity, change.after and change.after.severity)
        groups.setdefault((sides, change.is_waived), []).append(change)
    return tuple(sorted((each for group in groups.values() for each in _folded(group)), key=_order))


def _folded(group: Sequence[FindingChange]) -> Iterator[FindingChange]:
    """Yield the changes of a group, in all of which the same happens, one for each finding."""
    others = {(change.finding.rule, change.finding.object, change.finding.location): change for change in group}
    for finding in one_per_cause(Report(tuple(replace(change.finding, suppressed=None) for change in group))).findings:
        parts = [others[key] for each in members(finding) if (key := (each.rule, each.object, each.location)) in others]
        where = dict.fromkeys(name for part in parts for name in part.environments)
        environments = tuple(where) if all(part.environments for part in parts) else ()
        change = replace(parts[0], environments=environments)
        yield replace(change, after=finding) if change.after else replace(change, before=finding)


def seen(change: FindingChange) -> Hashable:
    """Return what a reader sees of a change."""
    finding = change.finding
    sides = (change.before and change.before.severity, change.after and change.after.severity)
    return finding.rule, finding.object, finding.location, finding.message, sides


def _without_common(
    old: Sequence[Finding], new: Sequence[Finding], unchanged: list[Finding]
) -> tuple[list[Finding], list[Finding]]:
    """Return what is left of both without pairs of one severity, which are ``unchanged``; the most severe first."""
    left, came = list(old), []
    for finding in new:
        same = next((other for other in left if other.severity is finding.severity), None)
        if same is None:
            came.append(finding)
        else:
            left.remove(same)
            unchanged.append(finding)
    return sorted(left, key=_severest), sorted(came, key=_severest)


def _severest(finding: Finding) -> int:
    return -finding.severity


def _open(report: Report) -> dict[Key, list[Finding]]:
    open_findings: dict[Key, list[Finding]] = {}
    for finding in report.findings:
        if finding.suppressed is None:
            open_findings.setdefault(entry_of(finding).key, []).append(finding)
    return open_findings


def _waived(report: Report) -> set[Key]:
    return {entry_of(finding).key for finding in report.findings if finding.suppressed is not None}


def _order(change: FindingChange) -> tuple[object, ...]:
    finding = change.finding
    return (
        -finding.severity,
        change.after is None,
        finding.location.path,
        finding.location.span.line,
        finding.rule,
        str(finding.object),
    )


def worst(changes: Iterable[FindingChange]) -> Severity | None:
    """Return the highest severity of findings that are new or more severe; None without such findings."""
    return max((c.after.severity for c in changes if c.is_more_severe and c.after is not None), default=None)
