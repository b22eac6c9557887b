"""One set of manifests against many clusters: tasks that any executor can run, none of which is lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kubesched_lint.cluster.elastic import Autoscaling
from kubesched_lint.files import whole
from kubesched_lint.findings import InputError, Report
from kubesched_lint.linter.options import Options
from kubesched_lint.record import record
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.version import __version__

if TYPE_CHECKING:
    from kubesched_lint.cluster.cluster import Cluster
    from kubesched_lint.manifests.document import Skipped
    from kubesched_lint.manifests.inputs import InputFile

SUFFIXES = (".yaml", ".yml", ".json", ".yaml.gz", ".yml.gz", ".json.gz")
_IN_FLIGHT = 64
"""Tasks handed over at a time, so that not every snapshot has to be in memory at once."""
_LARGEST_RESULT = 256 * 1024 * 1024
"""Bytes of what a remote worker brings back of one task."""
_LONGEST_REASON = 300
_LOOK_AFTER = 0.5
"""Seconds without a result after which we ask whether anybody is still working."""


@record
class ClusterFiles:
    """A cluster of the fleet. ``files`` are its contents where workers may not see ``path``; None where they do."""

    name: str
    path: str
    files: tuple[tuple[str, bytes], ...] | None = None


@record
class Work:
    """All that a worker needs to know, wherever it runs: manifests as they were read, and some clusters."""

    manifests: tuple[InputFile | Skipped | InputError, ...]
    clusters: tuple[ClusterFiles, ...]
    options: Options
    rulebook: Rulebook
    autoscaling: Autoscaling = field(default_factory=Autoscaling)
    paths: tuple[str, ...] = ()
    """What the manifests were named by."""
    version: str = __version__


@record
class FleetOutcome:
    """What ``lint`` reports of one cluster."""

    name: str
    path: str
    report: Report


@record
class FleetExecutor:
    """Who does the work. ``pool`` None: this process. ``is_remote``: workers may not see our files.

    ``is_alive`` is asked when nothing has come back for a while.
    """

    pool: Executor | None = None
    workers: int = 1
    is_remote: bool = False
    is_alive: Callable[[], bool] = lambda: True
    warning: str = ""
    """What somebody should know before work is handed over."""


class FleetError(Exception):
    """Why a fleet cannot be linted at all, as one message for the user."""


def clusters_in(folder: str) -> tuple[ClusterFiles, ...]:
    """Each file, and each folder with files, is a cluster named after it; in the order of names. Raises FleetError."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        raise FleetError(f"{folder}: cannot be listed: {error.strerror or error}") from None
    found = [ClusterFiles(_stem(e.name), e.path) for e in entries if not e.name.startswith(".") and _is_cluster(e)]
    if not found:
        raise FleetError(f"{folder}: holds no cluster: no .json, .yaml or .gz file, and no folder with some")
    names = [cluster.name for cluster in found]
    # a.json and a.yaml are two clusters: then the whole file names tell them apart.
    return tuple(
        cluster if names.count(cluster.name) == 1 else ClusterFiles(os.path.basename(cluster.path), cluster.path)
        for cluster in found
    )


def _stem(name: str) -> str:
    return next((name[: -len(s)] for s in sorted(SUFFIXES, key=len, reverse=True) if name.lower().endswith(s)), name)


def _is_cluster(entry: os.DirEntry[str]) -> bool:
    if not entry.is_dir():
        return entry.name.lower().endswith(SUFFIXES)
    return any(name.lower().endswith(SUFFIXES) for _, _, names in os.walk(entry.path) for name in names)


def lint_fleet(
    paths: Sequence[str],
    clusters: Sequence[ClusterFiles],
    options: Options,
    rulebook: Rulebook,
    *,
    executor: FleetExecutor | None = None,
    autoscaling: Autoscaling | None = None,
    render: bool = True,
    lost: Callable[[str], None] = lambda reason: None,
) -> tuple[FleetOutcome, ...]:
    """The outcome for every cluster, in their order, whoever did the work.

    What a worker does not bring back is done here; ``lost`` is then called with the reason, and before all else with
    the executor's warning. Raises UnknownRuleError.
    """
    from kubesched_lint.commands.lint.run import files_of

    rulebook.select(options.profile, options.select, options.ignore)
    executor = executor or FleetExecutor()
    if executor.warning:
        lost(executor.warning)
    manifests = tuple(files_of(paths, options, render=render))
    tasks = (
        Work(manifests, part, options, rulebook, autoscaling or Autoscaling(), tuple(paths))
        for part in _parts(clusters, executor)
    )
    if executor.pool is None:
        outcomes = [outcome for task in tasks for outcome in lint_clusters(task)]
    else:
        outcomes = list(_handed_over(tasks, executor.pool, executor, lost))
    places = {cluster.path: number for number, cluster in enumerate(clusters)}
    return tuple(sorted(outcomes, key=lambda outcome: places[outcome.path]))


