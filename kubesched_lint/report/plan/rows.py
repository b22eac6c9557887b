"""What a short plan tells: changed workloads, worst first, then what else gets worse or better; the rest is counted.

Text, Markdown and HTML show these rows, so that they agree.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.plan.changes import METADATA, ROLLS_OUT, SCALED, UPDATED, FieldChange, ObjectChange
from kubesched_lint.commands.plan.plan_result import CellChange, Plan, WorkloadPlan
from kubesched_lint.commands.plan.pools import PoolChange
from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.engine.base.text import SHOWN, brief, first_few, joined, many, plural
from kubesched_lint.engine.events.answers.cells import BY_SCORES, NONE, UNKNOWN, Cell
from kubesched_lint.engine.events.answers.order import BETTER, OTHER, WORSE
from kubesched_lint.engine.model.workloads.workload import ROLLED_OUT
from kubesched_lint.findings import Severity
from kubesched_lint.linter.environments.environments import once_each, unless_all, with_environments
from kubesched_lint.project.finding_changes import FindingChange
from kubesched_lint.report.plan.result import names_of
from kubesched_lint.report.plan.words import actions as action_words
from kubesched_lint.report.plan.words import by_importance, consequences, finding_words
from kubesched_lint.report.simulation.cell_reasons import IF_AVOIDED, UNLESS, cause_of, reasons, said, wants_nodes
from kubesched_lint.report.wording.verdict_words import (
    AVOIDED,
    FAILS,
    FAILS_HERE,
    LIKELY_OK,
    MAY_FAIL,
    NOT_CONCERNED,
    OK,
    WORST_FIRST,
    event_title,
    mark,
    word,
)
from kubesched_lint.report.wording.words import at

_STARTS_NONE = "starts no rollout"
_SPEC = re.compile(r"^(spec\.)?(jobTemplate\.spec\.)?(template\.)?(spec\.)?")
_INNER = re.compile(r"\b(resources|rollingUpdate|strategy|updateStrategy)\.")
_NAME = re.compile(r"\b[A-Z][A-Za-z]+ [\w.-]+/[\w.-]+")
_WORKLOADS = re.compile(
    rf"{_NAME.pattern}(?:(?:, | and |, and ){_NAME.pattern}){{{SHOWN},}}(?: (?:… )?and (?P<more>\d+) (?:more|others))?"
)
"""A list of more objects than a reader wants in a line."""
_MANY = re.compile(r"\b\d+ workloads\b")
_BAD = (FAILS, FAILS_HERE, MAY_FAIL)
_COUNT = re.compile(r"\b\d+\b")
"""After a loss, Kubernetes' message counts fewer nodes; it gives the same cause."""


class Effect(Struct, frozen=True):
    """How some events end for a workload after the change, and did before."""

    direction: str
    events: tuple[str, ...]
    ends: str
    """``ok → fails (3/4)``"""
    cause: str = ""
    place: str = ""
    environments: tuple[str, ...] = ()
    """Where it holds; none if wherever the workload has its row."""

    @property
    def is_bad(self) -> bool:
        """Whether it fails or may fail now, and was not known to be as bad."""
        return bool(self.cause)

    def text(self, *, others: bool = False) -> str:
        """Return ``rollout: unknown → fails here (stuck): CAUSE (PATH:LINE)``; ``others``: beside another effect."""
        place = f" ({self.place})" if self.place else ""
        few = joined(self.events) if len(self.events) <= SHOWN else first_few(self.events)
        events = many(len(self.events), "other event") if others and len(self.events) > SHOWN else few
        events = with_environments(events, self.environments)
        return f"{events}: {self.ends}{f': {self.cause}' if self.cause else ''}{place}"


