"""``kubesched-lint plan``: what a change of the manifests does to each workload on a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, chdir
from enum import StrEnum
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.cli.parsing.invocation import EMPTY, refused
from kubesched_lint.cli.parsing.options import (
    EVENTS,
    JUDGING,
    Color,
    ColorOption,
    Env,
    OneTarget,
    Verbose,
    events_in,
    takes,
)
from kubesched_lint.cli.parsing.parser import Command
from kubesched_lint.cli.settings.sets import with_sets
from kubesched_lint.cli.settings.settings import Settings, cluster_of, settle, tell_configuration
from kubesched_lint.cli.settings.targets import Aim, about_unclaimed, aims
from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.commands.lint.unclaimed import ERROR
from kubesched_lint.commands.plan.plan_result import Plan
from kubesched_lint.commands.plan.run import plan as planned
from kubesched_lint.commands.plan.running import as_it_runs
from kubesched_lint.commands.plan.sides import Commits, SideError, changed_submodules
from kubesched_lint.commands.plan.targets import together
from kubesched_lint.commands.plan.version import Version, check_not_empty
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError, Live
from kubesched_lint.findings import InputError
from kubesched_lint.printing import say, say_exactly, tell
from kubesched_lint.programs import NoWorkTreeError, ProgramError
from kubesched_lint.progress import shown
from kubesched_lint.project.commits import HEAD, CommitError, as_relative, commit_of, tree_of
from kubesched_lint.report.findings.footer import FAIL_ON
from kubesched_lint.report.plan.as_json import as_json
from kubesched_lint.report.plan.as_markdown import as_markdown
from kubesched_lint.report.plan.as_text import as_text
from kubesched_lint.report.terminal.palette import terminal_width, wants_color
from kubesched_lint.rulebook.library import UnknownRuleError
from kubesched_lint.sources.clusters.read import contents, read_stated
from kubesched_lint.sources.clusters.terraform import TerraformError, TerraformPools, read_terraform

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class PlanFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


class Gate(StrEnum):
    WORSE = "worse"
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


@app.command(cls=Command, short_help="Show what a change does to each workload.")
@takes("cluster", "files_from", *JUDGING)
def plan(
    context: typer.Context,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BASE[..HEAD]] PATH…",
            help="A commit, two commits, or a file or folder to compare with, then files and folders. With only a "
            "path, BASE is the last commit.",
            show_default=False,
        ),
    ] = None,
    *,
    target: OneTarget = None,
    env: Env = None,
    against_cluster: Annotated[
        bool,
        typer.Option(
            "--against-cluster", help="Compare with what runs in the cluster; all arguments are files and folders."
        ),
    ] = False,
    cluster_before: Annotated[
        str | None,
        typer.Option(
            "--cluster-before",
            metavar="PATH",
            help="The cluster before the change, to compare nodes and pools. [default: with one commit as BASE, that "
            "commit's version of --cluster]",
            show_default=False,
        ),
    ] = None,
    terraform: Annotated[
        str | None,
        typer.Option(
            "--terraform",
            metavar="FILE",
            help="Apply the node groups of a plan, as `terraform show -json tfplan` prints it, to the cluster.",
            show_default=False,
        ),
    ] = None,
    events: Annotated[str, typer.Option(metavar="EVENT,…", help="Events to compare.")] = EVENTS,
    output: Annotated[PlanFormat, typer.Option("--format", "-f", help="Output format.")] = PlanFormat.TEXT,
    gate: Annotated[
        Gate,
        typer.Option(
            "--fail-on",
            help="Exit with 1 if something becomes worse (a cell, or a new error), or if a finding of at least this "
            "severity is new.",
        ),
    ] = Gate.WORSE,
    detailed: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 3 if there are changes, and nothing else to report.")
    ] = False,
    verbose: Verbose = False,
    color: ColorOption = Color.AUTO,
    **shared: Any,
) -> None:
    """Show what a change of the manifests does to each workload on a cluster.

    Compares the events of `simulate` and the findings of `lint` before and after the change. BASE is a commit (the
    change is what came since the branch left it, as in `lint --changed=BASE`), two commits BASE..HEAD, or a file or
    folder with the manifests before the change. Exits with 1 as --fail-on says, with 2 when an input cannot be read.

    Examples:

      kubesched-lint plan manifests/ -c cluster.yaml

      kubesched-lint plan origin/main manifests/ -c cluster.yaml

      kubesched-lint plan v1.4..v1.5 manifests/ -c cluster.yaml --format json

      kubesched-lint plan --against-cluster manifests/ -c snapshot.json

      kubesched-lint plan manifests/ -c nodes.json --terraform tfplan.json

      kubesched-lint plan rendered-before/ rendered-after/ -c cluster.yaml --detailed-exitcode
    """
    if arguments and not against_cluster and _lacks_base(arguments[0]):
        raise refused(EMPTY, "BASE")
    base, given = _parted(arguments or (), has_target=target is not None or _is_base(context, arguments))
    if against_cluster:
        base, given = "", arguments or ()
    try:
        pools = None if terraform is None else read_terraform(terraform)
        asked = _Asked(base, events_in(events), tuple(env or ()), cluster_before, pools)
        settings = with_sets(context, settle(context, given), given)
        each = aims(context, settings, given, target)
        tell_configuration(*(aim.settings for aim in each))
        with ExitStack() as stack:
            commits = Commits(stack)
            sides = [_read(context, aim, asked, commits) for aim in each]
            rows = sum(map(_rows, sides)) if base else 0  # what runs has no text that tells what differs
            parts = [(aim.name, _planned(aim, asked, side, rows)) for aim, side in zip(each, sides, strict=True)]
    except (ClusterError, SideError, TerraformError, UnknownRuleError, ValueError) as error:
        tell(f"error: {error}")
        raise typer.Exit(2) from None
    whole_plan = _with_unclaimed(together(parts), settings, each)
    code = _exit_code(whole_plan, gate, detailed=detailed)
    whole_plan = replace(whole_plan, blocks=code == 1)
    if settings.flag("shadow"):
        least = None if gate is Gate.WORSE else FAIL_ON[gate.value]
        whole_plan = replace(whole_plan, shadow=whole_plan.failing(least) if code == 1 else ())
        code = 0 if code == 1 else code
    _print(whole_plan, output, color, verbose=verbose)
    raise typer.Exit(code)


def _with_unclaimed(whole_plan: Plan, settings: Settings, planned_: Sequence[Aim]) -> Plan:
    """Return the plan of all targets with what none of them reads: a note or, as ``unclaimed`` says, an error."""
    targets = settings.config.targets
    if not targets or [tuple(aim.paths) for aim in planned_] != [target.paths for target in targets]:
        return whole_plan  # who names paths or a target has chosen
    beside = about_unclaimed(settings)
    if not beside:
        return whole_plan
    if settings.text("unclaimed") == ERROR:
        return replace(whole_plan, errors=(*whole_plan.errors, InputError(settings.config.file, beside)))
    return replace(whole_plan, notes=(*whole_plan.notes, beside))


def _lacks_base(argument: str) -> bool:
    """Whether a commit is empty, alone or where a range starts; ``../`` and ``../manifests`` are paths."""
    return argument in ("", "..") or (
        argument.startswith("..") and not argument.startswith("../") and not os.path.lexists(argument)
    )


def _is_base(context: typer.Context, arguments: Sequence[str] | None) -> bool:
    """Whether the only argument is no path but BASE: it names a commit, or the configuration names the paths."""
    if arguments is None or len(arguments) != 1 or os.path.lexists(arguments[0]):
        return False
    try:
        commit_of(tree_of(os.curdir), arguments[0])
    except (CommitError, NoWorkTreeError, ProgramError):
        return bool(with_sets(context, settle(context, ()), ()).config.targets)
    return True


def _parted(arguments: Sequence[str], *, has_target: bool) -> tuple[str, Sequence[str]]:
    """Return (BASE, paths). One argument is a path, unless it names commits or a target has the paths."""
    if len(arguments) == 1:
        is_range = ".." in arguments[0] and not os.path.lexists(arguments[0])
        return (arguments[0], ()) if is_range or has_target else (HEAD, arguments)
    return (arguments[0], arguments[1:]) if arguments else (HEAD, ())


class _Asked(Struct, frozen=True):
    """What the command line asks for, whatever the target."""

    base: str
    events: tuple[str, ...]
    environments: tuple[str, ...]
    cluster_before: str | None
    terraform: TerraformPools | None


class _Sides(Struct, frozen=True):
    """What a target's plan compares; ``former`` is the cluster before the change if that is another one."""

    before: Version
    after: Version
    cluster: Cluster
    former: Cluster | None


