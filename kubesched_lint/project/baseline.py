"""The baseline: a file of known findings that do not fail a run.

An entry matches a finding by rule, object and path inside the object. Lines, comments, the order of documents and
file names do not matter. A finding that became more severe is not known.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.base.partly_compared import PartlyCompared
from kubesched_lint.engine.base.places import ObjectRef, Path
from kubesched_lint.engine.base.text import first_few, plural
from kubesched_lint.explaining.waivers.exceptions import is_day
from kubesched_lint.files import content
from kubesched_lint.findings import Finding, Report, Severity, Suppression, errors_behind
from kubesched_lint.limits import LARGEST_OUTPUT
from kubesched_lint.linter.options import BaselineError
from kubesched_lint.linter.results.causes import grouped
from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError

VERSION = 1
_MARK = "kubesched-lint-baseline"
_TERMS = ("reason", "until", "owner")
"""The fields that a person may add to an entry."""
_FIELDS = {"rule": str, "severity": str, "kind": str, "namespace": str, "name": str, "at": str}


class KnownFinding(PartlyCompared, frozen=True, eq=False):
    """What a baseline knows of one object; ``at`` is the path inside the object without list indices.

    Several of one finding are one entry of the file: ``finding`` is the key of the first of them.
    """

    uncompared = ("finding",)

    rule: str
    object: ObjectRef
    at: str
    severity: Severity
    reason: str = ""
    """What a person wrote into the entry; it says nothing about which finding it is."""
    until: str = ""
    owner: str = ""
    finding: tuple[str, ObjectRef, str] | None = None

    @property
    def key(self) -> tuple[str, ObjectRef, str]:
        return self.rule, self.object, self.at


class ComparedReport(Struct, frozen=True):
    """A report with known findings marked; ``gone`` has the entries that no finding matches any more.

    ``unmatched`` has these entries, and those that the run could not check.
    """

    report: Report
    gone: tuple[KnownFinding, ...] = ()
    unmatched: tuple[KnownFinding, ...] = ()


class Change(Struct, frozen=True):
    """One difference between two baselines: ``before`` is None for a new entry, ``after`` for a removed one."""

    before: KnownFinding | None
    after: KnownFinding | None
    why: str

    @property
    def sign(self) -> str:
        return "~" if self.before and self.after else "-" if self.before else "+"

    @property
    def entry(self) -> KnownFinding:
        """The entry after the change, or the removed one."""
        entry = self.after or self.before
        assert entry is not None
        return entry


def entry_of(finding: Finding) -> KnownFinding:
    return KnownFinding(*_key(finding.rule, finding.object, finding.at), finding.severity)


def _key(rule: str, subject: ObjectRef, at: Path) -> tuple[str, ObjectRef, str]:
    return rule, subject, ".".join("*" if isinstance(part, int) else part for part in at)


def entries_of(report: Report) -> tuple[KnownFinding, ...]:
    """The baseline entries of a report: every finding that is not waived, in a stable order."""
    listed = [f for f in report.findings if f.suppressed is None or f.suppressed.known]
    shown = {entry_of(finding).key for finding in listed}
    behind = [finding for finding in errors_behind(listed) if entry_of(finding).key not in shown]
    groups = grouped((*(replace(finding, suppressed=None) for finding in listed), *behind))
    return _ordered(entry for group in groups for entry in _entries(group))


def _entries(group: Sequence[Finding]) -> Iterator[KnownFinding]:
    """Yield what a baseline knows of one finding: each of its objects once."""
    first = entry_of(group[0]).key
    for alike in _by_key(group).values():
        yield replace(max(map(entry_of, alike), key=lambda entry: entry.severity), finding=first)


def number_of_entries(entries: Iterable[KnownFinding]) -> int:
    """Return how many entries the file has: one for each finding."""
    return len(_grouped(entries))


def _grouped(entries: Iterable[KnownFinding]) -> list[list[KnownFinding]]:
    """Return what belongs to one finding together, the first of it first; what differs in its terms stands apart."""
    groups: dict[object, list[KnownFinding]] = {}
    times: Counter[KnownFinding] = Counter()
    for entry in _ordered(entries):
        times[entry] += 1  # two findings of one rule at one place are two
        terms = (entry.severity, entry.reason, entry.until, entry.owner)
        groups.setdefault((entry.finding or entry.key, terms, times[entry]), []).append(entry)
    return list(groups.values())


def held_against(
    report: Report,
    entries: Iterable[KnownFinding],
    *,
    source: str = "the baseline",
    ran: Collection[str] = (),
    objects: Callable[[], Collection[ObjectRef]] = tuple,
) -> ComparedReport:
    """Return the report with the findings of ``entries`` marked as known.

    An entry matches one finding; a repeated entry matches several. An unmatched entry is gone if its rule ``ran`` and
    its object is among the ``objects`` that were read. ``objects`` is called only when entries are unmatched.
    """
    room: dict[tuple[str, ObjectRef, str], list[KnownFinding]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.severity, bool(entry.until), entry.until)):
        room.setdefault(entry.key, []).append(entry)
    groups = [_by_key(group) for group in grouped(f for f in report.findings if f.suppressed is None)]
    known: dict[Itself[Finding], Suppression] = {}
    # The most severe first, so that each takes the least severe entry that covers it.
    for group in sorted(groups, key=lambda group: -max(f.severity for alike in group.values() for f in alike)):
        for key, alike in group.items():
            covering = next(
                (candidate for candidate in room.get(key, ()) if candidate.severity >= alike[0].severity), None
            )
            if covering is not None:
                room[key].remove(covering)
                known |= dict.fromkeys(map(Itself, alike), _known(covering, source))
    _take_further(groups, room, known)
    findings = [replace(f, suppressed=known[Itself(f)]) if Itself(f) in known else f for f in report.findings]
    for part in errors_behind(finding for finding in findings if finding.suppressed and finding.suppressed.known):
        left = room.get(entry_of(part).key, [])
        covering = next((candidate for candidate in left if candidate.severity is part.severity), None)
        if covering is not None:
            left.remove(covering)
            part = replace(part, suppressed=_known(covering, source))
        findings.append(part)
    explained = {_key(part.rule, f.object, part.at) for f in findings for part in f.also}
    unmatched = [entry for key, left in room.items() if key not in explained for entry in left]
    gone = [entry for entry in unmatched if entry.rule in ran]
    if gone:
        there = objects()
        gone = [entry for entry in gone if entry.object in there]
    return ComparedReport(replace(report, findings=tuple(findings)), _ordered(gone), tuple(unmatched))


def _by_key(group: Iterable[Finding]) -> dict[tuple[str, ObjectRef, str], list[Finding]]:
    """Return the parts of one finding: those of one object, in whatever environment, need one entry."""
    parts: dict[tuple[str, ObjectRef, str], list[Finding]] = {}
    for finding in group:
        parts.setdefault(entry_of(finding).key, []).append(finding)
    return parts


def _take_further(
    groups: Iterable[Mapping[tuple[str, ObjectRef, str], Sequence[Finding]]],
    room: Mapping[tuple[str, ObjectRef, str], list[KnownFinding]],
    known: Container[Itself[Finding]],
) -> None:
    """Take the further entries of what is known: baselines of 0.1 have one for each environment."""
    for group in groups:
        for key, alike in group.items():
            if Itself(alike[0]) in known:
                del room[key][: len(alike) - 1]


def _known(entry: KnownFinding, source: str) -> Suppression:
    """Why a finding is known: what its entry says, else that the baseline lists it."""
    return Suppression(entry.reason or f"known in {source}", None, True, entry.until, entry.owner)


def without(entries: Iterable[KnownFinding], gone: Iterable[KnownFinding]) -> tuple[KnownFinding, ...]:
    """The entries without those in ``gone``."""
    left = Counter(entries)
    left.subtract(Counter(gone))
    return _ordered(left.elements())


def updated(
    entries: Iterable[KnownFinding], now: Sequence[KnownFinding], gone: Iterable[KnownFinding]
) -> tuple[KnownFinding, ...]:
    """The entries after this run: those of its findings (``now``), and the old entries that it could not check.

    ``gone`` comes from ``held_against``. The run cannot check entries of a rule that did not run or of an object that
    was not read.
    """
    seen = {entry.key for entry in (*now, *gone)}
    written: dict[tuple[str, ObjectRef, str], list[KnownFinding]] = {}
    for entry in _ordered(entries):
        written.setdefault(entry.key, []).append(entry)
    now = [_as_written(entry, written.get(entry.key, [])) for entry in now]
    return _ordered((*now, *(entry for entry in entries if entry.key not in seen)))


def _as_written(entry: KnownFinding, written: list[KnownFinding]) -> KnownFinding:
    """Return an entry with what somebody wrote into the old one; the list loses that."""
    if not written:
        return entry
    old = next((old_entry for old_entry in written if old_entry.severity is entry.severity), written[0])
    written.remove(old)
    return replace(entry, reason=old.reason, until=old.until, owner=old.owner)


def changes(before: Collection[KnownFinding], after: Collection[KnownFinding]) -> Iterator[Change]:
    """The differences of two baselines, in a stable order; a changed severity is one change."""
    rules, objects = {entry.rule for entry in before}, {entry.object for entry in before}
    old, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    left: dict[tuple[str, ObjectRef, str], list[KnownFinding]] = {}
    for entry in _ordered(old.elements()):
        left.setdefault(entry.key, []).append(entry)
    entry_changes: list[Change] = []
    for entry in _ordered(new.elements()):
        if there := left.get(entry.key):
            was = there.pop()
            entry_changes.append(Change(was, entry, "more severe" if entry.severity > was.severity else "less severe"))
        elif entry.object not in objects:
            entry_changes.append(Change(None, entry, "the object had no entry"))
        else:
            entry_changes.append(Change(None, entry, "" if entry.rule in rules else "the rule had no entry"))
    kept = {entry.key for entry in after}
    for entry in (entry for there in left.values() for entry in there):
        entry_changes.append(Change(entry, None, "another entry covers it" if entry.key in kept else "no longer found"))
    order = {entry: number for number, entry in enumerate(_ordered({change.entry for change in entry_changes}))}
    yield from sorted(entry_changes, key=lambda change: (order[change.entry], change.sign))


def changes_of_findings(
    before: Collection[KnownFinding], after: Collection[KnownFinding]
) -> Iterator[tuple[Change, int]]:
    """Yield (change, number of further objects that it is about): what happens to one finding stands once."""
    groups: dict[object, list[Change]] = {}
    for change in changes(before, after):
        entry, severities = change.entry, (change.before and change.before.severity, change.entry.severity)
        groups.setdefault((change.sign, change.why, entry.finding or entry.key, severities), []).append(change)
    yield from ((first, len(others)) for first, *others in groups.values())


def text_of(entries: Iterable[KnownFinding]) -> str:
    """The text of the file: JSON with one entry per line, sorted, so that diffs are short."""
    lines = [json.dumps(_written(*group), ensure_ascii=False) for group in _grouped(entries)]
    body = ",\n".join(lines)
    return f'{{"{_MARK}": {VERSION}, "findings": [\n{body}{chr(10) if lines else ""}]}}\n'


def read_baseline(path: str, rulebook: Rulebook) -> tuple[KnownFinding, ...]:
    """The entries of the file. Raises BaselineError."""
    try:
        data = content(path, LARGEST_OUTPUT)
    except FileNotFoundError:
        raise BaselineError(f"{path}: no such file; `kubesched-lint baseline write` makes one") from None
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    if len(data) > LARGEST_OUTPUT:
        raise BaselineError(f"{path}: not a baseline: larger than {LARGEST_OUTPUT >> 20} MiB")
    return entries_in(data, path, rulebook)


def entries_in(data: bytes, path: str, rulebook: Rulebook) -> tuple[KnownFinding, ...]:
    """The entries of a file, with the current names of renamed rules. Raises BaselineError."""
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BaselineError(f"{path}: not a baseline: not UTF-8") from None
    except json.JSONDecodeError as error:
        hint = "; it has a merge conflict" if b"\n<<<<<<< " in data or data.startswith(b"<<<<<<< ") else ""
        raise BaselineError(f"{path}:{error.lineno}:{error.colno}: not JSON{hint}: {error.msg}") from None
    except RecursionError:
        raise BaselineError(f"{path}: nested too deeply for a baseline") from None
    except ValueError:
        raise BaselineError(f"{path}: not a baseline: a number of too many digits") from None
    if not isinstance(content, dict) or _MARK not in content:
        raise BaselineError(f"{path}: not a baseline; `kubesched-lint baseline write` makes one")
    version, findings = content[_MARK], content.get("findings")
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        hint = "a newer kubesched-lint wrote it" if newer else "this kubesched-lint does not know it"
        raise BaselineError(f"{path}: a baseline of version {version!r}: {hint}")
    if not isinstance(findings, list):
        raise BaselineError(f"{path}: not a baseline: it has no list `findings`")
    read = (_read(written, number, path, rulebook) for number, written in enumerate(findings, 1))
    return tuple(entry for entries in read for entry in entries)


def _read(written: object, number: int, path: str, rulebook: Rulebook) -> Iterator[KnownFinding]:
    """Yield an entry of the file, and what it has of other objects: their ``at`` only where it differs."""
    first = _entry(written, number, path, rulebook)
    others = written.get("also", []) if isinstance(written, dict) else []
    if not isinstance(others, list) or not all(isinstance(other, dict) for other in others):
        raise BaselineError(f"{path}: finding {number}: `also` is no list of objects")
    whole = {name: value for name, value in cast("dict[str, object]", written).items() if name != "also"}
    yield replace(first, finding=first.key) if others else first
    for other in others:
        yield replace(_entry({**whole, **other}, number, path, rulebook), finding=first.key)


def _entry(written: object, number: int, path: str, rulebook: Rulebook) -> KnownFinding:
    where = f"{path}: finding {number}"
    if not isinstance(written, dict):
        raise BaselineError(f"{where} is not an object")
    for name, kind in _FIELDS.items():
        if not isinstance(written.get(name), kind):
            raise BaselineError(f"{where} needs `{name}`, a string")
    if not written["rule"]:
        raise BaselineError(f"{where} names no rule")
    words: Mapping[str, Severity] = {severity.word: severity for severity in Severity}
    if written["severity"] not in words:
        raise BaselineError(f"{where} has the severity {written['severity']!r}: expected one of {', '.join(words)}")
    try:
        rule = rulebook.get(written["rule"]).slug
    except UnknownRuleError:
        rule = written["rule"]  # a removed rule, or an own rule that is not loaded: the entry matches nothing
    for name in _TERMS:
        if not isinstance(written.get(name, ""), str):
            raise BaselineError(f"{where}: `{name}` is no string")
    if written.get("until") and not is_day(written["until"]):
        raise BaselineError(f"{where}: `until` is {written['until']!r}: expected a day such as 2027-03-01")
    ref = ObjectRef(written["kind"], written["namespace"], written["name"])
    terms = (written.get(name, "") for name in _TERMS)
    return KnownFinding(rule, ref, written["at"], words[written["severity"]], *terms)


def _written(entry: KnownFinding, *others: KnownFinding) -> dict[str, object]:
    also = [_object(other) | ({"at": other.at} if other.at != entry.at else {}) for other in others]
    return {
        "rule": entry.rule,
        "severity": entry.severity.word,
        **_object(entry),
        "at": entry.at,
        **{name: value for name in _TERMS if (value := getattr(entry, name))},
        **({"also": also} if also else {}),
    }


def _object(entry: KnownFinding) -> dict[str, str]:
    ref = entry.object
    return {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}


def _ordered(entries: Iterable[KnownFinding]) -> tuple[KnownFinding, ...]:
    def order(entry: KnownFinding) -> tuple[object, ...]:
        ref = entry.object
        terms = (entry.reason, entry.until, entry.owner)
        return ref.namespace, ref.kind, ref.name, entry.rule, entry.at, entry.severity, *terms

    return tuple(sorted(entries, key=order))


def gone_note(gone: Collection[KnownFinding], source: str) -> Iterator[str]:
    """Yield a note about entries that are gone, if there are any."""
    if gone:
        rules = sorted({entry.rule for entry in gone})
        count = number_of_entries(gone)
        many = f"{count} {plural(count, 'entry no longer occurs', 'entries no longer occur')}"
        yield f"{source}: {many} ({first_few(rules)}); `kubesched-lint baseline prune` removes them"
