"""``kubesched-lint fleet``: one set of manifests against many clusters, or the targets of the configuration."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from kubesched_lint.cli.output import tell_undecided
from kubesched_lint.cli.parsing.options import (
    GATING,
    Color,
    ColorOption,
    OptionalPaths,
    RequireNodeGroups,
    Targets,
    Verbose,
    takes,
)
from kubesched_lint.cli.parsing.parser import Command
from kubesched_lint.cli.settings.pairs import judged, of_clusters, of_targets
from kubesched_lint.cli.settings.settings import settle
from kubesched_lint.cli.settings.targets import chosen, saying_unclaimed
from kubesched_lint.commands.fleet.plan import FleetError, clusters_in
from kubesched_lint.commands.lint.run import Request
from kubesched_lint.linter.options import BaselineError
from kubesched_lint.printing import OutputError, tell, write_stream
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import FAIL_ON, exit_code, in_shadow
from kubesched_lint.report.findings.formats import write_file
from kubesched_lint.report.fleet import FORMATS, render_json, render_text
from kubesched_lint.report.terminal.palette import terminal_width, wants_color
from kubesched_lint.rulebook.library import UnknownRuleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubesched_lint.cli.settings.settings import Settings
    from kubesched_lint.commands.fleet.plan import FleetPlan
    from kubesched_lint.commands.fleet.run import FleetRun
    from kubesched_lint.findings import Severity

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
    failing = FAIL_ON[settings.text("fail-on")]
    try:
        run = judged(_plan(context, settings, paths or (), target, clusters), executor)
        if run.noun == "target" and not target:
            run = replace(run, report=saying_unclaimed(run.report, settings))
        if settings.flag("shadow"):
            run = _in_shadow(run, failing)
        _show(run, RenderContext(fail_on=failing, verbose=verbose), format_, output, color.value)
        if require_node_groups:
            tell_undecided(run.report)
    except (BaselineError, FleetError, OutputError, UnknownRuleError) as error:
        tell(f"error: {error}")
        raise typer.Exit(2) from None
    raise typer.Exit(exit_code(run.report, failing, settings.flag("strict-skips"), require_node_groups))


def _plan(
    context: typer.Context, settings: Settings, paths: Sequence[str], names: list[str] | None, clusters: str | None
) -> FleetPlan:
    """Return the plan for the paths on each cluster of the folder, or for the targets. Raises FleetError."""
    request = Request(
        tuple(paths),
        render=settings.flag("render"),
        baseline=settings.maybe("baseline"),
        max_age=settings.maybe("max-age"),
        min_read=settings.given("min-read"),
        config_file=settings.config.file,
        cache=True,
    )
    if clusters is not None:
        if names:
            raise typer.BadParameter("a target names its cluster; leave out --clusters.", param_hint="'--target'")
        if not paths:
            context.fail("Missing argument 'PATH…'.")
        return of_clusters(replace(request, configuration=settings.in_force()), settings, clusters_in(clusters))
    if not settings.config.targets and not names:
        context.fail("Missing option '--clusters'.")
    if paths and not names:
        raise typer.BadParameter("needs --clusters; leave out PATH to check the targets.", param_hint="'PATH…'")
    _, targets, _ = chosen(context, settings, paths, names)
    return of_targets(replace(request, configuration=settings.in_force(targets)), settings, targets)


def _in_shadow(run: FleetRun, failing: Severity | None) -> FleetRun:
    outcomes = (replace(outcome, report=in_shadow(outcome.report, failing)) for outcome in run.outcomes)
    return replace(run, report=in_shadow(run.report, failing), outcomes=tuple(outcomes))


def _show(run: FleetRun, plain: RenderContext, format_: str, output: str | None, color: str) -> None:
    """Write the report. Raises OutputError."""
    render = render_json if format_ == "json" else render_text
    if output is not None:
        write_file(output, render(run, plain))
        return
    painted = wants_color(color, sys.stdout, os.environ)
    context = replace(plain, color=painted, width=terminal_width(sys.stdout, os.environ))
    write_stream(sys.stdout, render(run, context))
