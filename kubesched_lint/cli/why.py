"""``kubesched-lint why``: one decision of the scheduler, node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubesched_lint.cli.options import READING, Color, ColorOption, Format, OptionalPaths, takes
from kubesched_lint.cli.parser import Command
from kubesched_lint.printing import say, say_exactly, tell

if TYPE_CHECKING:
    from kubesched_lint.model.inventory import Inventory

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


_NO_MANIFESTS = "; no manifests were given: name their files or folders behind it"


@app.command(cls=Command, short_help="Explain where one pod can go, node by node.")
@takes("cluster", *READING)
def why(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="POD-OR-WORKLOAD",
            help="kind/name, namespace/name, name, or all three; of the manifests, else of the cluster.",
            show_default=False,
        ),
    ],
    paths: OptionalPaths = None,
    *,
    replica: Annotated[int, typer.Option(min=1, help="Which replica; those before it are placed first.")] = 1,
    keep_running: Annotated[
        bool, typer.Option("--keep-running", help="Leave the pods of its running revision where they are.")
    ] = False,
    alone: Annotated[
        bool, typer.Option("--alone", help="Leave out the pods that the rest of the set makes; they are placed first.")
    ] = False,
    each: Annotated[bool, typer.Option("--each", help="A row for every node, however many and alike.")] = False,
    output: Annotated[Format, typer.Option("--format", "-f", help="How to print the answer.")] = Format.TEXT,
    seed: Annotated[int, typer.Option(help="Of the draws that place earlier replicas and the rest of the set.")] = 0,
    color: ColorOption = Color.AUTO,
    **shared: Any,
) -> None:
    """Explain where a pod can go: for every node its scores, or the plugin and the reason that turn the pod away.

    The rest of the set is placed first, in apply order, as lint tries it out; --alone leaves it out.

    Exits with 1 when no node fits, with 2 when something cannot be read or the name means nothing or several things.

    Examples:

      kubesched-lint why web manifests/ --cluster snapshot.yaml

      kubesched-lint why deploy/web manifests/ --cluster sketch.yaml --replica 4

      kubesched-lint why shop/web-5d4f9-x7k2p --cluster snapshot.yaml --format json
    """
    import os
    import sys

    from kubesched_lint.cli.settings import cluster_of, settle, tell_configuration
    from kubesched_lint.cluster.cluster import ClusterError
    from kubesched_lint.cluster.read import read_cluster
    from kubesched_lint.commands.lint.run import read_manifests
    from kubesched_lint.commands.why.ask import Question, answer
    from kubesched_lint.commands.why.naming import NamingError
    from kubesched_lint.report.explanation import as_json, as_text
    from kubesched_lint.report.palette import terminal_width, wants_color

    settings = settle(context, paths or ())
    tell_configuration(settings)
    try:
        live = read_cluster(cluster_of(context, settings), elastic=settings.elastic)
        manifests = read_manifests(paths or (), settings.options, render=settings.flag("render"))
        question = Question(
            name,
            replica,
            keep_running,
            alone,
            settings.text("apply-order"),
            settings.text("kubernetes-version"),
            seed,
        )
        found = answer(question, manifests.inventory, live)
    except NamingError as error:
        hint = _hint(name, manifests.inventory, settings.text("namespace")) if paths else _NO_MANIFESTS
        tell(f"error: {error}{hint}")
        raise typer.Exit(2) from None
    except (ClusterError, ValueError) as error:
        tell(f"error: {error}")
        raise typer.Exit(2) from None
    for problem in manifests.errors:
        place = f"{problem.path}:{problem.line}:{problem.column}" if problem.line else problem.path
        tell(f"error: {place}: {problem.message}")
    if output is Format.JSON:
        say_exactly([as_json(found), "\n"])
    else:
        painted = wants_color(color.value, sys.stdout, os.environ)
        width = terminal_width(sys.stdout, os.environ)
        say(as_text(found, color=painted, width=width, each=each), painted=painted)
    raise typer.Exit(2 if manifests.errors else 0 if found.fitting else 1)


def _hint(name: str, inventory: Inventory, namespace: str) -> str:
    """Who asks for ``shop/web`` of manifests that name no namespace may not know that the default one is meant."""
    from kubesched_lint.commands.why.naming import is_kind

    *_, wanted, last = ["", *name.split("/")]
    alike = {w.namespace for w in inventory.workloads if w.name == last}
    if not wanted or wanted == namespace or namespace not in alike or is_kind(wanted):
        return ""
    return f"; objects that name no namespace are in {namespace}: -n {wanted} puts them there"
