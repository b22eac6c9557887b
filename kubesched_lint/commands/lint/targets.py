"""A run over several targets: each is linted like a run of its own, in parallel, and all make one report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from concurrent.futures.process import BrokenProcessPool

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.commands.lint.known import gone_from_all
from kubesched_lint.commands.lint.merging import merged
from kubesched_lint.commands.lint.remarks import with_notes, with_unused_baseline
from kubesched_lint.commands.lint.run import LintRun, Request, Shared, checked
from kubesched_lint.commands.lint.workers import Lost, Workers, closing
from kubesched_lint.files import is_within
from kubesched_lint.findings import Report, TargetSummary
from kubesched_lint.linter.options import Options
from kubesched_lint.project.baseline import KnownFinding, gone_note
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.document import RENDERED

_PARTS = 4
"""Parts of the work for each process: it reads a cluster once in each, and none waits long for another's last part."""
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
    outcomes = tuple(_in_processes(work, jobs, lost) if jobs > 1 else check_together(work))
    reports = {outcome.name: outcome.report for outcome in outcomes}
    request = work[0].request
    report = merged(reports, {one.name: one.request.paths for one in work}, request.configuration)
    summaries = tuple(summary_of(name, its) for name, its in reports.items())
    report = replace(report, summary=replace(report.summary, targets=summaries))
    if not request.baseline:
        return TargetsRun(with_unused_baseline(report, work[0].rulebook, reports), outcomes)
    gone = gone_from_all([(outcome.gone, outcome.absent) for outcome in outcomes]) if are_all else ()
    return TargetsRun(with_notes(report, *gone_note(gone, request.baseline)), outcomes, gone)


def check_together(work: Sequence[TargetWork]) -> list[TargetOutcome]:
    """Return the outcomes of targets, which read once what they share. Raises like ``checked``."""
    shared = Shared()
    last = {one.request.paths: number for number, one in enumerate(work)}
    outcomes = []
    for number, one in enumerate(work):
        outcomes.append(check_target(one, shared))
        if last[one.request.paths] == number:  # no other target has these paths
            shared.sets.clear()
    return outcomes


def check_target(work: TargetWork, shared: Shared | None = None) -> TargetOutcome:
    """Return the outcome of one target. Raises like ``checked``."""
    run = checked(work.request, work.options, work.rulebook, shared=shared)
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
    outcomes: dict[str, TargetOutcome] = {}
    with closing(Workers(jobs)) as pool:
        begun = [(batch, _begun(batch, pool)) for batch in _batches(work, jobs)]
        for batch, future in begun:
            answer = future if isinstance(future, Exception) else _answer(future, pool)
            if isinstance(answer, BaseException):
                lost.note([one.name for one in batch], answer)
                answer = check_together(batch)
            outcomes.update((outcome.name, outcome) for outcome in answer)
    lost.told()
    yield from (outcomes[one.name] for one in work)


def _batches(work: Sequence[TargetWork], jobs: int) -> list[list[TargetWork]]:
    """Return the work in some parts for each process; targets whose paths overlap are in the same part."""
    real = {one.name: [os.path.realpath(path) for path in one.request.paths] for one in work}
    roots: dict[str, str] = {}
    root = ""
    for path in sorted({path for paths in real.values() for path in paths}, key=lambda path: path.split(os.sep)):
        root = root if root and is_within(path, root) else path
        roots[path] = root
    groups: dict[str, list[TargetWork]] = {}
    homes: dict[str, str] = {}
    for one in work:
        mine = dict.fromkeys(roots[path] for path in real[one.name])
        name, *others = dict.fromkeys(homes.get(path, path) for path in mine)
        group = groups.setdefault(name, [])
        for other in others:  # it overlaps with several groups, which become one
            group += groups.pop(other, [])
            homes |= {path: name for path, home in homes.items() if home == other}
        homes |= dict.fromkeys(mine, name)
        group.append(one)
    ordered = list(groups.values())
    each = -(-len(ordered) // (jobs * _PARTS))
    parts = (ordered[first : first + each] for first in range(0, len(ordered), each))
    return [[one for group in part for one in group] for part in parts]


def _begun(work: Sequence[TargetWork], pool: Workers) -> Future[list[TargetOutcome]] | Exception:
    try:
        return pool.submit(check_together, work)
    except (BrokenProcessPool, OSError) as error:  # a worker is dead already, or the system starts no further one
        return error


def _answer(future: Future[list[TargetOutcome]], pool: Workers) -> list[TargetOutcome] | BaseException:
    """Return the answer of a worker, or why there is none."""
    while not wait([future], _LOOK_AFTER).done:
        if not pool.is_whole():
            return BrokenProcessPool()
    return future.exception() or future.result()