def _parts(clusters: Sequence[ClusterFiles], executor: FleetExecutor) -> Iterator[tuple[ClusterFiles, ...]]:
    """Some tasks for each worker: enough to even out, few enough not to parse the manifests too often."""
    size = max(1, len(clusters) // (4 * max(1, executor.workers)))
    for start in range(0, len(clusters), size):
        part = clusters[start : start + size]
        yield tuple(map(_packed, part)) if executor.is_remote else tuple(part)


def _packed(cluster: ClusterFiles) -> ClusterFiles:
    """With the contents of its files; what cannot be read is told by whoever tries again."""
    names = [cluster.path]
    if os.path.isdir(cluster.path):
        found = (os.path.join(top, name) for top, _, inside in os.walk(cluster.path) for name in inside)
        names = sorted(name for name in found if name.lower().endswith(SUFFIXES))
    try:
        return ClusterFiles(cluster.name, cluster.path, tuple((name, _content(name)) for name in names))
    except OSError:
        return cluster


def _content(name: str) -> bytes:
    from kubesched_lint.cluster.unpack import LARGEST

    return whole(name, LARGEST)


def lint_clusters(work: Work) -> tuple[FleetOutcome, ...]:
    """What a worker does. Raises FleetError when it runs another version, whose results might differ."""
    from kubesched_lint.commands.lint.run import entries_of, report_on
    from kubesched_lint.linter.reading import manifest_set

    if work.version != __version__:
        raise FleetError(f"the worker has kubesched-lint {__version__}, not {work.version}")
    manifests = manifest_set(entries_of(work.manifests), work.options.namespace, work.options.kubernetes_version)
    return tuple(
        FleetOutcome(
            c.name,
            c.path,
            report_on(manifests, *_opened(c, work.autoscaling), work.options, work.rulebook, work.paths),
        )
        for c in work.clusters
    )


def lint_as_data(work: Work) -> bytes:
    """What a remote worker does: it brings back data, which is decoded as nothing else."""
    import msgspec

    return msgspec.msgpack.encode(lint_clusters(work))


def _from_data(data: object, work: Work) -> tuple[FleetOutcome, ...]:
    """The outcomes that a remote worker brings back. Raises FleetError for whatever else it may be."""
    import msgspec

    if not isinstance(data, bytes):
        raise FleetError(f"it brought back no report but a {type(data).__name__}")
    if len(data) > _LARGEST_RESULT:
        raise FleetError(f"it brought back more than {_LARGEST_RESULT // 1024**2} MiB")
    try:
        outcomes = msgspec.msgpack.decode(data, type=tuple[FleetOutcome, ...])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise FleetError(f"it brought back no report: {error}") from None
    if [(one.name, one.path) for one in outcomes] != [(one.name, one.path) for one in work.clusters]:
        raise FleetError("it brought back reports of other clusters")
    return outcomes


def _opened(cluster: ClusterFiles, autoscaling: Autoscaling) -> tuple[Cluster | None, tuple[InputError, ...]]:
    from kubesched_lint.cluster.cluster import ClusterError
    from kubesched_lint.cluster.read import cluster_from
    from kubesched_lint.commands.lint.run import open_cluster

    if cluster.files is None:
        return open_cluster(cluster.path, autoscaling)
    try:
        found = cluster_from(cluster.files, cluster.path, elastic=autoscaling.elastic)
        return found.as_stated(autoscaling), ()
    except ClusterError as error:
        return None, (InputError(error.path, error.message, error.line, error.column),)


# --- who does the work ----------------------------------------------------------------------------------------------


def _handed_over(
    tasks: Iterator[Work], pool: Executor, executor: FleetExecutor, lost: Callable[[str], None]
) -> Iterator[FleetOutcome]:
    waiting: dict[Future[Any], Work] = {}
    handed: Callable[[Work], object] = lint_as_data if executor.is_remote else lint_clusters
    rest = iter(tasks)
    while True:
        while len(waiting) < _IN_FLIGHT and (task := next(rest, None)) is not None:
            try:
                waiting[pool.submit(handed, task)] = task
            except Exception as error:  # a pool that broke takes no more work
                yield from _here(task, error, lost)
        if not waiting:
            return
        done, _ = wait(waiting, timeout=_LOOK_AFTER, return_when=FIRST_COMPLETED)
        if not done and not executor.is_alive():
            for future, task in waiting.items():
                future.cancel()
                yield from _here(task, FleetError("a worker is gone, and none answers"), lost)
            waiting.clear()
        for future in done:
            task = waiting.pop(future)
            brought = _brought(future, task, executor.is_remote)
            yield from _here(task, brought, lost) if isinstance(brought, BaseException) else brought


def _brought(future: Future[Any], task: Work, is_remote: bool) -> tuple[FleetOutcome, ...] | BaseException:
    """Whatever kills a worker must not lose its clusters, and what it raised may not end us: a SystemExit would."""
    try:
        failure = future.exception()
        if failure is not None:
            return failure
        outcomes: tuple[FleetOutcome, ...] = _from_data(future.result(), task) if is_remote else future.result()
    except Exception as error:
        return error
    return outcomes


def _here(task: Work, error: BaseException, lost: Callable[[str], None]) -> Iterator[FleetOutcome]:
    """A task that a worker did not bring back, cluster by cluster; one that fails here too is an error of its own."""
    names = ", ".join(cluster.name for cluster in task.clusters)
    why = " ".join(str(error).split())
    why = why if len(why) <= _LONGEST_REASON else f"{why[:_LONGEST_REASON]} …"
    lost(f"{names}: done here, for a worker failed with {type(error).__name__}: {why}")
    for cluster in task.clusters:
        alone = Work(task.manifests, (cluster,), task.options, task.rulebook, task.autoscaling)
        try:
            yield from lint_clusters(alone)
        except Exception as again:
            problem = InputError(cluster.path, f"linting failed with {type(again).__name__}: {again}")
            yield FleetOutcome(cluster.name, cluster.path, Report(errors=(problem,)))
