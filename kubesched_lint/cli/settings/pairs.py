"""Plans of pairs (set, cluster), from targets or from a folder of clusters, and who judges them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from kubesched_lint.cli.settings.settings import Settings
from kubesched_lint.cli.settings.targets import clusters_of, has_whole_baseline, settings_of
from kubesched_lint.commands.fleet.executors import executor_of
from kubesched_lint.commands.fleet.plan import FleetPlan, Pair
from kubesched_lint.commands.fleet.run import FleetRun, judge_plan
from kubesched_lint.commands.lint.run import Request
from kubesched_lint.printing import tell
from kubesched_lint.project.config.keys import Target
from kubesched_lint.report.findings.footer import summary_of


def of_targets(
    request: Request,
    settings: Settings,
    targets: Sequence[Target],
    compared: Callable[[Request, str], Request] | None = None,
    *,
    names_files: bool = False,
) -> FleetPlan:
    """Return the plan for targets: a flag overrides the settings of each.

    ``compared`` adds what the target of a name is compared with.
    """

    request = replace(request, clusters_beside=clusters_of(settings))

    def pair(target: Target) -> Pair:
        own = settings_of(settings, target)
        alone = _one_of_many(request, own, own.maybe("cluster"))
        alone = replace(alone, paths=target.paths, progress=None)
        return Pair(target.name, alone if compared is None else compared(alone, target.name), own.options)

    are_all = has_whole_baseline(settings, targets)
    return FleetPlan(tuple(map(pair, targets)), settings.rulebook, are_all=are_all, names_files=names_files)


def of_clusters(request: Request, settings: Settings, clusters: Sequence[tuple[str, str]]) -> FleetPlan:
    """Return the plan for one set on several clusters: (name, path) of each."""
    options = settings.options
    request = replace(request, clusters_beside={os.path.realpath(path): path for _, path in clusters})
    pairs = (Pair(name, _one_of_many(request, settings, path), options) for name, path in clusters)
    return FleetPlan(tuple(pairs), settings.rulebook, "cluster", has_whole_baseline(settings, ()))


def _one_of_many(request: Request, settings: Settings, cluster: str | None) -> Request:
    return replace(request, cluster=cluster, cluster_options=settings.cluster_options, is_one_of_many=True)


def judged(plan: FleetPlan, executor: str) -> FleetRun:
    """Return the run over a plan by the executor of a name, as ``--executor`` has it.

    Raises FleetError, UnknownRuleError, ChangedError or BaselineError.
    """
    with executor_of(executor, len(plan.pairs)) as workers:
        return judge_plan(plan, summary_of, workers, lost=lambda reason: tell(f"warning: {reason}"))
