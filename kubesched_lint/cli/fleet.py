"""``kubesched-lint fleet``: one set of manifests against many clusters, or the targets of the configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from kubesched_lint.cli.options import (
    GATING,
    Color,
    ColorOption,
    OptionalPaths,
    RequireNodeGroups,
    Targets,
    Verbose,
    takes,
)
from kubesched_lint.cli.output import tell_undecided
from kubesched_lint.cli.parser import Command
from kubesched_lint.cli.settings import Settings, settle
from kubesched_lint.cli.targets import chosen, request_of, run_targets
from kubesched_lint.commands.fleet.executors import executor_of, processes_of
from kubesched_lint.commands.fleet.run import FleetError, FleetOutcome, clusters_in, lint_fleet
from kubesched_lint.commands.lint.run import Request
from kubesched_lint.linter.options import BaselineError
from kubesched_lint.printing import OutputError, tell, write_stream
from kubesched_lint.project.baseline import KnownFinding, held_against, read_baseline
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import FAIL_ON
from kubesched_lint.report.findings.formats import write_file
from kubesched_lint.report.fleet import FORMATS, Fleet, fleet_of, render_json, render_text, worst_exit_code
from kubesched_lint.report.palette import terminal_width, wants_color
from kubesched_lint.rulebook.library import UnknownRuleError

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(cls=Command, short_help="Check one set of manifests against many clusters.")
@takes("max_age", *GATING)
def fleet(
    context: typer.Context,
    paths: OptionalPaths = None,
    *,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters", metavar="DIR", help="Folder of snapshots or sketches; each file or folder is one cluster."
        ),
    ] = None,
    target: Targets = None,
    executor: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="processes[:N], threads[:N], serial, dask://HOST:PORT or dask+tls://HOST:PORT."
        ),
    ] = "processes",
    format_: Annotated[str, typer.Option("--format", "-f", metavar="NAME", help="text or json.")] = "text",
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="File to write.  [default: standard output]")
    ] = None,
    require_node_groups: RequireNodeGroups = False,
    verbose: Verbose = False,
    color: ColorOption = Color.AUTO,
    **shared: Any,
) -> None:
    """Check one set of manifests against many clusters, and show a table of rules by clusters.

    Without paths and --clusters, checks the targets of the configuration, and shows a table of rules by targets.

    Exits with the highest exit code that `lint` would have for one of the clusters.

    Examples:

      kubesched-lint fleet manifests/ --clusters snapshots/

      kubesched-lint fleet manifests/ --clusters snapshots/ --executor dask://scheduler:8786 --format json

      kubesched-lint fleet --target prod-eu --target prod-us
    """
    if format_ not in FORMATS:
        raise typer.BadParameter(f"{format_!r} is not one of {', '.join(FORMATS)}.", param_hint="'--format'")
    settings = settle(context, paths or ())
    try:
        if clusters is None:
            found = _of_targets(context, settings, paths or (), target, executor)
        else:
            found = _of_clusters(context, settings, paths or (), target, clusters, executor)
        failing = FAIL_ON[settings.text("fail-on")]
        _show(found, RenderContext(fail_on=failing, verbose=verbose), format_, output, color.value)
        if require_node_groups:
            tell_undecided(found.report)
    except (BaselineError, FleetError, OutputError, UnknownRuleError) as error:
        tell(f"error: {error}")
        raise typer.Exit(2) from None
    raise typer.Exit(worst_exit_code(found.outcomes, failing, settings.flag("strict-skips"), require_node_groups))


def _of_clusters(
    context: typer.Context, settings: Settings, paths: Sequence[str], names: list[str] | None, clusters: str, name: str
) -> Fleet:
    """Return the outcomes of the paths in each cluster of the folder. Raises FleetError, BaselineError and others."""
    if names:
        raise typer.BadParameter("a target names its cluster; leave out --clusters.", param_hint="'--target'")
    if not paths:
        context.fail("Missing argument 'PATH…'.")
    known = settings.maybe("baseline")
    entries = None if known is None else read_baseline(known, settings.rulebook)
    found = clusters_in(clusters)
    with executor_of(name, len(found)) as chosen:
        outcomes = lint_fleet(
            paths,
            found,
            settings.options,
            settings.rulebook,
            executor=chosen,
            cluster_options=settings.cluster_options,
            render=settings.flag("render"),
            max_age=settings.maybe("max-age"),
            lost=lambda reason: tell(f"warning: {reason}"),
        )
    if entries is not None:
        outcomes = tuple(_with_baseline(outcome, entries, known or "") for outcome in outcomes)
    return fleet_of(tuple(_with_configuration(outcome, settings.in_force()) for outcome in outcomes))


def _of_targets(
    context: typer.Context, settings: Settings, paths: Sequence[str], names: list[str] | None, executor: str
) -> Fleet:
    """Return the outcomes of the targets. Raises FleetError, BaselineError and others."""
    if not settings.config.targets and not names:
        context.fail("Missing option '--clusters'.")
    if paths and not names:
        raise typer.BadParameter("needs --clusters; leave out PATH to check the targets.", param_hint="'PATH…'")
    _, targets, _ = chosen(context, settings, paths, names)
    request = Request(
        (),
        render=settings.flag("render"),
        baseline=settings.maybe("baseline"),
        max_age=settings.maybe("max-age"),
        configuration=settings.in_force(targets),
        config_file=settings.config.file,
    )
    run = run_targets(request, settings, targets, processes_of(executor))
    clusters = {target.name: request_of(request, settings, target).cluster or "" for target in targets}
    outcomes = tuple(FleetOutcome(o.name, clusters[o.name], o.report) for o in run.outcomes)
    return Fleet(outcomes, run.report, "target")


def _with_baseline(outcome: FleetOutcome, entries: tuple[KnownFinding, ...], source: str) -> FleetOutcome:
    """Return the outcome with known findings marked; an entry without a finding may belong to another cluster."""
    return replace(outcome, report=held_against(outcome.report, entries, source=source).report)


def _with_configuration(outcome: FleetOutcome, configuration: str) -> FleetOutcome:
    """Return the outcome with the footer line about the configuration."""
    summary = replace(outcome.report.summary, configuration=configuration)
    return replace(outcome, report=replace(outcome.report, summary=summary))


def _show(fleet: Fleet, plain: RenderContext, format_: str, output: str | None, color: str) -> None:
    """Write the reports. Raises OutputError."""
    render = render_json if format_ == "json" else render_text
    if output is not None:
        write_file(output, render(fleet, plain))
        return
    painted = wants_color(color, sys.stdout, os.environ)
    context = replace(plain, color=painted, width=terminal_width(sys.stdout, os.environ))
    write_stream(sys.stdout, render(fleet, context))