class Entry(Struct, frozen=True):
    """One workload or another object: what happens to it, and what that does."""

    object: ObjectRef
    name: str
    action: str
    place: str = ""
    fields: str = ""
    effects: tuple[Effect, ...] = ()
    remarks: tuple[str, ...] = ()
    """What stands below the effects: pods per zone, findings, help."""
    gone: tuple[str, ...] = ()
    """Its findings that are gone or less severe, counted."""
    direction: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines below the first; effects that need no cause share one, with the findings that are gone."""
        texts = [(effect.text(others=number > 0), effect.is_bad) for number, effect in enumerate(self.effects)]
        bare = "; ".join((*(text for text, is_bad in texts if not is_bad), *self.gone))
        return tuple(filter(None, (self.fields, *(text for text, is_bad in texts if is_bad), bare, *self.remarks)))

    @property
    def is_bad(self) -> bool:
        return self.direction == WORSE or any(effect.is_bad for effect in self.effects)


class Rows(Struct, frozen=True):
    """The parts of a short plan, in the order of reading."""

    changed: tuple[Entry, ...] = ()
    elsewhere: tuple[Entry, ...] = ()
    """Workloads that do not change and are established to end better or worse."""
    findings: tuple[FindingChange, ...] = ()
    """New findings that no entry tells."""
    lines: tuple[str, ...] = ()
    """What else gets worse or better, and what is counted."""
    same: str = ""
    """What is as before, counted."""


def rows_of(plan: Plan) -> Rows:
    """Return the rows of a plan."""
    names = names_of(plan)
    told = [
        workload
        for workload in by_importance(plan.workloads)
        if workload.change is None or workload.change.actions != (METADATA,)
    ]
    severe = [change for change in plan.findings.changes if change.is_more_severe]
    own_findings = [change for change in plan.findings.changes if not _is_of_several(change)]
    changed = once_each_workload(
        plan, _entries([workload for workload in told if workload.change is not None], names, own_findings)
    )
    unproven = _only_may_fail(told)
    beside = [workload for workload in told if workload.change is None and workload not in unproven]
    elsewhere = tuple(entry for entry in once_each_workload(plan, _entries(beside, names, own_findings)) if entry.lines)
    own = {entry.object for entry in (*changed, *elsewhere)}
    return Rows(
        (*map(_of_pool, plan.pools), *changed, *map(_of_object, _beside_pools(plan))),
        elsewhere,
        tuple(change for change in severe if _is_of_several(change) or change.finding.object not in own),
        (*_that_may_fail(unproven, names), *_lines(plan, names, own)),
        _same(plan),
    )


def _is_of_several(change: FindingChange) -> bool:
    """Whether a finding counts the pods of several workloads: it says of none of them that its own pods wait."""
    whose = change.finding.message.partition(": ")[0]
    return len(_NAME.findall(whose)) > 1 or bool(_MANY.search(whose))


def _entries(
    told: Sequence[WorkloadPlan], names: Mapping[ObjectRef, str], findings: Sequence[FindingChange]
) -> Iterator[tuple[Sequence[str], Entry]]:
    """Yield the row of each workload with its environments.

    Of the rows of one workload in several environments, that with a bad end has its findings, else the first; and so
    have those with the same effects, which become one row.
    """
    effects = [tuple(_effects(workload)) for workload in told]
    bad = {
        workload.object for workload, each in zip(told, effects, strict=True) if any(effect.is_bad for effect in each)
    }
    given: dict[ObjectRef, tuple[Effect, ...]] = {}
    for workload, each in zip(told, effects, strict=True):
        about = [change for change in findings if change.finding.object == workload.object]
        ends = tuple(_in_words_of_lint(effect, about, workload.environments) for effect in each)
        if workload.object not in given and (workload.object not in bad or any(effect.is_bad for effect in each)):
            given[workload.object] = ends
        yield workload.environments, _entry(workload, ends, names, about if given.get(workload.object) == ends else ())


def once_each_workload(plan: Plan, entries: Iterable[tuple[Sequence[str], Entry]]) -> tuple[Entry, ...]:
    """Return what a reader sees of each workload once, with the environments in which it holds."""
    if not plan.environments:
        return tuple(entry for _, entry in entries)
    each: dict[Entry, list[str]] = {}
    for where, entry in entries:
        each.setdefault(entry, []).extend(where or plan.environments)
    alike: dict[Hashable, list[Entry]] = {}
    for entry in each:
        alike.setdefault(replace(entry, effects=(), gone=(), direction=""), []).append(entry)
    return tuple(_of_several({entry: each[entry] for entry in same}, plan.environments) for same in alike.values())


def _of_several(each: Mapping[Entry, Sequence[str]], every: Sequence[str]) -> Entry:
    """Return one row for rows that differ in their effects only; an effect names its environments if not all have it.

    What one environment may see in any order, and another only in those that scores avoid, is one effect.
    ``each``: row → the environments in which it holds, of ``every``.
    """
    first = next(iter(each))
    where = [name for names in each.values() for name in names]
    told = [(names, effect) for entry, names in each.items() for effect in entry.effects]
    anyway = {effect for _, effect in told}
    cut = ((names, effect, _anyway(effect)) for names, effect in told)
    effects = once_each(((names, bare if bare in anyway else effect) for names, effect, bare in cut), where)
    return replace(
        first,
        name=with_environments(first.name, unless_all(where, every)),
        effects=tuple(replace(effect, environments=names) for effect, names in effects),
        gone=tuple(dict.fromkeys(text for entry in each for text in entry.gone)),
        direction=WORSE if any(entry.direction == WORSE for entry in each) else first.direction,
    )


def _anyway(effect: Effect) -> Effect:
    """Return the effect as if the default scores did not avoid it."""
    return replace(effect, ends=effect.ends.removesuffix(IF_AVOIDED), cause=effect.cause.removesuffix(IF_AVOIDED))


# --- one workload ----------------------------------------------------------------------------------------------------


def _entry(
    workload: WorkloadPlan,
    effects: tuple[Effect, ...],
    names: Mapping[ObjectRef, str],
    findings: Sequence[FindingChange],
) -> Entry:
    change = workload.change
    return Entry(
        workload.object,
        names[workload.object],
        "" if change is None else action_of(change),
        "" if change is None else at(change.line or change.location),
        "" if change is None else fields(change, is_short=True),
        effects,
        tuple(_remarks(workload, [change for change in findings if change.is_more_severe], effects)),
        tuple(_less([change for change in findings if not change.is_more_severe])),
        workload.direction,
    )


def action_of(change: ObjectChange) -> str:
    """Return ``rolled out, 2 → 5 pods``, or ``updated, starts no rollout``."""
    text = action_words(change).replace(f"{SCALED} ", "") if ROLLS_OUT in change.actions else action_words(change)
    text = f"{text} pods" if ROLLS_OUT in change.actions and SCALED in change.actions else text
    is_quiet = set(change.actions) <= {SCALED, UPDATED} and change.object.kind in ROLLED_OUT
    return f"{text}, {_STARTS_NONE}" if is_quiet else text


def fields(change: ObjectChange, *, is_short: bool = False) -> str:
    """Return the changed fields with the values that may be shown; ``is_short``: without what the reader knows."""
    shown = [each for each in change.fields if not (is_short and SCALED in change.actions and _is_size(each))]
    return first_few([_field(each) for each in shown])


def _is_size(field: FieldChange) -> bool:
    return field.path[-1:] == ("replicas",)


def _field(field: FieldChange) -> str:
    text = _INNER.sub("", _SPEC.sub("", field.text)) or field.text
    return f"{text} {field.before} → {field.after}" if field.before and field.after else text


def _of_object(change: ObjectChange) -> Entry:
    remarks = (change.remark,) if change.remark else ()
    place = at(change.line or change.location)
    return Entry(change.object, str(change.object), action_words(change), place, fields(change), remarks=remarks)


def _beside_pools(plan: Plan) -> Iterator[ObjectChange]:
    """Yield the changes of objects that no row of a pool tells."""
    pools = {change.name for change in plan.pools}
    yield from (c for c in plan.objects if c.object.kind != "NodePool" or f"pool {c.object.name}" not in pools)


def _of_pool(change: PoolChange) -> Entry:
    name = with_environments(change.name, change.environments)
    where = ObjectRef("NodePool", "", change.name)
    pods = (f"{many(change.pods, 'pod')} {plural(change.pods, 'runs', 'run')} on nodes that go",) if change.pods else ()
    return Entry(where, name, change.action, at(change.location), first_few(change.fields), remarks=pods)


# --- its events ------------------------------------------------------------------------------------------------------


def _effects(workload: WorkloadPlan) -> Iterator[Effect]:
    """Yield what changes in words, the worst first; events that change alike share a line.

    Of a workload that does not change itself and ends badly now, only the worst; the other events are counted.
    """
    groups: dict[tuple[str, str, str, str], list[CellChange]] = {}
    for change in workload.cells:
        before, after = _word(change.before), _word(change.after)
        if change.after is not None and _differs(change) and not _is_new(change):
            cause = _COUNT.sub("", _told_cause(change))
            groups.setdefault((change.direction, before, after, cause), []).append(change)
    ranked = sorted(groups.items(), key=_rank)
    home = None if workload.change is None else workload.change.line or workload.change.location
    most = 1 if workload.change is None and any(key[0] != BETTER and key[2] in _BAD for key in groups) else SHOWN
    causes: set[str] = set()
    for _, changes in ranked[:most]:
        cause = _told_cause(changes[0])
        bare = cause.removesuffix(_condition(cause))
        yield _effect(changes, "" if bare in causes else cause, home)
        causes.add(bare)
    if not ranked and workload.cells and all(map(_is_new, workload.cells)):
        yield Effect(OTHER, ("every event",), max(_word(c.after) for c in workload.cells))
    elif not ranked and workload.change is not None and workload.is_compared:
        yield Effect(OTHER, ("every event",), "as before")
    if len(ranked) > most:
        events = tuple(event_title(c.event) for _, changes in ranked[most:] for c in changes)
        first, *others = [key[1:3] for key, _ in (ranked[0], *ranked[most:])]
        too = ", too" if others[0] == first else ""  # for another cause
        is_one = len(set(others)) == 1
        avoided = _if_avoided([change for _, changes in ranked[most:] for change in changes])
        ends = f"{' → '.join(others[0])}{too}{avoided}" if is_one else "end differently, too"
        yield Effect(OTHER, events, ends)


def _rank(group: tuple[tuple[str, str, str, str], Sequence[CellChange]]) -> tuple[bool, int]:
    """Return the order of events that change alike: the worst first; what gets better in the order of the events."""
    (direction, _, after, _), _ = group
    return direction == BETTER, 0 if direction == BETTER else WORST_FIRST.index(after)


def _in_words_of_lint(effect: Effect, findings: Iterable[FindingChange], where: Sequence[str]) -> Effect:
    """Return the effect with the cause as a new finding about its event tells it: one cause has one sentence."""
    for change in findings:
        cause = change.finding.because
        is_there = not where or not change.environments or not set(where).isdisjoint(change.environments)
        if effect.cause and cause and is_there and event_title(change.finding.evidence.event) == effect.events[0]:
            condition = _condition(effect.cause)
            is_sure = condition == IF_AVOIDED and change.finding.evidence.kind == "proof"  # whatever scores do
            return replace(effect, cause=f"{cause}{'' if is_sure else condition}")
    return effect


def _differs(change: CellChange) -> bool:
    """Whether a reader of words sees two ends: the word, or the pods that run where more of them wait, or fewer."""
    before, after = change.before, change.after
    if _word(before) != _word(after):
        return not {_word(before), _word(after)} <= {OK, LIKELY_OK}
    return change.direction != OTHER and before is not None and after is not None and mark(before) != mark(after)


def _is_new(change: CellChange) -> bool:
    """Whether it is the ok of a new workload."""
    return change.before is None and change.after is not None and _word(change.after) in (OK, LIKELY_OK, NOT_CONCERNED)


def _word(cell: Cell | None) -> str:
    return "" if cell is None else OK if cell.verdict == NONE else word(cell)


def _told_cause(change: CellChange) -> str:
    """Return why an event ends badly after the change; empty where it gets better, which needs no reason."""
    cell = change.after
    if cell is None or _word(cell) not in _BAD or change.direction == BETTER:
        return ""
    return f"{brief(cause_of(cell))}{UNLESS if wants_nodes(cell) else ''}"


def _effect(changes: Sequence[CellChange], cause: str, home: Location | None) -> Effect:
    """Return the effect; ``home`` is where the workload changes: a place in that file is no news."""
    first = changes[0]
    before, after = (_ending(cell, changes) for cell in (first.before, first.after))
    is_bad = first.direction != BETTER and _word(first.after) in _BAD
    told = cause if is_bad else ""
    ends = f"{before} → {after}" if before else after
    return Effect(
        first.direction,
        tuple(event_title(change.event) for change in changes),
        ends if told else f"{ends}{_if_avoided(changes)}",
        told,
        at(first.location) if is_bad and not _is_in(home, first.location) else "",
    )


def _condition(cause: str) -> str:
    """Return what a cause says last, of when it holds; empty if it says nothing of it."""
    return next((each for each in (UNLESS, IF_AVOIDED) if cause.endswith(each)), "")


def _if_avoided(changes: Iterable[CellChange]) -> str:
    """Return what is said of events that end badly only where the default scores avoid it; empty for others."""
    return IF_AVOIDED if all(c.after is not None and c.after.verdict == BY_SCORES for c in changes) else ""


def _is_in(home: Location | None, place: Location | None) -> bool:
    return home is not None and place is not None and home.path == place.path


def _ending(cell: Cell | None, changes: Sequence[CellChange]) -> str:
    """Return the word of a cell; for one event with the pods that run: ``fails (3/4)``."""
    text = "" if cell is None else mark(cell).rstrip("!~")
    shown = _word(cell)
    return f"{shown} ({text})" if len(changes) == 1 and shown in _BAD and text else shown


def _remarks(workload: WorkloadPlan, findings: Sequence[FindingChange], effects: Sequence[Effect]) -> Iterator[str]:
    if workload.change is not None and workload.change.remark:
        yield workload.change.remark
    if workload.zones is not None and all(map(any, workload.zones)):
        yield f"pods per zone in one placement: {' → '.join('/'.join(map(str, side)) for side in workload.zones)}"
    for before, after in workload.weakened:
        pods = f"{after.most} of {after.wanted}" if after.is_limited else f"all {after.wanted}"
        yield f"one lost {after.domain} may now take {pods} pods at once (before: {before.most} of {before.wanted})"
    if workload.mend:
        yield f"help: {workload.mend}"
    is_told = any(effect.cause for effect in effects)
    for change in findings[:SHOWN]:
        finding = change.finding
        if not is_told:
            yield finding_line(change)
        if finding.help and not workload.mend and (is_told or finding.severity is Severity.ERROR):
            yield f"help ({finding.rule}): {finding.help}"
    if len(findings) > SHOWN:
        yield f"and {many(len(findings) - SHOWN, 'more finding')}: -v lists them"


def finding_line(change: FindingChange) -> str:
    """Return ``new warning set-does-not-fit: MESSAGE (PATH:LINE)``."""
    finding = change.finding
    new = "" if change.before is not None else "new "
    message = _WORKLOADS.sub(_counted, brief(finding.message))
    return f"{new}{finding_words(change)} {finding.rule}: {message} ({at(finding.location)})"


def _counted(names: re.Match[str]) -> str:
    """Return the number of objects in a list: ``8 workloads``."""
    return many(len(_NAME.findall(names.group())) + int(names.group("more") or 0), "workload")


# --- elsewhere -------------------------------------------------------------------------------------------------------


def _lines(plan: Plan, names: Mapping[ObjectRef, str], own: Set[ObjectRef]) -> Iterator[str]:
    """Yield what else gets worse or better; ``own``: the objects whose rows tell of their findings."""
    yield from _fewer_nodes(plan, names)
    less = [change for change in plan.findings.changes if not change.is_more_severe]
    yield from _less([change for change in less if _is_of_several(change) or change.finding.object not in own])
    told = {workload.object for workload in plan.workloads if workload.is_told}
    yield from consequences(
        replace(
            plan, budgets=tuple(budget_change for budget_change in plan.budgets if budget_change.object not in told)
        )
    )
    yield from _unknown(plan, names)
    lost = [workload for workload in plan.workloads if not workload.is_told and any(c.is_lost for c in workload.cells)]
    if lost:
        events: dict[str, dict[str, None]] = {}
        for workload in lost:
            events.setdefault(names[workload.object], {}).update(
                {event_title(c.event): None for c in workload.cells if c.is_lost}
            )
        whose = [f"{name}: {first_few(list(each))}" for name, each in events.items()]
        yield f"was ok, now unknown: {many(len(whose), 'workload')} ({first_few(whose, most=SHOWN - 1)})"
    metadata = [w for w in plan.workloads if w.change is not None and w.change.actions == (METADATA,)]
    if metadata:
        whose = list(dict.fromkeys(names[workload.object] for workload in metadata))
        yield f"only metadata: {many(len(whose), 'workload')} ({first_few(whose)})"


def _only_may_fail(told: Sequence[WorkloadPlan]) -> Sequence[WorkloadPlan]:
    """Return the workloads that do not change and may fail now, unproven; none of a few, which have rows.

    None of those that failed before.
    """
    unchanged = [workload for workload in told if workload.change is None and workload.direction == WORSE]
    may_fail = [workload for workload in unchanged if {_word(c.after) for c in _moved(workload)} == {MAY_FAIL}]
    return may_fail if len(may_fail) > SHOWN else ()


def _moved(workload: WorkloadPlan) -> Iterator[CellChange]:
    return (
        change for change in workload.cells if change.after is not None and _differs(change) and not _is_new(change)
    )


def _that_may_fail(plans: Sequence[WorkloadPlan], names: Mapping[ObjectRef, str]) -> Iterator[str]:
    """Yield a line: most often they share what makes them so, a set that has become short of room."""
    for condition in ("", f", {AVOIDED}"):
        alike = (workload for workload in plans if bool(_if_avoided(_moved(workload))) is bool(condition))
        whose = list(dict.fromkeys(names[workload.object] for workload in alike))
        if whose:
            told = f"{many(len(whose), 'workload')} ({first_few(whose)})"
            yield f"may fail now{condition}, though they do not change: {told}"


def _fewer_nodes(plan: Plan, names: Mapping[ObjectRef, str]) -> Iterator[str]:
    """Yield which workloads lose all nodes that they may use, and which some, whatever runs there."""
    told = [(with_environments(names.get(o.object, o.object.title), o.environments), o) for o in plan.losses]
    none = [name for name, loss in told if loss.after == 0]
    some = [f"{name} {loss.before} → {loss.after}" for name, loss in told if loss.after]
    if none:
        yield f"{plural(len(none), 'loses', 'lose')} all nodes: {first_few(none)}"
    if some:
        yield f"may use fewer nodes: {first_few(some)}"


def _less(less: Sequence[FindingChange]) -> Iterator[str]:
    """Yield the findings that are gone or less severe, those of one severity in one line."""
    for what in dict.fromkeys((change.after is None, finding_words(change)) for change in less):
        alike = [change for change in less if (change.after is None, finding_words(change)) == what]
        rules = list(dict.fromkeys(change.finding.rule for change in alike))
        where = with_environments("", alike[0].environments)
        is_gone = what[0] and not alike[0].is_waived
        gone = f"{many(len(alike), alike[0].finding.severity.word)} gone{where}"
        text = gone if is_gone else f"{many(len(alike), 'finding')} {what[1]}"
        yield f"{text}: {first_few(rules)}"


def _unknown(plan: Plan, names: Mapping[ObjectRef, str]) -> Iterator[str]:
    """Yield why it is unknown how changed workloads end, the commonest reason first."""
    if plan.simulation is None:
        return
    changed = {workload.object for workload in plan.workloads if workload.change is not None}
    unknown = [reason for reason in reasons(plan.simulation) if reason.word == UNKNOWN]
    refs = [[plan.simulation.workloads[number].ref for number in reason.cells] for reason in unknown]
    told = [(reason, each) for reason, each in zip(unknown, refs, strict=True) if not changed.isdisjoint(each)]
    for reason, each in told[:SHOWN]:
        whose = first_few(list(dict.fromkeys(names.get(ref, ref.title) for ref in each)))
        yield f"unknown for {whose}: {said(reason)}"
    if len(told) > SHOWN:
        yield f"unknown for {many(len(told) - SHOWN, 'more reason')}: -v lists them"


def _same(plan: Plan) -> str:
    unchanged = sum(plan.findings.unchanged.values())
    same = [many(unchanged, "finding")] if unchanged else []
    same += [many(plan.same, "workload")] if plan.same else []
    parts = [f"as before: {joined(same)}"] if same else []
    if plan.unknown:
        are = plural(plan.unknown, "is", "are")
        parts.append(f"{many(plan.unknown, 'workload')} {are} unknown before and after")
    return "; ".join(parts)