def _read(context: typer.Context, aim: Aim, asked: _Asked, commits: Commits) -> _Sides:
    """Return both sides; without a base, the first is what runs.

    Raises ClusterError, SideError, and ValueError if there is nothing to compare.
    """
    settings, paths = aim.settings, aim.paths
    options = replace(settings.options, environments=asked.environments)
    where = settings.maybe("cluster")
    former = None if asked.cluster_before is None else read_stated(asked.cluster_before, settings.cluster_options)
    if not asked.base:
        manifests = read_manifests(paths, options, render=settings.flag("render"), cluster=where)
        cluster = cluster_of(context, settings, Live(frozenset(w.ref for w in manifests.inventory.workloads)))
        after = Version(first_few(paths), manifests, options)
        check_not_empty(after)
        return _Sides(as_it_runs(after, cluster), after, cluster, former)
    cluster = cluster_of(context, settings)
    # The cluster of two commits is today's: what differs there is no change of one side.
    beside = () if ".." in asked.base.replace("...", "") or where is None else (where,)
    sides = commits.sides_of(asked.base, paths, beside, whole=options.applied)
    before, after = (
        Version(
            side.name,
            side.read(options, render=settings.flag("render"), cluster=where),
            options,
            tuple(side.unread),
            side.root,
            side.folder or os.curdir,
        )
        for side in sides
    )
    after = replace(after, errors=tuple(changed_submodules(*sides)))
    if former is None and beside and sides[0].folder:
        former = _former(beside[0], sides[0].folder, settings)
    check_not_empty(before, after)
    return _Sides(before, after, cluster, former)


