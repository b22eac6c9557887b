"""What a worker does: it judges the pairs of a task, and reads once what they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct, field

from kubesched_lint.commands.fleet.plan import FleetError, Pair
from kubesched_lint.commands.fleet.tasks import Task
from kubesched_lint.commands.lint.request import reading_of
from kubesched_lint.commands.lint.run import LintRun, Shared, checked
from kubesched_lint.findings import InputError, Report
from kubesched_lint.limits import LARGEST_WHOLE
from kubesched_lint.linter.options import BaselineError, ChangedError
from kubesched_lint.project.baseline import KnownFinding
from kubesched_lint.rulebook.library import UnknownRuleError
from kubesched_lint.sources.manifests.document import RENDERED
from kubesched_lint.version import __version__

_FOR_USERS = (UnknownRuleError, BaselineError, ChangedError)
"""What ends the run over all pairs, because it is wrong for each of them."""


class PairOutcome(Struct, frozen=True):
    """The report of one pair; ``gone`` and ``absent`` as in ``Compared``; ``rendered``: path → lines of its text."""

    name: str
    cluster: str
    report: Report
    gone: tuple[KnownFinding, ...] = ()
    absent: tuple[KnownFinding, ...] = ()
    files: tuple[str, ...] = ()
    rendered: Mapping[str, Sequence[str]] = field(default_factory=dict)


def judge_task(task: Task) -> tuple[PairOutcome, ...]:
    """Return the outcomes in order. Raises what a pair raises, and FleetError for a task of another version."""
    if task.version != __version__:
        raise FleetError(f"the worker has kubesched-lint {__version__}, not {task.version}")
    return tuple(judge_pair(pair, task, shared) for pair, shared in _sharing(task))


def judge_here(task: Task) -> Iterator[PairOutcome]:
    """Yield the outcomes of a task that nobody else judges; a pair that fails has an error instead of a report.

    Raises UnknownRuleError, ChangedError or BaselineError.
    """
    for pair, shared in _sharing(task):
        try:
            yield judge_pair(pair, task, shared)
        except _FOR_USERS:
            raise
        except Exception as error:
            path = pair.request.cluster or next(iter(pair.request.paths), "")
            problem = InputError(path, f"linting failed with {type(error).__name__}: {error}")
            yield PairOutcome(pair.name, pair.request.cluster or "", Report(errors=(problem,)))


def _sharing(task: Task) -> Iterator[tuple[Pair, Shared]]:
    """Yield the pairs, each with what earlier ones have read; it is kept while a later one may need it."""
    shared = Shared(task.brought)
    last_of_cluster = {pair.request.cluster: number for number, pair in enumerate(task.pairs)}
    last_of_set = {reading_of(pair.request, pair.options): number for number, pair in enumerate(task.pairs)}
    for number, pair in enumerate(task.pairs):
        yield pair, shared
        reading = reading_of(pair.request, pair.options)
        if last_of_cluster[pair.request.cluster] == number:
            shared.forget_cluster(pair.request.cluster)
        if last_of_set[reading] == number:
            shared.forget_sets(reading)


def judge_pair(pair: Pair, task: Task, shared: Shared) -> PairOutcome:
    """Return the outcome of one pair. Raises like ``checked``."""
    run = checked(pair.request, pair.options, task.rulebook, shared=shared)
    files = tuple(run.files()) if task.names_files else ()
    gone, absent = (run.held.gone, run.held.absent) if run.held else ((), ())
    return PairOutcome(pair.name, pair.request.cluster or "", run.report, gone, absent, files, dict(_rendered(run)))


def _rendered(run: LintRun) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield (path, lines) of the rendered texts that findings point to."""
    places = (place for f in run.report.findings for place in (f.location, *(r.location for r in f.related)))
    for path in {place.path for place in places if place.path.endswith(RENDERED)}:
        yield path, run.rendered_lines(path)


# --- as data --------------------------------------------------------------------------------------------------------


def judge_as_data(task: Task) -> bytes:
    """Return the outcomes of a task as MessagePack: decoding it runs no code of the worker. Raises like judge_task."""
    return msgspec.msgpack.encode(judge_task(task))


def outcomes_in(data: object, task: Task) -> tuple[PairOutcome, ...]:
    """Return the outcomes in a remote worker's result. Raises FleetError if it is anything else."""
    if not isinstance(data, bytes):
        raise FleetError(f"its result is not a report but a {type(data).__name__}")
    if len(data) > LARGEST_WHOLE:
        raise FleetError(f"its result is larger than {LARGEST_WHOLE // 1024**2} MiB")
    try:
        outcomes = msgspec.msgpack.decode(data, type=tuple[PairOutcome, ...])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise FleetError(f"its result is not a report: {error}") from None
    if [(outcome.name, outcome.cluster) for outcome in outcomes] != [
        (p.name, p.request.cluster or "") for p in task.pairs
    ]:
        raise FleetError("its result is about other clusters")
    return outcomes
