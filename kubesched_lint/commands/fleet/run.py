"""Judge a plan, and make one report: tasks for any executor; what workers lose, this process judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.fleet.executors import TaskExecutor
from kubesched_lint.commands.fleet.judge import PairOutcome, judge_here
from kubesched_lint.commands.fleet.plan import FleetPlan
from kubesched_lint.commands.fleet.tasks import Task, tasks_of
from kubesched_lint.commands.fleet.workers import Lost
from kubesched_lint.commands.lint.known import gone_from_all
from kubesched_lint.commands.lint.merging import merged
from kubesched_lint.commands.lint.remarks import with_notes, with_unused_baseline
from kubesched_lint.findings import Report, TargetSummary
from kubesched_lint.project.baseline import KnownFinding, gone_note

_IN_FLIGHT = 64
"""Maximum number of submitted tasks, which limits the snapshots in memory."""
_LOOK_AFTER = 0.5
"""Seconds without a result after which we check whether the workers are alive."""


class FleetRun(Struct, frozen=True):
    """The outcome of every pair in the order of the plan, and the report that they make together."""

    report: Report
    outcomes: tuple[PairOutcome, ...]
    gone: tuple[KnownFinding, ...] = ()
    """What the baseline holds and no pair shows."""
    noun: str = "target"

    def files(self) -> Sequence[str]:
        return sorted({path for outcome in self.outcomes for path in outcome.files})

    def rendered_lines(self, path: str) -> Sequence[str]:
        return next((outcome.rendered[path] for outcome in self.outcomes if path in outcome.rendered), ())

    def extras(self) -> None:
        """None: a matrix and a picture are about one cluster."""


def judge_plan(
    plan: FleetPlan,
    summary_of: Callable[[str, Report], TargetSummary],
    executor: TaskExecutor | None = None,
    *,
    lost: Callable[[str], None] = lambda reason: None,
) -> FleetRun:
    """Return the run over all pairs, by this process without an executor; ``summary_of`` words a name and a report.

    A task that a worker loses is judged by this process; at the end ``lost`` is called with each reason. Before the
    first task it is called with the executor's warning.

    Raises UnknownRuleError, ChangedError or BaselineError.
    """
    plan.pairs[0].options.rules(plan.rulebook)
    if executor is None:
        tasks = tasks_of(plan, 0, see_files=True)
        outcomes = [outcome for task in tasks for outcome in judge_here(task)]
    else:
        if executor.warning:
            lost(executor.warning)
        tasks = tasks_of(plan, executor.workers, see_files=executor.sees_files)
        outcomes = list(_submitted(tasks, executor, lost))
    by_name = {outcome.name: outcome for outcome in outcomes}
    return run_of(plan, tuple(by_name[pair.name] for pair in plan.pairs), summary_of)


def run_of(
    plan: FleetPlan, outcomes: tuple[PairOutcome, ...], summary_of: Callable[[str, Report], TargetSummary]
) -> FleetRun:
    """Return the run that has these outcomes, in the order of the plan."""
    reports = {outcome.name: outcome.report for outcome in outcomes}
    request = plan.pairs[0].request
    report = merged(reports, {pair.name: pair.request.paths for pair in plan.pairs}, request.configuration)
    summaries = tuple(summary_of(name, target_report) for name, target_report in reports.items())
    report = replace(report, summary=replace(report.summary, targets=summaries))
    if not request.baseline:
        return FleetRun(with_unused_baseline(report, plan.rulebook, reports), outcomes, (), plan.noun)
    gone = gone_from_all([(outcome.gone, outcome.absent) for outcome in outcomes]) if plan.are_all else ()
    return FleetRun(with_notes(report, *gone_note(gone, request.baseline)), outcomes, gone, plan.noun)


# --- workers --------------------------------------------------------------------------------------------------------


def _submitted(tasks: Iterator[Task], executor: TaskExecutor, tell: Callable[[str], None]) -> Iterator[PairOutcome]:
    """Yield the outcomes as they come. ``tell`` is called at the end with what workers lost, and why."""
    lost = Lost(tell)
    waiting: dict[Future[Any], Task] = {}
    while True:
        while len(waiting) < _IN_FLIGHT and (task := next(tasks, None)) is not None:
            if task.stays:
                yield from judge_here(task)
                continue
            try:
                waiting[executor.submit(task)] = task
            except Exception as error:  # a broken pool accepts no more tasks
                yield from _again(task, error, lost)
        if not waiting:
            break
        done, _ = wait(waiting, timeout=_LOOK_AFTER, return_when=FIRST_COMPLETED)
        if not done and not executor.is_alive():
            for future, task in waiting.items():
                future.cancel()
                yield from _again(task, BrokenExecutor(), lost)
            waiting.clear()
        for future in done:
            task = waiting.pop(future)
            outcomes = _outcomes(future, task, executor)
            yield from _again(task, outcomes, lost) if isinstance(outcomes, BaseException) else outcomes
    lost.tell_all()


def _outcomes(future: Future[Any], task: Task, executor: TaskExecutor) -> tuple[PairOutcome, ...] | BaseException:
    """Return the outcomes, or the worker's exception; raising it could end this process, as SystemExit does."""
    try:
        failure = future.exception()
        return executor.outcomes(future, task) if failure is None else failure
    except Exception as error:
        return error


def _again(task: Task, error: BaseException, lost: Lost) -> Iterator[PairOutcome]:
    """Yield the outcomes of a lost task."""
    lost.note((pair.name for pair in task.pairs), error)
    return judge_here(task)