def _rows(sides: _Sides) -> int:
    """Return about how many rows a plan has: the workloads that the change touches, all of them on other nodes."""
    before, after = (
        {(w.ref, getattr(w.source, "text", "")) for w in side.manifests.inventory.workloads}
        for side in (sides.before, sides.after)
    )
    return len({ref for ref, _ in (after if sides.former else before ^ after)})


def _planned(aim: Aim, asked: _Asked, sides: _Sides, rows: int) -> Plan:
    """Return the plan, one of several with so many ``rows`` together.

    Raises UnknownRuleError, and ValueError for an unknown event.
    """
    with shown(f"planning{f' {aim.name}' if aim.name else ''}"):
        return planned(
            sides.before,
            sides.after,
            sides.cluster,
            aim.settings.rulebook,
            asked.events,
            running=not asked.base,
            former=sides.former,
            terraform=asked.terraform,
            rows=rows,
        )


def _former(path: str, folder: str, settings: Settings) -> Cluster | None:
    """Return the cluster as a commit has its files; None if these are not there, or the same."""
    now = contents(path)
    with chdir(folder):
        relative = as_relative(path)
        if now is None or not os.path.lexists(relative):
            return None
        try:
            then = contents(relative)
            if then is None or [data for _, data in then] == [data for _, data in now]:
                return None
            return read_stated(relative, settings.cluster_options)
        except (ClusterError, OSError) as error:
            tell(f"the cluster before the change is taken for that after it: {error}")
            return None


def _print(whole_plan: Plan, output: PlanFormat, color: Color, *, verbose: bool) -> None:
    match output:
        case PlanFormat.TEXT:
            painted = wants_color(color.value, sys.stdout, os.environ)
            room = terminal_width(sys.stdout, os.environ)
            say(as_text(whole_plan, color=painted, room=room, verbose=verbose), painted=painted)
        case PlanFormat.JSON:
            say_exactly([as_json(whole_plan), "\n"])
        case PlanFormat.MARKDOWN:
            say_exactly([as_markdown(whole_plan)])
        case PlanFormat.HTML:
            from kubesched_lint.report.html.plan import as_html

            say_exactly(as_html(whole_plan))


def _exit_code(whole_plan: Plan, gate: Gate, *, detailed: bool) -> int:
    if whole_plan.errors:
        return 2
    if gate is Gate.WORSE:
        is_failed = whole_plan.is_worse
    else:
        least, worst = FAIL_ON[gate.value], whole_plan.worst_finding
        is_failed = least is not None and (bool(whole_plan.never_end) or (worst is not None and worst >= least))
    return 1 if is_failed else 3 if detailed and not whole_plan.is_empty else 0
