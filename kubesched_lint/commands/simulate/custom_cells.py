"""The cells of custom resources: what their card does not know, no model of a plain workload may answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesched_lint.controllers.bounds import rolling_bounds
from kubesched_lint.lifecycle.counted import count
from kubesched_lint.lifecycle.matrix import Matrix, Row
from kubesched_lint.lifecycle.verdicts import FINE, NONE, UNKNOWN, Cell
from kubesched_lint.record import replace

_AT_A_WEIGHT = "a canary that waits at a weight may want one pod more than the replicas, and that pod may find no room"


def with_custom(rows: Iterable[Row], matrix: Matrix) -> Iterator[Row]:
    """Yield each row; a cell of an event that the card of a custom resource calls unknown becomes unknown."""
    for row in rows:
        if matrix.whole.workloads[row.number].custom is None:
            yield row
        else:
            yield replace(row, cells=tuple(_known(cell, row.number, matrix) for cell in row.cells))


def _known(cell: Cell, number: int, matrix: Matrix) -> Cell:
    custom = matrix.whole.workloads[number].custom
    why = custom.unknown.get(cell.event, "") if custom is not None else ""
    if not why and cell.event == "rollout" and cell.verdict == FINE and _may_wait_at_a_weight(number, matrix):
        why = _AT_A_WEIGHT
    if not why or (cell.verdict == NONE and cell.event != "rollout"):
        return cell
    text = cell.text if cell.text.endswith("?") else f"{cell.text} ?"
    return replace(
        cell, verdict=UNKNOWN, proven=False, text=text, message="", blamed=None, at=(), missing=(*cell.missing, why)
    )


def _may_wait_at_a_weight(number: int, matrix: Matrix) -> bool:
    """Whether a canary needs a pod beside all replicas, and counting does not prove that there is room for it."""
    workload, place = matrix.whole.workloads[number], matrix.place(number)
    if place is None or not workload.strategy.by_weight or not rolling_bounds(workload.strategy, workload.replicas)[0]:
        return False
    return not count(matrix.setting, "rollout", place).is_fine
