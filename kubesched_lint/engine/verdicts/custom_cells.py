"""The cells of custom resources: what their card does not know, no model of a plain workload may answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.controllers.bounds import rolling_bounds, unknown_scale
from kubesched_lint.engine.events.answers.cells import NONE, UNKNOWN, Cell
from kubesched_lint.engine.model.workloads.workload import IN_OWN_ORDER, Custom
from kubesched_lint.engine.verdicts.matrix import Matrix, Row

_AT_A_WEIGHT = "a canary that waits at a weight may want one pod more than the replicas, and that pod may find no room"


def with_custom(rows: Iterable[Row], matrix: Matrix) -> Iterator[Row]:
    """Yield each row; a cell of a custom resource becomes unknown where neither its card nor the linter can tell."""
    for row in rows:
        custom = matrix.whole.workloads[row.number].custom
        if custom is None:
            yield row
        else:
            told = ((cell, _why_unknown(cell, row.number, custom, matrix)) for cell in row.cells)
            yield replace(row, cells=tuple(_unknown(cell, why) if why else cell for cell, why in told))


def _unknown(cell: Cell, why: str) -> Cell:
    text = "?" if cell.verdict == NONE else cell.text if cell.text.endswith("?") else f"{cell.text} ?"
    return replace(
        cell, verdict=UNKNOWN, proven=False, text=text, message="", blamed=None, at=(), missing=(*cell.missing, why)
    )


def _why_unknown(cell: Cell, number: int, custom: Custom, matrix: Matrix) -> str:
    if cell.verdict == NONE and cell.event == "hpa-max":
        return _why_unscaled(number, custom, matrix)
    events = matrix.whole.parts(cell.event)
    told = next((custom.unknown[event] for event in sorted(events) if event in custom.unknown), "")
    if told == IN_OWN_ORDER and cell.ends_well and number not in matrix.whole.running:
        told = ""  # equal pods change places, so it ends well in any order
    if not told and "drain" in events:
        told = unknown_scale(matrix.whole.workloads[number], matrix.simulated.objects.budgets)
    if told:
        return "" if cell.verdict == NONE and cell.event != "rollout" else told
    may_wait = "rollout" in events and cell.ends_well and _may_wait_at_a_weight(number, matrix)
    return _AT_A_WEIGHT if may_wait else ""


def _why_unscaled(number: int, custom: Custom, matrix: Matrix) -> str:
    """Return why the linter does not follow the autoscaler that targets the resource; empty if there is none."""
    scalers = (scaler for scaler in matrix.simulated.objects.autoscalers if scaler.target == custom.resource)
    scaler, workload = next(scalers, None), matrix.whole.workloads[number]
    if scaler is None or workload.suspended or (custom.replica_pods and workload.kind != "Job"):
        return ""
    why = "the linter scales no Jobs" if custom.replica_pods else "its card has no `replica_pods`: no scale subresource"
    return f"{scaler.kind} {scaler.name} targets it, and {why}"


def _may_wait_at_a_weight(number: int, matrix: Matrix) -> bool:
    """Whether a canary needs a pod beside all replicas, and counting does not prove that there is room for it."""
    workload, place = matrix.whole.workloads[number], matrix.place(number)
    if place is None or not workload.strategy.by_weight or not rolling_bounds(workload.strategy, workload.replicas)[0]:
        return False
    return not count(matrix.simulated.member(place), "rollout").is_fine
