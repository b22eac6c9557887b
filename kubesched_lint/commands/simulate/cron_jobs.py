"""Rows for CronJobs: one run of each, beside all other workloads and a run of every other CronJob."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.analysis.worlds import CronRuns
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.findings import ObjectRef
from kubesched_lint.lifecycle.courses import Effort
from kubesched_lint.lifecycle.matrix import Row
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.lifecycle.verdicts import BAD, Cell, nothing
from kubesched_lint.verdicts.bad_ends import holds_alone
from kubesched_lint.verdicts.table import Table

RUN = "deploy"
"""The event whose cell shows a run: its pods are created."""
_OVERLAP = "one run of every other CronJob is under way"


def rows_of_runs(
    everybody: CronRuns,
    cluster: Cluster,
    effort: Effort,
    prepared: Callable[[Setting], Setting],
    events: Sequence[str],
    only: Collection[ObjectRef] | None,
) -> Iterator[tuple[ObjectRef, Row]]:
    """Yield each CronJob with its row; the other events do not concern a run."""
    runs = {run.ref: cron_job.ref for cron_job, run in everybody.runs.items() if only is None or cron_job.ref in only}
    if not runs or RUN not in events:
        return
    table = Table(everybody.world, cluster, effort, prepared, runs)
    for row in table.scored(table.weighed([RUN])):
        (cell,) = row.cells
        ref = runs[table.setting.workloads[row.number].ref]
        shown = _alone(cell, everybody)
        yield ref, replace(row, cells=tuple(shown if event == RUN else nothing(event) for event in events))


def _alone(cell: Cell, everybody: CronRuns) -> Cell:
    """Return what is left of a cell if the runs of other CronJobs may not be there."""
    if len(everybody.runs) == 1:
        return cell
    if cell.verdict == BAD and not holds_alone(cell, everybody.runs):
        return replace(cell, proven=False, missing=(*cell.missing, f"whether {_OVERLAP}"))
    return replace(cell, assumes=(*cell.assumes, _OVERLAP))
