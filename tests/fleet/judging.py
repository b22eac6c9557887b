"""Plans for the tests of fleets: one set on each cluster of a folder."""

from __future__ import annotations

from collections.abc import Callable

from kubesched_lint.commands.fleet.executors import TaskExecutor
from kubesched_lint.commands.fleet.judge import PairOutcome
from kubesched_lint.commands.fleet.plan import FleetPlan, Pair, clusters_in
from kubesched_lint.commands.fleet.run import FleetRun, judge_plan, run_of
from kubesched_lint.commands.lint.run import Request
from kubesched_lint.linter.options import Options
from kubesched_lint.report.findings.footer import summary_of
from kubesched_lint.rulebook.library import Rulebook

BOOK = Rulebook.shipped()


def plan_of(manifests: str, clusters: list[tuple[str, str]]) -> FleetPlan:
    requests = ((name, Request((manifests,), path, is_one_of_many=True)) for name, path in clusters)
    return FleetPlan(tuple(Pair(name, request, Options()) for name, request in requests), BOOK, "cluster")


def on_clusters(
    manifests: str,
    folder: str,
    executor: TaskExecutor | None = None,
    lost: Callable[[str], None] = lambda reason: None,
) -> FleetRun:
    """Return the run over all clusters of a folder."""
    return judge_plan(plan_of(manifests, [*clusters_in(folder)]), summary_of, executor, lost=lost)


def fleet_of(outcomes: tuple[PairOutcome, ...]) -> FleetRun:
    """Return the run that has these outcomes."""
    return run_of(plan_of("m", [(one.name, one.cluster) for one in outcomes]), outcomes, summary_of)
