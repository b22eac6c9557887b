"""``kubesched-lint lint``: read manifests and cluster, run the rules, print the reports."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubesched_lint.cli.options import (
    GATING,
    Color,
    ColorOption,
    ForceExclude,
    OptionalPaths,
    Profile,
    Quiet,
    RequireNodeGroups,
    Statistics,
    Targets,
    Verbose,
    takes,
)
from kubesched_lint.cli.parser import Command
from kubesched_lint.printing import tell

if TYPE_CHECKING:
    from kubesched_lint.cli.settings import Settings
    from kubesched_lint.commands.lint.run import LintRun, Request
    from kubesched_lint.commands.lint.targets import TargetsRun
    from kubesched_lint.findings import Report
    from kubesched_lint.project.config import Target
    from kubesched_lint.report.formats import ReportTarget

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class _Lint(Command):
    """Accepts ``--changed`` without a value; Typer has no options with an optional value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_with_base(args)))


def _with_base(args: list[str]) -> Iterator[str]:
    """Yield ``args`` with ``--changed BASE`` as ``--changed=BASE``; an existing path is a manifest, not BASE."""
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            yield arg
            yield from rest
        elif arg != "--changed":
            yield arg
        else:
            following = next(rest, None)
            if following is None or following.startswith("-") or os.path.exists(following):
                yield "--changed=HEAD"
                yield from _with_base([*([] if following is None else [following]), *rest])
            else:
                yield f"--changed={following}"


