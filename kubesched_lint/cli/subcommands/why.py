"""``kubesched-lint why``: explain one decision of the scheduler, node by node."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from msgspec.structs import replace

from kubesched_lint.cli.parsing.options import READING, Color, ColorOption, Env, Format, OneTarget, OptionalPaths, takes
from kubesched_lint.cli.parsing.parser import Command
from kubesched_lint.cli.settings.sets import with_sets
from kubesched_lint.cli.settings.settings import cluster_of, settle, tell_configuration
from kubesched_lint.cli.settings.targets import Aim, aims
from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.commands.why.ask import Answer, Question, answers, with_premises
from kubesched_lint.commands.why.naming import NamingError, is_kind
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import first_few, plural
from kubesched_lint.engine.base.work import OutOfWorkError
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.findings import InputError
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.printing import say, say_exactly, tell
from kubesched_lint.report.findings.explanation import all_as_json, all_as_text
from kubesched_lint.report.limits import MOST_ROWS
from kubesched_lint.report.terminal.palette import terminal_width, wants_color
from kubesched_lint.report.wording.words import short_names

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(cls=Command, short_help="Explain where one pod can go, node by node.")
@takes("cluster", *READING)
def why(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="POD-OR-WORKLOAD",
            help="name, kind/name, namespace/name or kind/namespace/name, in the manifests or else the cluster.",
            show_default=False,
        ),
    ] = None,
    paths: OptionalPaths = None,
    *,
    target: OneTarget = None,
    env: Env = None,
    replica: Annotated[int, typer.Option(min=1, help="Number of the replica; earlier replicas are placed first.")] = 1,
    keep_running: Annotated[
        bool, typer.Option("--keep-running", help="Keep the pods of the workload's running revision in place.")
    ] = False,
    alone: Annotated[bool, typer.Option("--alone", help="Do not place the pods of the other manifests first.")] = False,
    each: Annotated[bool, typer.Option("--each", help="Print one row per node, with its scores; no groups.")] = False,
    output: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.TEXT,
    seed: Annotated[int, typer.Option(help="Seed of the random choices that place the other pods.")] = 0,
    color: ColorOption = Color.AUTO,
    **shared: Any,
) -> None:
    """Explain where a pod can go: for every node its scores, or the plugin that rejects the pod, and the reason.

    Places the pods of the other manifests first, in apply order, as lint does; --alone skips them. Without a path, it
    looks into the cluster if --cluster is given, then into the targets, else into the current folder.

    Exits with 1 when no node fits, the API server refuses the object, or the pod's PodGroup never starts, with 2 when
    an input cannot be read or the name matches no or several objects.

    Examples:

      kubesched-lint why web manifests/ --cluster snapshot.yaml

      kubesched-lint why deploy/web manifests/ --cluster sketch.yaml --replica 4

      kubesched-lint why shop/web-5d4f9-x7k2p --cluster snapshot.yaml --format json

      kubesched-lint why web --target prod-eu
    """
    settings = with_sets(context, settle(context, paths or ()), paths or ())
    question = Question(name or "", replica, keep_running, alone, seed=seed, environments=tuple(env or ()))
    if name is None:
        _list_names(aims(context, settings, paths or (), target))
    by_flag = settings.values["cluster"].is_flag and not paths and target is None
    asked = aims(context, settings, paths or (), target, needs_paths=not by_flag)
    tell_configuration(*(aim.settings for aim in asked))
    explanations, errors, missed = _all_answers(context, asked, question)
    if not explanations and by_flag:  # the cluster has nothing of this name
        explanations, errors, missed = _all_answers(context, aims(context, settings, (), None), question)
    for problem in dict.fromkeys(errors):
        tell(f"error: {problem.place}: {problem.message}")
    if not explanations:
        tell(f"error: {missed[0]}")
        raise typer.Exit(2)
    if output is Format.JSON:
        say_exactly([all_as_json(explanations), "\n"])
    else:
        painted = wants_color(color.value, sys.stdout, os.environ)
        width = terminal_width(sys.stdout, os.environ)
        say(all_as_text(explanations, color=painted, width=width, each=each), painted=painted)
    raise typer.Exit(2 if errors else int(any(answer.explanation.is_negative for answer in explanations)))


def _list_names(asked: Sequence[Aim]) -> NoReturn:
    """Say which workloads one may ask about, and exit with 2."""
    names: dict[ObjectRef, None] = {}
    for aim in asked:
        settings = aim.settings
        read = read_manifests(aim.paths, settings.options, render=settings.flag("render"))
        names.update((workload.ref, None) for workload in read.inventory.workloads)
    called = sorted(short_names(list(names)).values())
    there = f"; there {plural(len(called), 'is', 'are')} {first_few(called, most=MOST_ROWS)}" if called else ""
    tell(f"error: name a workload or a pod{there}")
    raise typer.Exit(2)


def _all_answers(
    context: typer.Context, asked: Sequence[Aim], question: Question
) -> tuple[list[Answer], list[InputError], list[str]]:
    """Return the answers of all targets, what could not be read, and why some have none."""
    explanations: list[Answer] = []
    errors: list[InputError] = []
    missed: list[str] = []
    for aim in asked:
        try:
            live, manifests = _read(context, aim)
            errors += manifests.errors
            explanations += _answered(aim, question, manifests, live)
        except NamingError as error:
            missed.append(str(error))
            continue
        except (ClusterError, ValueError) as error:
            tell(f"error: {error}")
            raise typer.Exit(2) from None
        except OutOfWorkError as error:
            tell(f"error: {question.name} is not explained: {error}")
            raise typer.Exit(2) from None
    return explanations, errors, missed


def _read(context: typer.Context, aim: Aim) -> tuple[Cluster, ManifestSet]:
    """Return the cluster of a target and its manifests, or those of the user's paths. Raises ClusterError."""
    settings = aim.settings
    live = cluster_of(context, settings)
    where = settings.maybe("cluster")
    return live, read_manifests(aim.paths, settings.options, render=settings.flag("render"), cluster=where)


def _answered(aim: Aim, question: Question, manifests: ManifestSet, live: Cluster) -> Sequence[Answer]:
    """Return the answers for a target. Raises NamingError with a hint, ValueError and OutOfWorkError."""
    settings, options = aim.settings, aim.settings.options
    question = replace(
        question,
        apply_order=settings.text("apply-order"),
        kubernetes_version=options.kubernetes_version,
        together=settings.together,
        feature_gates=options.feature_gates,
    )
    try:
        explanations = answers(question, manifests.inventory, live)
    except NamingError as error:
        names = _hint(question.name, manifests.inventory, settings.text("namespace"))
        raise NamingError(f"{error}{names}") from None
    told = [with_premises(answer, question, live) for answer in explanations]
    return [replace(answer, environments=_named(aim.name, answer.environments)) for answer in told]


def _named(target: str, environments: Sequence[str]) -> tuple[str, ...]:
    return tuple(os.path.join(target, each) for each in environments) or tuple(filter(None, [target]))


def _hint(name: str, inventory: Inventory, namespace: str) -> str:
    """Return a hint for ``shop/web`` if the manifests have ``web`` without a namespace; else an empty string."""
    *_, wanted, last = ["", *name.split("/")]
    alike = {w.namespace for w in inventory.workloads if w.name == last}
    if not wanted or wanted == namespace or namespace not in alike or is_kind(wanted):
        return ""
    return f"; objects that name no namespace are in {namespace}: -n {wanted} puts them there"
