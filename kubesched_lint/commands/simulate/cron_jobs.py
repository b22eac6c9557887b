"""Rows for CronJobs: one run of each, beside all other workloads and a run of every other CronJob."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import BAD, Cell, cut_short, nothing
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.scenarios import cron_runs, with_cron_runs
from kubesched_lint.engine.runs.courses import Effort, Wanted
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.matrix import Row
from kubesched_lint.engine.verdicts.table import Table
from kubesched_lint.explaining.ends.bad_ends import holds_alone

RUN = "deploy"
"""The event whose cell shows a run: its pods are created."""
_OVERLAP = "one run of every other CronJob is under way"


def rows_of_runs(
    scenario: Scenario,
    cluster: Cluster,
    effort: Effort,
    prepared: Callable[[SimulatedSet], SimulatedSet],
    events: Sequence[str],
    only: Collection[ObjectRef] | None,
) -> Iterator[tuple[Workload, Row]]:
    """Yield each CronJob with its row, which has a number of its own; the other events do not concern a run."""
    of = cron_runs(scenario)
    runs = {run.ref: cron_job for cron_job, run in of.items() if only is None or cron_job.ref in only}
    if not runs or RUN not in events:
        return
    short = ((cron_job, Row(0, (cut_short(RUN, cron_job.replicas, work.WHY),))) for cron_job in runs.values())

    def wanted(ref: ObjectRef, event: str) -> Wanted:
        return effort.wanted(runs[ref].ref, event) if ref in runs else Wanted.PROVEN_BAD

    of_runs = effort._replace(wanted=wanted)
    rows = work.tried(
        lambda: list(_judged(Table(with_cron_runs(scenario), cluster, of_runs, prepared, runs), runs)), None, 2
    )
    for cron_job, row in short if rows is None else rows:  # the rows of all other workloads stand
        shown = _alone(row.cells[0], of)
        yield cron_job, replace(row, cells=tuple(shown if event == RUN else nothing(event) for event in events))


def _judged(table: Table, runs: Mapping[ObjectRef, Workload]) -> Iterator[tuple[Workload, Row]]:
    for row in table.scored(table.weighed([RUN])):
        yield runs[table.simulated.workloads[row.number].ref], row


def _alone(cell: Cell, runs: Collection[Workload]) -> Cell:
    """Return what is left of a cell if the runs of other CronJobs may not be there."""
    if len(runs) == 1:
        return cell
    if cell.verdict == BAD and not holds_alone(cell, runs):
        return replace(cell, proven=False, missing=(*cell.missing, f"whether {_OVERLAP}"))
    return replace(cell, assumes=(*cell.assumes, _OVERLAP))
