"""A loss is two events: the lost nodes are deleted, or they are only unreachable. One cell shows the worse end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.admission.decision import CREATED
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.bounds.idle import idle
from kubesched_lint.engine.bounds.losses.unreachable import why_apart
from kubesched_lint.engine.controllers.daemonset import targets
from kubesched_lint.engine.events.answers.cells import (
    BAD,
    BY_SCORES,
    DEPENDS,
    FINE,
    LIKELY,
    NONE,
    REFUSED,
    UNKNOWN,
    UNREACHABLE,
    Cell,
    Range,
    nothing,
)
from kubesched_lint.engine.events.answers.counted_cells import left_open
from kubesched_lint.engine.events.start.groups import group_in
from kubesched_lint.engine.events.start.simulated_set import UNREACHABLE_OF, SimulatedMember, zones
from kubesched_lint.engine.verdicts.matrix import Matrix, Row

_OTHER_END = {deleted: unreachable for unreachable, deleted in UNREACHABLE_OF.items()}
_RANKS = {each: rank for rank, each in enumerate((NONE, FINE, LIKELY, BY_SCORES, UNKNOWN, DEPENDS, BAD, REFUSED))}
"""Best to worst; an unknown end is worse than a good one, and no worse than one that is known to be bad."""


_NOT_KNOWN = "too many steps to tell"


def both_ends(events: Sequence[str]) -> Iterator[str]:
    """Yield the events, each loss of nodes followed by what it is if the nodes are only unreachable."""
    for event in events:
        yield event
        if event in _OTHER_END:
            yield _OTHER_END[event]


def cells_of(events: Iterable[str], number: int, matrix: Matrix) -> Iterator[Cell]:
    """Yield the cells of a workload for the events of ``both_ends``.

    The cell of unreachable nodes is empty where that of deleted ones says the same: where counting tells so, and where
    traces decide but nothing of the workload itself makes a difference.
    """
    known: dict[str, Cell] = {}
    for event in events:
        if event not in UNREACHABLE_OF:
            known[event] = matrix.cell(event, number)
            yield known[event]
        else:
            yield _if_unreachable(event, number, matrix, known[UNREACHABLE_OF[event]])


def _if_unreachable(event: str, number: int, matrix: Matrix, deleted: Cell) -> Cell:
    place, simulated = matrix.place(number), matrix.simulated
    if place is None or not _are_apart(event, number, matrix):
        return nothing(event)
    if deleted.verdict == FINE or work.tried(lambda: why_apart(simulated.member(place), event), _NOT_KNOWN):
        return matrix.cell(event, number)
    if deleted.verdict not in (BAD, DEPENDS):
        return nothing(event)
    bounds = matrix.counting.bounds(event, group_in(simulated.member(place), event), place)
    return left_open(event, bounds, "a trace, which nothing follows where the end of deleted nodes is bad already", ())


def _are_apart(event: str, number: int, matrix: Matrix) -> bool:
    """Whether a workload may end otherwise on unreachable nodes than without deleted ones."""
    place, decision = matrix.place(number), matrix.whole.decisions.get(number, CREATED)
    if place is None or decision.unknown or idle(matrix.whole.member(number), event):
        return False
    members = group_in(matrix.simulated.member(place), event)
    return work.tried(lambda: matrix.counting.tells_apart(event, members, place), True, 2)


def with_worse_ends(rows: Sequence[Row], matrix: Matrix) -> tuple[Row, ...]:
    """Return the rows with one cell for both ends of a loss."""
    return tuple(replace(row, cells=tuple(_joined(row, matrix))) for row in rows)


def _joined(row: Row, matrix: Matrix) -> Iterator[Cell]:
    others = {cell.event: cell for cell in row.cells if cell.event in UNREACHABLE_OF}
    for cell in row.cells:
        other = others.get(_OTHER_END.get(cell.event, ""))
        if cell.event not in UNREACHABLE_OF:
            whole = cell if other is None else _worse(cell, other, row.number, matrix)
            left = _left_by_zone(cell, matrix.whole.member(row.number))
            yield replace(whole, why="; ".join(filter(None, (whole.why, left)))) if left else whole


def _left_by_zone(cell: Cell, member: SimulatedMember) -> str:
    """Return how many pods of a DaemonSet each zone leaves if it is lost; '' if the numbers are equal."""
    if cell.event != "zone-loss" or cell.verdict == NONE or member.workload.kind != "DaemonSet":
        return ""
    index, left = member.set.index, dict[int, list[str]]()
    run = targets(member.pod, index)[0]
    for zone, names in zones(member.set).items():
        left.setdefault((run & ~index.named(names)).bit_count(), []).append(zone)
    if len(left) < 2:
        return ""
    each = (f"{count} without zone {first_few(left[count], ' or ')}" for count in sorted(left, reverse=True))
    return f"of its {many(run.bit_count(), 'pod')} it wants {', '.join(each)}"


def _worse(deleted: Cell, other: Cell, number: int, matrix: Matrix) -> Cell:
    """Return the cell of the worse end, with both."""
    if deleted.verdict in (NONE, REFUSED):
        return deleted
    place = matrix.place(number)
    if other.verdict == NONE or place is None:
        return replace(deleted, deleted=deleted, unreachable=deleted)
    unreachable = replace(_told(other, matrix.simulated.member(place)), event=deleted.event)
    ends = {"deleted": deleted, "unreachable": unreachable}
    bound = _together(deleted.bound, unreachable.bound)
    if _badness(unreachable) <= _badness(deleted):
        return replace(deleted, bound=bound, **ends)
    text = unreachable.text if unreachable.ends_well else f"{unreachable.text.removesuffix(' ?')}{UNREACHABLE}"
    return replace(unreachable, bound=bound, text=f"{text} ?" if unreachable.text.endswith(" ?") else text, **ends)


def _badness(cell: Cell) -> tuple[int, bool, int]:
    return _RANKS[cell.verdict], cell.verdict == BAD and cell.proven, -cell.bound.least


def _together(wanted: Range, other: Range) -> Range:
    if wanted == other:
        return wanted
    return Range(
        min(wanted.least, other.least), max(wanted.most, other.most), wanted.by if wanted.by == other.by else "bound"
    )


def _told(cell: Cell, member: SimulatedMember) -> Cell:
    """Return the cell of unreachable nodes with what makes the difference, and what helps."""
    reason = work.tried(lambda: why_apart(member, cell.event), "")
    is_said = not reason or reason in cell.why or cell.ends_well
    return cell if is_said else replace(cell, why=f"{cell.why}; {reason}" if cell.why else reason)
