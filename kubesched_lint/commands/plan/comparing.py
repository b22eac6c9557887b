"""What two simulations of an environment say about a change: cells that differ, rollouts that hang, drains blocked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.commands.plan.plan_result import BudgetChange, CellChange, StuckRollout
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.events.answers.cells import BAD, UNKNOWN, Cell
from kubesched_lint.engine.events.answers.order import BETTER, WORSE, differs
from kubesched_lint.engine.model.policy import DisruptionBudget


def cell_changes(
    before: SimulationReport | None, after: SimulationReport | None
) -> Iterator[tuple[ObjectRef, tuple[CellChange, ...]]]:
    """Yield the workloads with changed cells."""
    old, new = _cells(before), _cells(after)
    for ref in {**old, **new}:
        ours, theirs = old.get(ref, {}), new.get(ref, {})
        pairs = ((event, ours.get(event), theirs.get(event)) for event in {**ours, **theirs})
        changed_cells = tuple(_cell_change(after, *pair) for pair in pairs if differs(*pair[1:]))
        if changed_cells:
            yield ref, changed_cells


def _cell_change(after: SimulationReport | None, event: str, ours: Cell | None, theirs: Cell | None) -> CellChange:
    place = after.place(theirs) if after is not None and theirs is not None else None
    return CellChange(event, ours, theirs, place)


def established_never(before: SimulationReport | None, after: SimulationReport | None) -> frozenset[ObjectRef]:
    """Return the workloads with a cell that is established neither before nor after the change."""
    old, new = _cells(before), _cells(after)
    return frozenset(
        ref
        for ref, ours in old.items()
        for event, cell in ours.items()
        if cell.verdict == UNKNOWN and (other := new.get(ref, {}).get(event)) and other.verdict == UNKNOWN
    )


def unknown_in(simulation: SimulationReport | None) -> frozenset[ObjectRef]:
    """Return the workloads with a cell that is not established."""
    cells_by_ref = _cells(simulation)
    return frozenset(ref for ref, cells in cells_by_ref.items() if any(c.verdict == UNKNOWN for c in cells.values()))


def explained(
    after: SimulationReport | None,
    cells: Mapping[ObjectRef, Sequence[CellChange]],
    changed_themselves: Collection[ObjectRef],
) -> SimulationReport | None:
    """Return the simulation with the cells that reports show only, without those that became better."""
    if after is None or not cells:
        return None
    rows = []
    for row in after.rows:
        ref = after.workloads[row.number].ref
        changes = [change for change in cells.get(ref, ()) if change.direction != BETTER and change.is_told]
        is_told = ref in changed_themselves or any(change.direction == WORSE for change in changes)
        changed = {change.event for change in changes if is_told}
        rows.append(replace(row, cells=tuple(cell for cell in row.cells if cell.event in changed)))
    return replace(after, rows=tuple(row for row in rows if row.cells), skews=(), notes=(), errors=())


def _cells(simulation: SimulationReport | None) -> Mapping[ObjectRef, Mapping[str, Cell]]:
    if simulation is None:
        return {}
    return {simulation.workloads[r.number].ref: {c.event: c for c in r.cells} for r in simulation.rows}


def budget_changes(cells: Mapping[ObjectRef, Sequence[CellChange]]) -> Iterator[BudgetChange]:
    for ref, changes in cells.items():
        for change in changes:
            ends = ((_blocking(change.before), change.before, False), (_blocking(change.after), change.after, True))
            if ends[0][0] != ends[1][0]:
                for name, cell, is_new in ends:
                    if name and cell is not None:
                        yield BudgetChange(name, ref, is_new, cell.always_stuck)


def stuck_rollouts(after: SimulationReport | None, started: Collection[ObjectRef]) -> Iterator[StuckRollout]:
    """Yield the rollouts of workloads whose template the change differs in, if they are proven never to end."""
    if after is None:
        return
    for row in after.rows:
        ref = after.workloads[row.number].ref
        for cell in row.cells:
            if ref in started and cell.event == "rollout" and cell.verdict == BAD and cell.proven and cell.always_stuck:
                yield StuckRollout(ref, cell.why, after.place(cell))


def _blocking(cell: Cell | None) -> str:
    """Return the budget that keeps a drain from ending; empty if none does."""
    is_stuck = cell is not None and cell.event == "drain" and cell.stuck
    return cell.blamed.name if is_stuck and cell is not None and isinstance(cell.blamed, DisruptionBudget) else ""
