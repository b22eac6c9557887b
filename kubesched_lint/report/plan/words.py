"""The words of a plan, which text, Markdown and HTML share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from msgspec.structs import replace

from kubesched_lint.commands.plan.changes import (
    CREATED,
    METADATA,
    REMOVED,
    SCALED,
    FieldChange,
    ObjectChange,
)
from kubesched_lint.commands.plan.plan_result import CellChange, Plan, WorkloadPlan
from kubesched_lint.commands.plan.room import Eviction, IdleChange
from kubesched_lint.engine.base.text import SHOWN, first_few, joined, many
from kubesched_lint.engine.events.answers.cells import UNKNOWN, Cell
from kubesched_lint.engine.events.answers.order import BETTER, WORSE
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.placing.growth.plan import Added
from kubesched_lint.findings import Finding, Severity
from kubesched_lint.linter.environments.environments import with_environments
from kubesched_lint.project.finding_changes import FindingChange
from kubesched_lint.report.wording.verdict_words import event_title, mark, verdict_words
from kubesched_lint.report.wording.words import nodes_in_short

_NOTHING = "–"


def title(plan: Plan) -> str:
    return f"plan: {plan.before} → {plan.after}"


def name(workload: WorkloadPlan) -> str:
    """Return the name of a workload, with the environments in which its plan holds: ``Deployment shop/web (prod)``."""
    return with_environments(str(workload.object), workload.environments)


def judged(plan: Plan) -> str:
    """Return the line that names the sides, every environment and the cluster."""
    environments = "" if _has_each_a_cluster(plan) else f" in {joined(plan.environments)}"
    return f"{title(plan)}{environments}{f' on {plan.cluster}' if plan.cluster else ''}"


def judged_in_short(plan: Plan) -> Sequence[str]:
    """Return ``judged prod and staging on 9 nodes (cluster/nodes.json, 9 days old)``, and for few cells less."""
    every = plan.environments
    where = f" {joined(every) if len(every) <= SHOWN else first_few(every)}" if every else ""
    if every and _has_each_a_cluster(plan):
        return [f"judged{where}, each on its cluster"]
    nodes = f" on {nodes_in_short(plan.cluster)}" if plan.cluster else ""
    number = f" {many(len(every), 'environment')}" if every else ""
    return [f"judged{each}{nodes}" for each in dict.fromkeys((where, number, ""))]


def _has_each_a_cluster(plan: Plan) -> bool:
    """Whether the words about the cluster begin with some environments, as those of several targets do, or none is."""
    named = plan.cluster.partition(": ")[0].split(", ")
    return not plan.environments or named[0] in plan.environments


def by_importance(workloads: Sequence[WorkloadPlan]) -> list[WorkloadPlan]:
    """Return the rows of reports: changed workloads, worse ones first, then others, those with only metadata last."""

    def rank(workload: WorkloadPlan) -> tuple[bool, bool, int]:
        is_metadata = workload.change is not None and workload.change.actions == (METADATA,)
        order = {WORSE: 0, BETTER: 2}.get(workload.direction, 1)
        return (
            is_metadata,
            workload.change is None,
            order - (workload.hangs(proven=False) or workload.hangs(proven=True)),
        )

    return sorted((workload for workload in workloads if workload.is_told), key=rank)


def actions(change: ObjectChange | None) -> str:
    """Return ``rolled out, scaled 6 → 4`` or ``created (6 pods)``."""
    if change is None:
        return "not changed itself"
    words = []
    for action in change.actions:
        if action == SCALED and change.replicas is not None:
            action = f"{SCALED} {change.replicas[0]} → {change.replicas[1]}"
        elif action in (CREATED, REMOVED) and change.replicas is not None:
            action = f"{action} ({many(max(change.replicas), 'pod')})"
        words.append(action)
    return ", ".join(words)


def of_object(change: ObjectChange) -> str:
    """Return the change of an object that is no workload, in one line."""
    text = f"{change.object} {actions(change)}"
    told = "; ".join((*([change.remark] if change.remark else []), *fields(change)))
    return f"{text}: {told}" if told else text


def fields(change: ObjectChange) -> Iterator[str]:
    """Yield the changed fields, with the values that may be shown."""
    for field in change.fields[:SHOWN]:
        yield _field(field)
    if len(change.fields) > SHOWN:
        yield f"and {many(len(change.fields) - SHOWN, 'more field')}"


def _field(field: FieldChange) -> str:
    return f"{field.text}: {field.before} → {field.after}" if field.before and field.after else field.text


def arrow(change: CellChange) -> str:
    """Return ``3/6! → 3/4!``; with the numbers of pods where both cells have the same text."""
    before, after = _text(change.before), _text(change.after)
    if before == after and change.before and change.after:
        before, after = (f"{text} ({_ran(cell)})" for text, cell in ((before, change.before), (after, change.after)))
        if change.before.proven is not change.after.proven and before == after:
            before, after = (verdict_words(cell) for cell in (change.before, change.after))
    return f"{before} → {after}"


def _text(cell: Cell | None) -> str:
    return _NOTHING if cell is None else mark(cell)


def _ran(cell: Cell) -> str:
    return f"{cell.bound} of {cell.wanted} run"


def reasons(cell: Cell) -> Iterator[str]:
    """Yield the reason of a cell that is not fine, the message of Kubernetes and one course of events."""
    if not cell.is_harmless:
        yield f"{event_title(cell.event)} {mark(cell)}: {cell.why or verdict_words(cell)}"
        if cell.message:
            yield f"{cell.says}: {cell.message}"
        if cell.worst is not None:
            yield f"one way it ends badly: {'; '.join(cell.worst.lines)}"
        yield from (f"missing: {missing}" for missing in cell.missing)


def stays_fine(change: CellChange) -> bool:
    """Return whether only numbers of pods differ, and nothing goes wrong before or after."""
    return all(cell is None or cell.is_harmless for cell in (change.before, change.after))


def cell_note(change: CellChange) -> str:
    """Return what is known of the cell after the change, in words."""
    if change.after is None:
        return "the workload is gone"
    is_unknown = change.before is not None and change.before.verdict == UNKNOWN
    return verdict_words(change.after) + (", unknown before" if is_unknown else "")


def cells_in_order(cells: Sequence[CellChange]) -> list[CellChange]:
    """Return the cells of a workload that reports show, worse ones first."""
    order = {WORSE: 0, BETTER: 2}
    return sorted((change for change in cells if change.is_told), key=lambda change: order.get(change.direction, 1))


def fine_events(cells: Sequence[CellChange]) -> str:
    """Return ``still ok: HPA max 2 → 4 pods, drain …``, or ``ok: deploy``; empty without such cells."""
    fine = [change for change in cells if stays_fine(change)]
    stay = [f"{event_title(c.event)} {_sizes(c.before, c.after)}" for c in fine if c.before and c.after]
    new = [event_title(c.event) for c in fine if c.before is None and _is_fine(c.after)]
    return f"still ok: {', '.join(stay)}" if stay else f"ok: {', '.join(new)}" if new else ""


def _sizes(before: Cell, after: Cell) -> str:
    """Return ``2 → 4 pods``; the marks where these differ."""
    ends = (
        (f"{cell.wanted:,}" for cell in (before, after)) if mark(before) == mark(after) else map(mark, (before, after))
    )
    unit = " pods" if mark(before) == mark(after) else ""
    return f"{' → '.join(ends)}{unit}"


def _is_fine(cell: Cell | None) -> TypeGuard[Cell]:
    return cell is not None and cell.ends_well


# --- findings -------------------------------------------------------------------------------------------------------


def findings_heading(plan: Plan) -> str:
    changes = plan.findings
    parts = [f"{len(changes.new)} new", f"{len(changes.gone)} gone"]
    parts += [f"{len(changes.others)} of another severity"] if changes.others else []
    return f"findings: {', '.join(parts)}, {unchanged(changes.unchanged)}"


def unchanged(counts: Mapping[Severity, int]) -> str:
    """Return ``3 unchanged (2 errors, 1 note)``."""
    words = ", ".join(many(counts[s], s.word) for s in reversed(Severity) if counts.get(s))
    return f"{sum(counts.values())} unchanged" + (f" ({words})" if words else "")


def finding_sign(change: FindingChange) -> str:
    return "+" if change.before is None else "-" if change.after is None else "~"


def finding_words(change: FindingChange) -> str:
    """Return the severity, with both where it changes, whether a waiver is the reason, and in which targets."""
    before, after = change.before, change.after
    words = change.finding.severity.word
    if isinstance(before, Finding) and isinstance(after, Finding):
        words = f"{before.severity.word} → {after.severity.word}"
    words = f"{words} ({'no longer waived' if after else 'waived now'})" if change.is_waived else words
    return with_environments(words, change.environments)


# --- nodes, pods, budgets, room ---------------------------------------------------------------------------------------


def consequences(plan: Plan) -> Iterator[str]:
    """Yield sentences about nodes of pools, preemption and budgets."""
    more = [node for node in plan.nodes if node.count > 0]
    less = [replace(node, count=-node.count) for node in plan.nodes if node.count < 0]
    if more:
        yield f"the pools would add {', '.join(map(_with, more))}"
    if less:
        yield f"the pools would no longer add {', '.join(map(_with, less))}"
    for idle in plan.idle:
        count = replace(idle, count=abs(idle.count))
        verb = "could give back" if idle.count > 0 else "could no longer give back"
        yield f"autoscalers {verb} {_with(count)}, which hold no pods but those of DaemonSets in one placement"
    yield from (f"{evicts(eviction)} in one placement by the default scheduler" for eviction in plan.evictions)
    yield from (f"{evicts(eviction)} no longer" for eviction in plan.spared)
    for budget_change in plan.budgets:
        verb = "no longer blocks" if not budget_change.is_new else "blocks" if budget_change.always else "may block"
        whose = with_environments(str(budget_change.object), budget_change.environments)
        yield f"PodDisruptionBudget {budget_change.budget} {verb} drains of nodes with pods of {whose}"


def _with(node_change: Added | IdleChange) -> str:
    return with_environments(str(node_change), node_change.environments)


def evicts(eviction: Eviction) -> str:
    by = with_environments(str(eviction.by), eviction.environments)
    return f"{by} evicts {many(len(eviction.pods), 'running pod')} ({first_few(eviction.pods)})"


def room(plan: Plan) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return (head, rows) of the table of free room, before → after; zones are rows, resources are columns."""
    resources = list(dict.fromkeys(room_change.resource for room_change in plan.room))
    table: dict[str, dict[str, str]] = {}
    for room_change in plan.room:
        ends = (
            _NOTHING if n is None else _amount(room_change.resource, n) for n in (room_change.before, room_change.after)
        )
        where = with_environments(room_change.zone or "no zone", room_change.environments)
        table.setdefault(where, {})[room_change.resource] = " → ".join(ends)
    rows = [(where, *(cells.get(r, "") for r in resources)) for where, cells in table.items()]
    return ("free", *resources), rows


def _amount(resource: str, amount: int) -> str:
    return f"−{show(resource, -amount)}" if amount < 0 else show(resource, amount)
