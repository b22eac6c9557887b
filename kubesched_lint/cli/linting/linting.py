"""What ``kubesched-lint lint`` does with its arguments. Imports no Typer: see ``ordinary``."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.cli.output import show, tell_undecided
from kubesched_lint.cli.parsing.invocation import EMPTY, refused
from kubesched_lint.cli.settings.sets import note_on, with_sets
from kubesched_lint.cli.settings.settings import settle
from kubesched_lint.cli.settings.targets import chosen, clusters_of, has_whole_baseline, saying_unclaimed, settings_of
from kubesched_lint.commands.lint.remarks import with_notes
from kubesched_lint.commands.lint.run import Request, checked
from kubesched_lint.engine.base.steps import at
from kubesched_lint.engine.base.text import many
from kubesched_lint.linter.options import BaselineError, ChangedError
from kubesched_lint.printing import OutputError, tell
from kubesched_lint.progress import shown
from kubesched_lint.report.findings.footer import FAIL_ON, exit_code, in_shadow
from kubesched_lint.report.findings.formats import FormatError, targets
from kubesched_lint.rulebook.library import UnknownRuleError

if TYPE_CHECKING:
    from kubesched_lint.cli.linting.against import Against
    from kubesched_lint.cli.linting.mending import Mending
    from kubesched_lint.cli.parsing.invocation import Invocation
    from kubesched_lint.cli.settings.settings import Settings
    from kubesched_lint.commands.fleet.run import FleetRun
    from kubesched_lint.commands.lint.run import LintRun
    from kubesched_lint.findings import Report
    from kubesched_lint.project.config.keys import Target
    from kubesched_lint.report.findings.formats import ReportTarget


class _Wanted(Struct, frozen=True):
    """The settings, and what is linted: the paths, or several targets, or the paths of one target."""

    settings: Settings
    paths: Sequence[str]
    several: Sequence[Target] = ()
    question: str = ""
    shares_baseline: bool = False
    target: str = ""
    """The name of the only target."""
    applied_sets: Sequence[Target] = ()
    """The applied sets that take the place of targets."""
    claiming: Callable[[Report], Report] | None = None
    """Adds to the report of the run what no target reads; None if there are no targets, or some are chosen."""
    clusters_beside: Mapping[str, str] = {}
    """Those of all targets, if the run is about one."""


def linted(call: Invocation) -> int:
    """Lint as the arguments say, and print the reports. Return the exit code; with --watch, go on until a signal."""
    if call.params["changed"] == "":
        raise refused(EMPTY, "--changed")
    if call.params["watch"]:
        from kubesched_lint.cli.linting.watching import watched

        return watched(call, lambda: _told(call)[1])
    gc.freeze()  # what was imported stays
    gc.set_threshold(50_000, 20, 1_000)  # rarely: only traces make reference cycles, which their searches leave behind
    gc.enable()
    return _told(call)[0]


def _told(call: Invocation) -> tuple[int, Report | None]:
    """Print the reports. Return the exit code, and the report as a warm session of these files would make it.

    There is none of what a controller builds, because sessions are about files.
    """
    asked = call.params
    mending = _mending(asked)
    wanted = _wanted(call, mending)
    settings = wanted.settings
    failing = FAIL_ON[settings.text("fail-on")]
    try:
        reports = targets(settings.names("formats"))
        run, least = _run(call, wanted, mending, reports)
        judged = None if any(target.is_entry for target in wanted.several) or wanted.applied_sets else run.report
        if note := note_on(wanted.applied_sets):
            run = replace(run, report=with_notes(run.report, note))
        if wanted.claiming is not None:
            run = replace(run, report=wanted.claiming(run.report))
        if settings.flag("shadow"):
            run = replace(run, report=in_shadow(run.report, failing))
        if mending:
            reports = tuple(
                target for target in reports if target.file or not asked["diff"]
            )  # the diff has standard output
        show(
            run,
            reports,
            settings.rulebook,
            str(asked["color"]),
            failing,
            verbose=asked["verbose"] or settings.text("profile") == "strict" or settings.flag("strict-skips"),
            quiet=asked["quiet"],
            statistics=asked["statistics"],
        )
        if asked["quiet"]:
            _tell_missing_cluster(run.report)
        if asked["require_node_groups"]:
            tell_undecided(run.report)
    except (BaselineError, ChangedError, FormatError, OutputError, UnknownRuleError) as error:
        tell(f"error: {error}")
        return 2, None
    code = exit_code(run.report, failing, settings.flag("strict-skips"), asked["require_node_groups"])
    return max(least, code), judged


def _mending(asked: Any) -> Mending | None:
    if not (asked["diff"] or asked["fix"] or asked["unsafe_fixes"]):
        return None
    from kubesched_lint.cli.linting.mending import mending_of

    return mending_of(asked["paths"] or (), diff=asked["diff"], fix=asked["fix"], unsafe=asked["unsafe_fixes"])


def _wanted(call: Invocation, mending: Mending | None) -> _Wanted:
    paths = list(call.params["paths"] or ())
    names = call.params["target"]
    settings = with_sets(call, settle(call, paths), paths)
    if not names and paths and not settings.config.targets:
        return _Wanted(settings, paths)
    claiming = None
    if settings.config.targets and not names:
        claiming = partial(saying_unclaimed, settings=settings, paths=tuple(paths))
    paths, several, question = chosen(call, settings, paths, names)
    sets = settings.config.targets if settings.config.found_in else ()
    shares_baseline = not has_whole_baseline(settings, several)
    if len(several) == 1:
        only_target = several[0]
        own = settings_of(settings, only_target)
        beside = clusters_of(settings)
        return _Wanted(
            own, list(only_target.paths), (), question, shares_baseline, only_target.name, sets, claiming, beside
        )
    if several and mending:
        call.fail("A fix that suits one cluster may not suit another: name one with --target.")
    return _Wanted(settings, paths, several, question, shares_baseline, applied_sets=sets, claiming=claiming)


def _run(
    call: Invocation, wanted: _Wanted, mending: Mending | None, reports: Sequence[ReportTarget]
) -> tuple[LintRun | FleetRun, int]:
    """Return the run, and the least exit code, which fixes decide."""
    if call.params["changed"] is None:
        return _run_against(None, call, wanted, mending, reports)
    from kubesched_lint.cli.linting.against import against

    with against(call, wanted.settings, wanted.paths) as compared:
        return _run_against(compared, call, wanted, mending, reports)


def _run_against(
    compared: Against | None,
    call: Invocation,
    wanted: _Wanted,
    mending: Mending | None,
    reports: Sequence[ReportTarget],
) -> tuple[LintRun | FleetRun, int]:
    settings = wanted.settings
    request = _request(call, wanted, is_mending=mending is not None)
    with shown("linting"):
        if wanted.several:
            return _over(wanted.several, request, settings, call, reports, compared), 0
        request = request if compared is None else compared.of(request, wanted.target)
        alone = _asking(checked(request, settings.options, settings.rulebook), wanted.question)
    if mending is None:
        return alone, 0
    from kubesched_lint.cli.linting.mending import mend

    again = partial(checked, request, settings.options, settings.rulebook)
    return mend(alone, mending, settings.rulebook, again, request.paths)


def _request(call: Invocation, wanted: _Wanted, *, is_mending: bool) -> Request:
    asked, settings = call.params, wanted.settings
    return Request(
        paths=tuple(wanted.paths),
        cluster=settings.maybe("cluster"),
        cluster_options=settings.cluster_options,
        max_age=settings.maybe("max-age"),
        min_read=settings.given("min-read"),
        force_exclude=asked["force_exclude"],
        require_workloads=asked["require_workloads"],
        render=settings.flag("render"),
        baseline=settings.maybe("baseline"),
        cache=not asked["no_cache"] and not is_mending,
        mending=is_mending,
        configuration=settings.in_force(wanted.several),
        config_file=settings.config.file,
        progress=at,
        is_one_of_many=wanted.shares_baseline,
        clusters_beside=wanted.clusters_beside,
    )


def _asking(run: LintRun, question: str) -> LintRun:
    """Return the run with a question that the user must answer; "" is none."""
    if not question:
        return run
    summary = replace(run.report.summary, undecided=question)
    return replace(run, report=replace(run.report, summary=summary))


def _over(
    several: Sequence[Target],
    request: Request,
    settings: Settings,
    call: Invocation,
    reports: Sequence[ReportTarget],
    compared: Against | None,
) -> FleetRun:
    """Return the run over several targets, in as many processes as --jobs says, else as there are cores."""
    from kubesched_lint.cli.settings.pairs import judged, of_targets  # most runs judge one set

    jobs = call.params["jobs"]
    names_files = any(target.format in ("junit", "gitlab", "rdjsonl") for target in reports)
    plan = of_targets(request, settings, several, compared.of if compared else None, names_files=names_files)
    return judged(plan, "processes" if jobs is None else "serial" if jobs == 1 else f"processes:{jobs}")


def _tell_missing_cluster(report: Report) -> None:
    """Print on stderr how many rules need a cluster, because --quiet hides the footer that names them."""
    missing = sum(skip.reason == "needs a cluster (--cluster)" for skip in report.skipped)
    if missing and not report.summary.unreadable_cluster:
        tell(f"no cluster given (--cluster): {many(missing, 'rule')} skipped")
