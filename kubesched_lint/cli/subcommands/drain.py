"""``kubesched-lint drain``: in which waves nodes can be drained, or what makes that impossible."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from kubesched_lint.cli.parsing.options import READING, Color, ColorOption, OneTarget, OptionalPaths, Verbose, takes
from kubesched_lint.cli.parsing.parser import Command
from kubesched_lint.cli.settings.settings import cluster_of, settle, tell_configuration
from kubesched_lint.cli.settings.targets import one_aim
from kubesched_lint.commands.drain.replay import Rules
from kubesched_lint.commands.drain.run import Effort
from kubesched_lint.commands.drain.run import drain as planned
from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.printing import say, say_exactly, say_markdown, tell
from kubesched_lint.progress import shown
from kubesched_lint.report.drain.as_markdown import as_markdown
from kubesched_lint.report.drain.report import as_json, as_text
from kubesched_lint.report.terminal.palette import terminal_width, wants_color

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class DrainFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


@app.command(cls=Command, short_help="Plan the waves in which nodes can be drained.")
@takes("cluster", *READING)
def drain(
    context: typer.Context,
    paths: OptionalPaths = None,
    *,
    target: OneTarget = None,
    pool: Annotated[str, typer.Option(metavar="NAME", help="Drain the nodes of this pool.")] = "",
    nodes: Annotated[
        str, typer.Option(metavar="SELECTOR", help="Drain the nodes with these labels, or with these names: a,b.")
    ] = "",
    at_once: Annotated[int, typer.Option(min=0, help="Maximum number of nodes in a wave; 0: no limit.")] = 0,
    surge: Annotated[int, typer.Option(min=0, help="Number of new nodes that join before each wave.")] = 0,
    remove: Annotated[bool, typer.Option("--remove", help="Drained nodes do not come back.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Delete bare pods too, as kubectl does.")] = False,
    output: Annotated[DrainFormat, typer.Option("--format", "-f", help="Output format.")] = DrainFormat.TEXT,
    states: Annotated[int, typer.Option(min=1, help="Maximum number of states that one search visits.")] = 4_000,
    seed: Annotated[int, typer.Option(help="Seed of the random traces.")] = 1,
    verbose: Verbose = False,
    color: ColorOption = Color.AUTO,
    **shared: Any,
) -> None:
    """Plan before an upgrade: in which waves can nodes be drained, so that every pod finds another node?

    Starts with the pods where the cluster file shows them. Manifests are optional: with them, obstacles are blamed on
    lines of files. Without --pool and --nodes, all nodes are drained.

    Exits with 0 when a plan was found, 1 when it is proven that there is none, 2 when an input cannot be read, and 3
    when neither is established.

    Examples:

      kubesched-lint drain -c snapshot.yaml --pool general

      kubesched-lint drain manifests/ -c snapshot.yaml --nodes topology.kubernetes.io/zone=eu-west-1a --surge 1

      kubesched-lint drain -c snapshot.yaml --nodes worker-3,worker-4 --remove
    """
    aim = one_aim(context, settle(context, paths or ()), paths or (), target, needs_paths=False)
    settings = aim.settings
    tell_configuration(settings)
    try:
        cluster = cluster_of(context, settings)
        _refuse_names_of_nodes(paths or (), cluster)
        manifests = read_manifests(
            aim.paths, settings.options, render=settings.flag("render"), cluster=settings.maybe("cluster")
        )
        with shown("planning the drain"):
            plan = planned(
                manifests,
                cluster,
                settings.options,
                pool=pool,
                nodes=nodes,
                rules=Rules(surge, remove, force, at_once),
                effort=Effort(states, seed),
            )
    except (ClusterError, ValueError) as error:
        tell(f"error: {error}")
        raise typer.Exit(2) from None
    if output is DrainFormat.JSON:
        say_exactly([as_json(plan), "\n"])
    elif output is DrainFormat.MARKDOWN:
        say_markdown(as_markdown(plan))
    else:
        painted = wants_color(color.value, sys.stdout, os.environ)
        room = terminal_width(sys.stdout, os.environ)
        say(as_text(plan, color=painted, room=room, verbose=verbose), painted=painted)
    raise typer.Exit(plan.exit_code)


def _refuse_names_of_nodes(paths: Sequence[str], cluster: Cluster) -> None:
    """Raise ValueError if somebody names nodes as ``kubectl drain`` takes them, where paths are expected."""
    known = {node.name for node in cluster.inventory.nodes}
    named = [path for path in paths if path in known and not os.path.lexists(path)]
    if named:
        what = "is a node, not a path" if len(named) == 1 else "are nodes, not paths"
        raise ValueError(f"{first_few(named)} {what}: use --nodes {','.join(named)}")