@app.command(cls=_Lint, short_help="Check manifests against a cluster, and name the lines to blame.")
@takes("cluster", "clusters_from", "max_age", *GATING, "formats")
def lint(
    context: typer.Context,
    paths: OptionalPaths = None,
    *,
    target: Targets = None,
    force_exclude: ForceExclude = False,
    changed: Annotated[
        str | None,
        typer.Option(
            metavar="[BASE]",
            help="Report only findings that touch lines changed since the last commit, or since the branch left "
            "BASE (by git). All files are still read.",
        ),
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print the changes of --fix without writing them; exit with 1 if any.")
    ] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Fix findings in the files where this is safe.")] = False,
    unsafe_fixes: Annotated[
        bool,
        typer.Option(
            "--unsafe-fixes",
            help="With --diff or --fix: apply fixes, too, that may change where pods run or weaken a guarantee.",
        ),
    ] = False,
    require_node_groups: RequireNodeGroups = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ignore the cache and do not write to it.")] = False,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            metavar="N",
            min=1,
            help="Number of processes that read large sets: less waiting, more CPU time in total. Several targets: "
            "as many as there are cores.",
        ),
    ] = 1,
    quiet: Quiet = False,
    verbose: Verbose = False,
    statistics: Statistics = False,
    color: ColorOption = Color.AUTO,
    **shared: Any,
) -> None:
    """Check manifests against a cluster and report what will not be scheduled.

    Examples:

      kubesched-lint lint manifests/ --cluster nodes.json

      helm template shop | kubesched-lint lint - --cluster sketch.yaml

      kubesched-lint lint manifests/ -c cluster.yaml --format github --format sarif=out.sarif

      kubesched-lint lint manifests/ -c cluster.yaml --changed=origin/main

      kubesched-lint lint manifests/ -c cluster.yaml --diff

      kubesched-lint lint --target prod-eu --target prod-us
    """
    from kubesched_lint.cli.output import Progress, show, tell_undecided
    from kubesched_lint.cli.settings import settle
    from kubesched_lint.commands.lint.run import Request, checked
    from kubesched_lint.linter.options import BaselineError, ChangedError
    from kubesched_lint.printing import OutputError
    from kubesched_lint.report.footer import FAIL_ON, exit_code
    from kubesched_lint.report.formats import FormatError, targets
    from kubesched_lint.rulebook.library import UnknownRuleError

    mending = None
    paths = list(paths or ())
    if diff or fix or unsafe_fixes:
        from kubesched_lint.cli.mending import mend, mending_of

        mending = mending_of(paths, diff=diff, fix=fix, unsafe=unsafe_fixes)
    settings = settle(context, paths)
    several: Sequence[Target] = ()
    question = ""
    shares_baseline = False
    if target or not paths or settings.config.targets:
        from kubesched_lint.cli.targets import chosen, has_whole_baseline, settings_of

        paths, several, question = chosen(context, settings, paths, target)
        shares_baseline = not has_whole_baseline(settings, several)
        if len(several) == 1:
            settings, paths, several = settings_of(settings, several[0]), list(several[0].paths), ()
        elif several and mending:
            context.fail("A fix that suits one cluster may not suit another: name one with --target.")
    rulebook = settings.rulebook
    failing = FAIL_ON[settings.text("fail-on")]
    progress = Progress()
    try:
        reports = targets(settings.names("formats"))
        request = Request(
            paths=tuple(paths),
            cluster=settings.maybe("cluster"),
            cluster_options=settings.cluster_options,
            changed=changed,
            max_age=settings.maybe("max-age"),
            force_exclude=force_exclude,
            render=settings.flag("render"),
            baseline=settings.maybe("baseline"),
            cache=not no_cache and mending is None,
            jobs=jobs,
            mending=mending is not None,
            configuration=settings.in_force(several),
            config_file=settings.config.file,
            progress=progress,
            is_one_of_many=shares_baseline,
        )
        least = 0
        run: LintRun | TargetsRun
        try:
            if several:
                run = _over(several, request, settings, context, reports)
            else:
                run = alone = _asking(checked(request, settings.options, rulebook), question)
        finally:
            progress.end()
        if mending:
            run, least = mend(alone, mending, rulebook, lambda: checked(request, settings.options, rulebook))
            reports = tuple(one for one in reports if one.file or not diff)  # the diff has standard output
        show(
            run,
            reports,
            rulebook,
            color.value,
            failing,
            verbose=verbose or settings.text("profile") == Profile.STRICT or settings.flag("strict-skips"),
            quiet=quiet,
            statistics=statistics,
        )
        if quiet:
            _tell_missing_cluster(run.report)
        if require_node_groups:
            tell_undecided(run.report)
    except (BaselineError, ChangedError, FormatError, OutputError, UnknownRuleError) as error:
        tell(f"error: {error}")
        raise typer.Exit(2) from None
    raise typer.Exit(max(least, exit_code(run.report, failing, settings.flag("strict-skips"), require_node_groups)))


def _asking(run: "LintRun", question: str) -> "LintRun":
    """Return the run with a question that the user must answer; "" is none."""
    if not question:
        return run
    from kubesched_lint.record import replace

    summary = replace(run.report.summary, undecided=question)
    return replace(run, report=replace(run.report, summary=summary))


def _over(
    several: "Sequence[Target]",
    request: "Request",
    settings: "Settings",
    context: typer.Context,
    reports: "Sequence[ReportTarget]",
) -> "TargetsRun":
    """Return the run over several targets, in as many processes as --jobs says, else as there are cores."""
    from kubesched_lint.cli.targets import run_targets

    source = context.get_parameter_source("jobs")
    jobs = request.jobs if source is not None and source.name == "COMMANDLINE" else 0
    names_files = any(one.format in ("junit", "gitlab") for one in reports)
    return run_targets(request, settings, several, jobs, names_files=names_files)


def _tell_missing_cluster(report: "Report") -> None:
    """Print on stderr how many rules need a cluster, because --quiet hides the footer that names them."""
    missing = sum(skip.reason == "needs a cluster (--cluster)" for skip in report.skipped)
    if missing and not report.summary.unreadable_cluster:
        from kubesched_lint.text import many

        tell(f"no cluster given (--cluster): {many(missing, 'rule')} skipped")
