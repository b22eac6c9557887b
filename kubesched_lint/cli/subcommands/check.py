"""``kubesched-lint check``: judge exactly what applying manifests to a live cluster starts."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from kubesched_lint.cli.parsing.options import JUDGING, Color, ColorOption, Env, FailOn, OneTarget, OptionalPaths, takes
from kubesched_lint.cli.parsing.parser import Command
from kubesched_lint.cli.settings.settings import cluster_of, settle, tell_configuration
from kubesched_lint.cli.settings.targets import one_aim
from kubesched_lint.commands.check.run import check as checked
from kubesched_lint.commands.lint.nothing import nothing_checked
from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.cluster.cluster import ClusterError, Live
from kubesched_lint.linter.options import BaselineError
from kubesched_lint.printing import say, say_exactly, tell
from kubesched_lint.progress import shown
from kubesched_lint.project.baseline import read_baseline
from kubesched_lint.report.check.report import as_json, as_markdown, as_text
from kubesched_lint.report.findings.footer import FAIL_ON
from kubesched_lint.report.terminal.palette import terminal_width, wants_color
from kubesched_lint.rulebook.library import UnknownRuleError
from kubesched_lint.sources.capture.role import cluster_role

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class CheckFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


@app.command(cls=Command, short_help="Judge what applying manifests to a live cluster starts.")
@takes("cluster", "baseline", *JUDGING)
def check(
    context: typer.Context,
    paths: OptionalPaths = None,
    *,
    target: OneTarget = None,
    env: Env = None,
    output: Annotated[CheckFormat, typer.Option("--format", "-f", help="Output format.")] = CheckFormat.TEXT,
    gate: Annotated[
        FailOn,
        typer.Option(
            "--fail-on",
            help="What blocks: error (proven to end badly), warning (also what fails on these nodes, or may fail).",
        ),
    ] = FailOn.ERROR,
    break_glass: Annotated[
        str | None,
        typer.Option(
            "--break-glass", metavar="REASON", help="Exit with 0 whatever blocks; every report prints the reason."
        ),
    ] = None,
    request_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Time limit for one answer of the API server.")
    ] = 20.0,
    list_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Time limit for all pages of one list.")
    ] = 60.0,
    rbac: Annotated[
        bool, typer.Option("--rbac", help="Print the ClusterRole that a live cluster has to grant, and exit.")
    ] = False,
    color: ColorOption = Color.AUTO,
    **shared: Any,
) -> None:
    """Judge exactly what applying these manifests to a live cluster starts: deploys, rollouts, scaling, budgets.

    Compares the manifests with what runs, and judges what is new or different by the events of `simulate` and the
    findings of `lint`. Needs the verb `list` only. Exits with 0 if nothing blocks, with 1 if something does, and with
    2 when a fact is missing, with the reason.

    Examples:

      kubesched-lint check manifests/ -c live

      kubesched-lint check manifests/ -c live:prod --format markdown

      kubesched-lint check --rbac | kubectl apply -f -
    """
    if rbac:
        say(cluster_role("kubesched-lint-check"))
        raise typer.Exit(0)
    if break_glass is not None and not break_glass.strip():
        context.fail("--break-glass takes the reason, which every report prints.")
    aim = one_aim(context, settle(context, paths or ()), paths or (), target, needs_paths=True)
    settings = aim.settings
    tell_configuration(settings)
    where = settings.maybe("cluster")
    options = replace(settings.options, environments=tuple(env or ()))
    try:
        manifests = read_manifests(aim.paths, options, render=settings.flag("render"), cluster=where)
        if manifests.is_empty:
            problem = nothing_checked(manifests, options, aim.paths)
            raise ValueError(f"{problem.path}: {problem.message}")
        refs = frozenset(workload.ref for workload in manifests.inventory.workloads)
        with shown("capturing the cluster"):
            cluster = cluster_of(context, settings, Live(refs, request_timeout, list_timeout))
        baseline = settings.maybe("baseline")
        known = () if baseline is None else read_baseline(baseline, settings.rulebook)
        after = Version(first_few(aim.paths), manifests, options)
        with shown("judging what this starts"):
            outcome = checked(after, cluster, settings.rulebook, FAIL_ON[gate.value], known)
            outcome = replace(outcome, shadow=settings.flag("shadow"), broken_glass=(break_glass or "").strip())
    except (BaselineError, ClusterError, UnknownRuleError, ValueError) as error:
        tell(f"error: {error}")
        raise typer.Exit(2) from None
    if output is CheckFormat.JSON:
        say_exactly([as_json(outcome), "\n"])
    elif output is CheckFormat.MARKDOWN:
        say_exactly([as_markdown(outcome)])
    else:
        painted = wants_color(color.value, sys.stdout, os.environ)
        say(as_text(outcome, color=painted, room=terminal_width(sys.stdout, os.environ)), painted=painted)
    raise typer.Exit(outcome.exit_code)
