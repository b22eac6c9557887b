"""What ``check`` tells, in words that text and Markdown share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kubesched_lint.commands.check.check_result import (
    BLOCKED,
    UNKNOWN_FACTS,
    Check,
    JudgedChange,
    ScaledOutside,
    Started,
)
from kubesched_lint.commands.plan.changes import CREATED, MAY_ROLL_OUT, REPLACED, ROLLS_OUT, SCALED
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import brief, first_few, joined, many, plural
from kubesched_lint.engine.events.start.sizes import scaled_to
from kubesched_lint.engine.placing.growth.plan import listed
from kubesched_lint.findings import Severity
from kubesched_lint.linter.environments.environments import with_environments
from kubesched_lint.report.plan.rows import action_of, fields
from kubesched_lint.report.plan.words import evicts, of_object
from kubesched_lint.report.simulation.cell_reasons import UNLESS, cause_of, wants_nodes
from kubesched_lint.report.wording.verdict_words import event_title, mark, needs_a_word, word
from kubesched_lint.report.wording.words import at, shadowed, short_names, to_be_added

_VERBS = {
    CREATED: "created",
    ROLLS_OUT: "rolled out",
    MAY_ROLL_OUT: "perhaps rolled out",
    REPLACED: "replaced",
    SCALED: "only scaled",
}
_UNLISTED = re.compile(r"no (\w+) is known \((.*) does not list them\)")
_BESIDE = "its autoscaler or its budget changes"


class Row(Struct, frozen=True):
    """A workload: its name, what the apply does to it, where that is written, and how its events end."""

    name: str
    action: str
    place: str
    lines: tuple[str, ...]
    is_blocked: bool


def names_of(check: Check) -> Mapping[ObjectRef, str]:
    return short_names([*(workload.object for workload in check.started), *(scaled.object for scaled in check.outside)])


def headline(check: Check) -> str:
    """Return the answer in one sentence."""
    if check.verdict == UNKNOWN_FACTS:
        return f"nothing can be said: {_why_unknown(check)}"
    names = names_of(check)
    if check.verdict == BLOCKED:
        blocked = [names[workload.object] for workload in check.blocked]
        parts = [f"{many(len(blocked), 'workload')} must not be applied ({first_few(blocked)})"] if blocked else []
        parts += [f"{many(len(check.refused), 'object')} refused by the API server"] if check.refused else []
        parts += [shortage.message for shortage in check.shortages]
        return f"{_lead(check)}: {'; '.join(parts)}"
    if not check.started:
        return "passes: this apply starts nothing"
    return f"passes: {starts(check)}{_doubts(check, names)}"


def _lead(check: Check) -> str:
    if check.broken_glass:
        return f"blocked, but the glass is broken ({check.broken_glass})"
    return "shadow: this would have been blocked" if check.shadow else "blocked"


def _why_unknown(check: Check) -> str:
    """Return what lacks; the kinds that the file does not list are one sentence, with what to add."""
    unlisted = [unlisted_kind for text in check.missing if (unlisted_kind := _UNLISTED.fullmatch(text))]
    told = (
        [f"{unlisted[0][2]} lists no {to_be_added([unlisted_kind[1] for unlisted_kind in unlisted])}"]
        if unlisted
        else []
    )
    told += [text for text in check.missing if not _UNLISTED.fullmatch(text)]
    return "; ".join([*told, *(f"{error.place}: {error.message}" for error in check.errors)])


def starts(check: Check) -> str:
    """Return ``1 workload is created, 2 are rolled out``."""
    first = [_first_action(workload) for workload in check.started]
    parts: list[str] = []
    for action, verb in _VERBS.items():
        count = first.count(action)
        if count:
            noun = f"{count:,}" if parts else many(count, "workload")
            parts.append(f"{noun} {plural(count, 'is', 'are')} {verb}")
    others = first.count("")
    if others:
        parts.append(f"{many(others, 'other workload') if parts else many(others, 'workload')} may end otherwise later")
    return joined(parts)


def _first_action(workload: Started) -> str:
    action = "" if workload.change is None else workload.change.actions[0]
    return action if action in _VERBS else ""


def _doubts(check: Check, names: Mapping[ObjectRef, str]) -> str:
    waived = [names[workload.object] for workload in check.started if any(event.waived for event in workload.events)]
    broken = [names[workload.object] for workload in check.started if workload.broken_glass]
    open_ = [names[workload.object] for workload in check.started if workload.is_open]
    bad = [
        names[workload.object] for workload in check.started if workload.refused or any(map(_is_bad, workload.events))
    ]
    parts = [
        f"{many(len(bad), 'workload')} may end badly ({first_few(bad)})" if bad else "",
        f"how {many(len(open_), 'workload')} {plural(len(open_), 'ends', 'end')} is unknown ({first_few(open_)})"
        if open_
        else "",
        f"{many(len(waived), 'workload')} waived ({first_few(waived)})" if waived else "",
        f"the glass is broken for {first_few(broken)}" if broken else "",
    ]
    said = joined([part for part in parts if part])
    return f"; {said}" if said else ""


def _is_bad(event: JudgedChange) -> bool:
    return event.is_started and not event.waived and needs_a_word(event.cell) and event.cell.verdict != "unknown"


def rows_of(check: Check) -> Iterator[Row]:
    """Yield the workloads, blocked ones first."""
    names = names_of(check)
    for workload in sorted(check.started, key=lambda each: (not each.blocks(check.least), not each.is_open)):
        change = workload.change
        yield Row(
            with_environments(names[workload.object], workload.environments),
            _BESIDE if change is None else action_of(change),
            "" if change is None else at(change.line or change.location),
            tuple(_lines(workload, check.least)),
            workload.blocks(check.least),
        )


def _lines(workload: Started, least: Severity | None) -> Iterator[str]:
    if workload.change is not None and (text := fields(workload.change, is_short=True)):
        yield text
    if workload.change is not None and workload.change.remark:
        yield f"{'blocks: ' if workload.is_blocked_as_refused(least) else ''}{workload.change.remark}"
    if workload.broken_glass:
        yield f"break-glass: {workload.broken_glass}"
    fine = [event for event in workload.events if not needs_a_word(event.cell)]
    told: set[str] = set()
    for event in workload.events:
        cause = cause_of(event.cell)
        is_repeated = cause in told or (event.cell.event == "rollout" and bool(told) and not event.is_started)
        is_aside = not event.is_started and workload.blocks(least)
        if needs_a_word(event.cell) and (event.blocks(least) or not (is_repeated or is_aside)):
            yield _sentence(event, least)
            told.add(cause)
    if fine:
        yield f"{joined([_title(event) for event in fine])}: {_fine(fine)}"
    bad = {event.cell.event for event in workload.events if needs_a_word(event.cell)}
    helps = [f for f in workload.findings if f.help and f.evidence.event in bad]
    for finding in helps[:1]:
        yield f"help ({finding.rule}): {finding.help}"


def _fine(events: Sequence[JudgedChange]) -> str:
    return joined(list(dict.fromkeys(word(event.cell) for event in events)))


def _title(event: JudgedChange) -> str:
    size = scaled_to(event.cell.event)
    if size is not None:
        return f"{size:,} pods, as its autoscaler has now"
    return "this apply" if event.cell.event == "deploy" else event_title(event.cell.event)


def _sentence(event: JudgedChange, least: Severity | None) -> str:
    """Return ``this apply fails (3/4): CAUSE (PATH:LINE)``; what comes later is said so."""
    cell = event.cell
    cause = brief(cause_of(cell)) + (UNLESS if wants_nodes(cell) else "")
    place = f" ({at(event.location)})" if event.location is not None else ""
    text = mark(cell).rstrip("!")
    shown = f" ({text})" if text and text not in ("?", word(cell)) else ""
    later = "" if event.is_started else ", later"
    waived = f"; waived: {event.waived}" if event.waived else ""
    sign = "blocks: " if event.blocks(least) else ""
    return f"{sign}{_title(event)}{later}: {word(cell)}{shown}: {cause}{place}{waived}"


def facts_of(check: Check) -> Iterator[str]:
    """Yield what stands below the workloads."""
    names = names_of(check)
    yield from (f"the API server refuses: {text}" for text in check.refused)
    yield from (
        f"together: {shortage.message}{f' ({at(shortage.location)})' if shortage.location else ''}"
        for shortage in check.shortages
    )
    yield from (of_object(change) for change in check.objects)
    if check.nodes:
        yield f"pools add {listed(check.nodes)} in one placement"
    yield from (f"{evicts(eviction)} in one placement by the default scheduler" for eviction in check.evictions)
    yield from (_outside(scaled, names) for scaled in check.outside)
    if check.broken_glass:
        yield f"break-glass: {check.broken_glass}"
    if check.shadow:
        more = len(check.shortages) + len(check.refused)
        yield shadowed([workload.object for workload in check.blocked], more, names)
    if check.unchanged:
        count = check.unchanged
        yield f"{many(count, 'workload')} {plural(count, 'runs', 'run')} as written"


def _outside(scaled: ScaledOutside, names: Mapping[ObjectRef, str]) -> str:
    name = names[scaled.object]
    runs = f"scaled outside the files: {name} has {many(scaled.running, 'replica')} by {scaled.by}"
    if scaled.written is None:
        return f"{runs}, and keeps them: the files leave the number open"
    until = " until that scales again" if scaled.is_automatic else ""
    return f"{runs}, and this apply sets {scaled.written:,}{until}"


def judged(check: Check) -> str:
    where = f" in {joined(check.environments)}" if check.environments else ""
    return f"check: {check.manifests}{where} on {check.cluster}"
