"""A run over several targets: each is linted like a run of its own, in parallel, and all make one report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from concurrent.futures.process import BrokenProcessPool

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.commands.lint.known import gone_from_all
from kubesched_lint.commands.lint.merging import merged
from kubesched_lint.commands.lint.remarks import with_notes, with_unused_baseline
from kubesched_lint.commands.lint.run import LintRun, Request, checked
from kubesched_lint.commands.lint.workers import Lost, Workers, closing
from kubesched_lint.findings import Report, TargetSummary
from kubesched_lint.linter.options import Options
from kubesched_lint.manifests.document import RENDERED
from kubesched_lint.project.baseline import KnownFinding, gone_note
from kubesched_lint.rulebook.library import Rulebook

_LOOK_AFTER = 0.5
"""Seconds without an answer after which we check whether the workers are alive."""


class TargetWork(Struct, frozen=True):
    """What a worker needs to lint one target."""

    name: str
    request: Request
    options: Options
    rulebook: Rulebook
    names_files: bool = False
    """Whether a report names all files, also those without findings."""


class TargetOutcome(Struct, frozen=True):
    """The report of one target; ``gone`` and ``absent`` as in ``Compared``; ``rendered``: path → lines of its text."""

    name: str
    report: Report
    gone: tuple[KnownFinding, ...] = ()
    absent: tuple[KnownFinding, ...] = ()
    files: tuple[str, ...] = ()
    rendered: Mapping[str, Sequence[str]] = field(default_factory=dict)


class TargetsRun(Struct, frozen=True):
    """The merged report of all targets, with what reports ask of a run."""

    report: Report
    outcomes: tuple[TargetOutcome, ...]
    gone: tuple[KnownFinding, ...] = ()
    """What the baseline holds and no target shows."""

    def files(self) -> Sequence[str]:
        return sorted({path for outcome in self.outcomes for path in outcome.files})

    def rendered_lines(self, path: str) -> Sequence[str]:
        return next((outcome.rendered[path] for outcome in self.outcomes if path in outcome.rendered), ())

    def extras(self) -> None:
        """None: a matrix and a picture are about one cluster."""


def check_targets(
    work: Sequence[TargetWork],
    summary_of: Callable[[str, Report], TargetSummary],
    jobs: int = 1,
    *,
    are_all: bool = False,
    lost: Callable[[str], None] = lambda reason: None,
) -> TargetsRun:
    """Return the run over the targets, at most ``jobs`` at the same time; ``summary_of`` words a name and a report.

    If no further target uses the baseline (``are_all``), the run knows which of its entries are gone.
    What workers lose is linted in this process; at the end ``lost`` is called with the reason.

    Raises UnknownRuleError, ChangedError or BaselineError.
    """
    jobs = min(jobs, len(work))
    outcomes = tuple(_in_processes(work, jobs, lost) if jobs > 1 else map(check_target, work))
    reports = {outcome.name: outcome.report for outcome in outcomes}
    request = work[0].request
    report = merged(reports, {one.name: one.request.paths for one in work}, request.configuration)
    summaries = tuple(summary_of(name, its) for name, its in reports.items())
    report = replace(report, summary=replace(report.summary, targets=summaries))
    if not request.baseline:
        return TargetsRun(with_unused_baseline(report, work[0].rulebook, reports), outcomes)
    gone = gone_from_all([(outcome.gone, outcome.absent) for outcome in outcomes]) if are_all else ()
    return TargetsRun(with_notes(report, *gone_note(gone, request.baseline)), outcomes, gone)


def check_target(work: TargetWork) -> TargetOutcome:
    """Return the outcome of one target. Raises like ``checked``."""
    run = checked(work.request, work.options, work.rulebook)
    files = tuple(run.files()) if work.names_files else ()
    gone, absent = (run.held.gone, run.held.absent) if run.held else ((), ())
    return TargetOutcome(work.name, run.report, gone, absent, files, dict(_rendered(run)))


def _rendered(run: LintRun) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield (path, lines) of the rendered texts that findings point to."""
    places = (place for f in run.report.findings for place in (f.location, *(r.location for r in f.related)))
    for path in {place.path for place in places if place.path.endswith(RENDERED)}:
        yield path, run.rendered_lines(path)


def _in_processes(work: Sequence[TargetWork], jobs: int, tell: Callable[[str], None]) -> Iterator[TargetOutcome]:
    """Yield the outcomes in order. What a worker fails to do, this process does, and fails or not as it would alone."""
    lost = Lost(tell)
    with closing(Workers(jobs)) as pool:
        begun = [(one, _begun(one, pool)) for one in work]
        for one, future in begun:
            answer = future if isinstance(future, Exception) else _answer(future, pool)
            if isinstance(answer, BaseException):
                lost.note([one.name], answer)
                answer = check_target(one)
            yield answer
    lost.told()


def _begun(work: TargetWork, pool: Workers) -> Future[TargetOutcome] | Exception:
    try:
        return pool.submit(check_target, work)
    except (BrokenProcessPool, OSError) as error:  # a worker is dead already, or the system starts no further one
        return error


def _answer(future: Future[TargetOutcome], pool: Workers) -> TargetOutcome | BaseException:
    """Return the answer of a worker, or why there is none."""
    while not wait([future], _LOOK_AFTER).done:
        if not pool.is_whole():
            return BrokenProcessPool()
    return future.exception() or future.result()
