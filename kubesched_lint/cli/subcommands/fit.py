"""``kubesched-lint fit``: how many more pods of one kind fit."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from kubesched_lint.cli.parsing.options import READING, Env, OneTarget, OptionalPaths, takes
from kubesched_lint.cli.parsing.parser import Command
from kubesched_lint.cli.settings.settings import cluster_of, settle, tell_configuration
from kubesched_lint.cli.settings.targets import one_aim
from kubesched_lint.commands.fit.asked import Amounts, like, only_environment, requests_of
from kubesched_lint.commands.fit.run import fit as counted
from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.engine.base.work import OutOfWorkError
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.printing import say, say_exactly, say_markdown, tell
from kubesched_lint.progress import shown
from kubesched_lint.report.fit_report import as_json, as_markdown, as_text
from kubesched_lint.report.terminal.palette import terminal_width

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class FitFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


@app.command(cls=Command, short_help="Count how many more pods fit, and what stops the next one.")
@takes("cluster", *READING)
def fit(
    context: typer.Context,
    paths: OptionalPaths = None,
    *,
    target: OneTarget = None,
    env: Env = None,
    name: Annotated[
        str, typer.Option("--like", metavar="WORKLOAD", help="Pods like those of [KIND/][NAMESPACE/]NAME.")
    ] = "",
    cpu: Annotated[str, typer.Option(metavar="AMOUNT", help="CPU that each pod requests, as 2 or 500m.")] = "",
    memory: Annotated[str, typer.Option(metavar="AMOUNT", help="Memory that each pod requests, as 4Gi.")] = "",
    gpu: Annotated[str, typer.Option(metavar="N", help="nvidia.com/gpu that each pod requests.")] = "",
    request: Annotated[
        list[str] | None, typer.Option(metavar="RESOURCE=AMOUNT", help="Another request. Repeatable.")
    ] = None,
    spread: Annotated[str, typer.Option(metavar="KEY", help="Spread them evenly: zone, node or a label.")] = "",
    apart: Annotated[str, typer.Option(metavar="KEY", help="At most one in each: zone, node or a label.")] = "",
    output: Annotated[FitFormat, typer.Option("--format", "-f", help="Output format.")] = FitFormat.TEXT,
    **shared: Any,
) -> None:
    """Count how many more pods fit beside what runs: on today's nodes, in each zone, and with what pools may add.

    Both ends are certain: "7 to 9" says that 7 fit in every order, and no order fits more than 9.

    Exits with 0 if at least one pod is sure to fit, 1 if none is, and 2 when an input cannot be read.

    Examples:

      kubesched-lint fit --like shop/web manifests/ -c snapshot.yaml

      kubesched-lint fit --cpu 2 --memory 4Gi --spread zone -c snapshot.yaml
    """
    aim = one_aim(context, settle(context, paths or ()), paths or (), target, needs_paths=False)
    settings = aim.settings
    tell_configuration(settings)
    try:
        if bool(name) == any((cpu, memory, gpu, request, spread, apart)):
            raise ValueError("name a workload with --like, or describe a pod with --cpu, --memory, --gpu and --request")
        cluster = cluster_of(context, settings)
        manifests = read_manifests(
            aim.paths, settings.options, render=settings.flag("render"), cluster=settings.maybe("cluster")
        )
        environment = only_environment(manifests.inventory, settings.together, env or ())
        if name:
            workload, pods = like(name, environment, cluster.inventory)
        else:
            asked = Amounts(requests_of(cpu, memory, gpu, request or ()), spread, apart)
            workload, pods = asked.workload(settings.text("namespace")), str(asked)
        with shown("counting pods"):
            counted_pods = counted(workload, pods, environment, cluster, manifests.premises(settings.options))
    except (ClusterError, ValueError, OutOfWorkError) as error:
        tell(f"error: {error}")
        raise typer.Exit(2) from None
    for problem in manifests.errors:
        tell(f"error: {problem.place}: {problem.message}")
    if output is FitFormat.JSON:
        say_exactly([as_json(counted_pods), "\n"])
    elif output is FitFormat.MARKDOWN:
        say_markdown(as_markdown(counted_pods))
    else:
        say(as_text(counted_pods, terminal_width(sys.stdout, os.environ)))
    raise typer.Exit(2 if manifests.errors else int(not counted_pods.counts.least))
