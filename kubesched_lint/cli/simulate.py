"""``kubesched-lint simulate``: what each event, such as a rollout or a zone loss, may do to each workload."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.cli.options import (
    EVENTS,
    READING,
    Color,
    ColorOption,
    Env,
    OneTarget,
    OptionalPaths,
    Verbose,
    events_in,
    takes,
)
from kubesched_lint.cli.parser import Command
from kubesched_lint.cli.sets import with_sets
from kubesched_lint.cli.settings import cluster_of, settle, tell_configuration
from kubesched_lint.cli.targets import Aim, aims
from kubesched_lint.commands.lint.nothing import nothing_checked
from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.commands.lint.unjudged import nothing_judged
from kubesched_lint.commands.simulate.run import of_named
from kubesched_lint.commands.simulate.run import simulate as simulated
from kubesched_lint.commands.simulate.simulation_options import SimulationOptions
from kubesched_lint.commands.simulate.simulation_report import SimulationReport, merged
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.printing import say, say_exactly, tell
from kubesched_lint.progress import shown
from kubesched_lint.report.palette import terminal_width, wants_color
from kubesched_lint.report.simulation.report import as_html_fragment, as_json, as_text, explained

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

_NODES = "node/NAME, zone=a, or other labels; repeatable, like all hypotheses"


def _repeatable(metavar: str, words: str) -> Any:
    return typer.Option(metavar=metavar, help=words, show_default=False)


class SimulationFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    HTML = "html-fragment"


@app.command(cls=Command, short_help="Show what deploys, rollouts and losses do to each workload.")
@takes("cluster", *READING)
def simulate(
    context: typer.Context,
    paths: OptionalPaths = None,
    *,
    target: OneTarget = None,
    env: Env = None,
    events: Annotated[str, typer.Option(metavar="EVENT,…", help="Events to simulate, some of these.")] = EVENTS,
    output: Annotated[SimulationFormat, typer.Option("--format", "-f", help="Output format.")] = SimulationFormat.TEXT,
    picture: Annotated[str, typer.Option(metavar="EVENT", help="Draw the cluster before and after this event.")] = "",
    group_by: Annotated[
        str,
        typer.Option(metavar="KEY", help="Group the nodes of the picture by this label (default: one that is used)."),
    ] = "",
    never_ready: Annotated[
        list[str] | None,
        _repeatable("NAMESPACE/NAME", "Assume that new pods of this workload never become ready. Repeatable."),
    ] = None,
    scale: Annotated[
        list[str] | None,
        _repeatable(
            "NAME=N", "Also simulate scaling this workload to N replicas; [KIND/][NAMESPACE/]NAME=N. Repeatable."
        ),
    ] = None,
    lose: Annotated[
        list[str] | None,
        _repeatable("NODES[:END]", f"Also simulate the loss of these nodes: {_NODES}. END: deleted, unreachable."),
    ] = None,
    taint: Annotated[
        list[str] | None, _repeatable("[NODES:]KEY[=VALUE]:EFFECT", "Also simulate this taint on nodes.")
    ] = None,
    unlabel: Annotated[
        list[str] | None, _repeatable("[NODES:]KEY", "Also simulate that nodes lose this label.")
    ] = None,
    add: Annotated[
        list[str] | None,
        _repeatable("NODES=N", "Also simulate N more nodes like these; or GROUP=N, for a node group."),
    ] = None,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Also simulate an upgrade: each node is drained and replaced in turn.")
    ] = False,
    upgrade_nodes: Annotated[
        list[str] | None, _repeatable("NODES", "Also simulate an upgrade of these nodes only.")
    ] = None,
    image_change: Annotated[
        bool, typer.Option("--image-change", help="Also simulate that all workloads roll out at once.")
    ] = False,
    states: Annotated[int, typer.Option(min=1, help="Maximum number of states that one search visits.")] = 4_000,
    seed: Annotated[int, typer.Option(help="Seed of the random runs that replace a too large search.")] = 1,
    explain: Annotated[
        list[str] | None,
        _repeatable("NAME", "Say only why this workload ends so, with a trace; [KIND/][NAMESPACE/]NAME. Repeatable."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show also the rows that are ok in every event.")] = False,
    verbose: Verbose = False,
    color: ColorOption = Color.AUTO,
    **shared: Any,
) -> None:
    """Show, before you deploy, what each event may do to each workload.

    Exits with 1 when a cell fails (!) or the API server refuses an object, with 2 when an input cannot be read. A cell
    that fails only here, may fail or is unknown does not change the exit code.

    Examples:

      kubesched-lint simulate manifests/ --cluster nodes.json

      kubesched-lint simulate shop/ -c cluster.yaml --events deploy,zone-loss --picture zone-loss

      kubesched-lint simulate shop/ -c cluster.yaml --scale web=15 --scale shop/api=4

      kubesched-lint simulate shop/ -c cluster.yaml --lose zone=eu-west-1a --scale web=20

      kubesched-lint simulate shop/ -c cluster.yaml --unlabel disktype --upgrade

      kubesched-lint simulate manifests/ -c nodes.json --explain shop/web

      kubesched-lint simulate --target prod-eu
    """
    settings = with_sets(context, settle(context, paths or ()), paths or ())
    wishes = SimulationOptions(
        tuple(never_ready or ()),
        tuple(scale or ()),
        (
            *(("lose", text) for text in lose or ()),
            *(("taint", text) for text in taint or ()),
            *(("unlabel", text) for text in unlabel or ()),
            *(("add", text) for text in add or ()),
            *([("upgrade", "")] if upgrade else ()),
            *(("upgrade", text) for text in upgrade_nodes or ()),
            *([("image-change", "")] if image_change else ()),
        ),
        group_by,
        skews=output is SimulationFormat.JSON or (verbose and not explain),
    )
    asked = _Asked(events_in(events), tuple(env or ()), Effort(states=states, seed=seed), picture, wishes)
    found = aims(context, settings, paths or (), target)
    try:
        if picture and len(found) > 1:
            raise ValueError("--picture shows one cluster: choose a target with --target")
        tell_configuration(*(aim.settings for aim in found))
        parts = [(aim.name, _report(context, aim, asked)) for aim in found]
        simulation = parts[0][1] if len(parts) == 1 else merged(parts, ())
        if explain:
            simulation = of_named(simulation, explain)
    except (ClusterError, ValueError) as error:
        tell(f"error: {error}")
        raise typer.Exit(2) from None
    match output:
        case SimulationFormat.TEXT:
            painted = wants_color(color.value, sys.stdout, os.environ)
            room = terminal_width(sys.stdout, os.environ)
            if explain and simulation.rows:
                text = explained(simulation, color=painted, room=room)
            else:
                text = as_text(simulation, color=painted, room=room, verbose=verbose, every_row=every)
            say(text, painted=painted)
        case SimulationFormat.JSON:
            say_exactly([as_json(simulation), "\n"])
        case SimulationFormat.HTML:
            say_exactly([as_html_fragment(simulation), "\n"])
    raise typer.Exit(2 if simulation.errors else 1 if simulation.is_bad else 0)


class _Asked(Struct, frozen=True):
    """What the user asks of each target."""

    events: Sequence[str]
    environments: tuple[str, ...]
    effort: Effort
    picture: str
    wishes: SimulationOptions


def _report(context: typer.Context, aim: Aim, asked: _Asked) -> SimulationReport:
    """Return the report on the paths of a target, or those of the user. Raises ClusterError and ValueError."""
    settings = aim.settings
    options = replace(settings.options, environments=asked.environments)
    nodes = cluster_of(context, settings)
    manifests = read_manifests(aim.paths, options, render=settings.flag("render"), cluster=settings.maybe("cluster"))
    of = f" of {aim.name}" if aim.name else ""
    with shown(f"simulating {many(len(manifests.inventory.workloads), 'workload')}{of}"):
        found = simulated(manifests, nodes, options, asked.events, asked.effort, asked.picture, wishes=asked.wishes)
    nothing = nothing_checked(manifests, options, aim.paths) if manifests.is_empty else None
    if error := nothing or nothing_judged(manifests, aim.paths):
        found = replace(found, errors=(*found.errors, error))
    return found
