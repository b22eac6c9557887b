"""Lint one set of manifests against many clusters: tasks for any executor; lost tasks run again in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.commands.lint.freshness import judged_now
from kubesched_lint.commands.lint.run import entries_of, files_of, open_cluster, report_on, scope_of
from kubesched_lint.commands.lint.workers import Lost
from kubesched_lint.engine.base.releases import judged_by, minor_of
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.cluster.limits import LARGEST
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.files import whole
from kubesched_lint.findings import InputError, Report
from kubesched_lint.limits import LARGEST_WHOLE
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading import ManifestSet, manifest_set
from kubesched_lint.project.owners import with_owners
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from, stated
from kubesched_lint.sources.manifests.document import Skipped
from kubesched_lint.sources.manifests.inputs import InputFile
from kubesched_lint.version import __version__

SUFFIXES = (".yaml", ".yml", ".json", ".yaml.gz", ".yml.gz", ".json.gz")
_IN_FLIGHT = 64
"""Maximum number of submitted tasks, which limits the snapshots in memory."""
_LOOK_AFTER = 0.5
"""Seconds without a result after which we check whether the workers are alive."""


class ClusterFiles(Struct, frozen=True):
    """A cluster of the fleet. ``files`` has (path, content) for workers that cannot read ``path``; else None."""

    name: str
    path: str
    files: tuple[tuple[str, bytes], ...] | None = None


class Work(Struct, frozen=True):
    """A task with all that a worker needs: the contents of the manifests, and some clusters."""

    manifests: tuple[InputFile | Skipped | InputError, ...]
    clusters: tuple[ClusterFiles, ...]
    options: Options
    rulebook: Rulebook
    cluster_options: ClusterOptions = field(default_factory=ClusterOptions)
    paths: tuple[str, ...] = ()
    """The paths of the manifests as the user gave them."""
    max_age: str | None = None
    """A duration such as ``7d``: an older snapshot is an error."""
    version: str = __version__


class FleetOutcome(Struct, frozen=True):
    """The report of ``lint`` for one cluster, or for one target."""

    name: str
    path: str
    report: Report


class FleetExecutor(Struct, frozen=True):
    """Where tasks run. ``pool`` None: this process. ``is_remote``: workers may not see our files.

    ``is_alive`` returns whether workers can still answer; it is called after a while without results.
    """

    pool: Executor | None = None
    workers: int = 1
    is_remote: bool = False
    is_alive: Callable[[], bool] = lambda: True
    warning: str = ""
    """A warning for the user before any task is submitted; empty if there is none."""


class FleetError(Exception):
    """The fleet cannot be linted at all; the message is for the user."""


def clusters_in(folder: str) -> tuple[ClusterFiles, ...]:
    """Return the clusters of a folder by name: each file, and each folder with files, is one. Raises FleetError."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        raise FleetError(f"{folder}: cannot be listed: {error.strerror or error}") from None
    found = [ClusterFiles(_stem(e.name), e.path) for e in entries if not e.name.startswith(".") and _is_cluster(e)]
    if not found:
        raise FleetError(f"{folder}: no cluster found: it has no .json, .yaml or .gz file, and no folder with one")
    names = [cluster.name for cluster in found]
    # a.json and a.yaml are two clusters; their whole file names are different.
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
    cluster_options: ClusterOptions | None = None,
    render: bool = True,
    max_age: str | None = None,
    lost: Callable[[str], None] = lambda reason: None,
) -> tuple[FleetOutcome, ...]:
    """Return the outcome for every cluster, in the order of ``clusters``.

    A task that a worker loses runs in this process; at the end ``lost`` is called with each reason. Before the first
    task it is called with the executor's warning. Raises UnknownRuleError.
    """
    options.rules(rulebook)
    executor = executor or FleetExecutor()
    if executor.warning:
        lost(executor.warning)
    scope = scope_of(options, (cluster.path for cluster in clusters))
    manifests = tuple(files_of(paths, options, render=render, scope=scope))
    tasks = (
        Work(manifests, part, options, rulebook, cluster_options or ClusterOptions(), tuple(paths), max_age)
        for part in _parts(clusters, executor)
    )
    if executor.pool is None:
        outcomes = [outcome for task in tasks for outcome in lint_clusters(task)]
    else:
        outcomes = list(_submitted(tasks, executor.pool, executor, lost))
    places = {cluster.path: number for number, cluster in enumerate(clusters)}
    owned = (replace(outcome, report=with_owners(outcome.report)) for outcome in outcomes)
    return tuple(sorted(owned, key=lambda outcome: places[outcome.path]))


def _parts(clusters: Sequence[ClusterFiles], executor: FleetExecutor) -> Iterator[tuple[ClusterFiles, ...]]:
    """Yield the clusters of each task: some tasks per worker balance the load; more would parse manifests too often."""
    size = max(1, len(clusters) // (4 * max(1, executor.workers)))
    for start in range(0, len(clusters), size):
        part = clusters[start : start + size]
        yield tuple(map(_packed, part)) if executor.is_remote else tuple(part)


def _packed(cluster: ClusterFiles) -> ClusterFiles:
    """Return the cluster with the contents of its files; unchanged if one is unreadable, so that linting reports it."""
    names = [cluster.path]
    if os.path.isdir(cluster.path):
        found = (os.path.join(top, name) for top, _, inside in os.walk(cluster.path) for name in inside)
        names = sorted(name for name in found if name.lower().endswith(SUFFIXES))
    try:
        return ClusterFiles(cluster.name, cluster.path, tuple((name, _content(name)) for name in names))
    except OSError:
        return cluster


def _content(name: str) -> bytes:
    return whole(name, LARGEST)


def lint_clusters(work: Work) -> tuple[FleetOutcome, ...]:
    """Return the outcomes of a task. Raises FleetError if this worker has another version, whose results may differ."""
    if work.version != __version__:
        raise FleetError(f"the worker has kubesched-lint {__version__}, not {work.version}")

    @cache
    def read_for(version: str) -> ManifestSet:
        return manifest_set(
            entries_of(work.manifests, work.options.kinds), work.options.namespace, version, kinds=work.options.kinds
        )

    return tuple(FleetOutcome(c.name, c.path, _report(c, read_for, work)) for c in work.clusters)


def _report(cluster: ClusterFiles, read_for: Callable[[str], ManifestSet], work: Work) -> Report:
    opened, problem = _opened(cluster, work.cluster_options)
    version = judged_by(work.options.kubernetes_version, opened.server_version if opened else "")
    manifests = read_for(minor_of(version))
    report = report_on(manifests, opened, problem, work.options, work.rulebook, work.paths)
    return judged_now(report, opened, work.max_age, version)


def lint_as_data(work: Work) -> bytes:
    """Return the outcomes of a task as MessagePack: decoding it runs no code of the worker."""
    return msgspec.msgpack.encode(lint_clusters(work))


def _from_data(data: object, work: Work) -> tuple[FleetOutcome, ...]:
    """Return the outcomes in a remote worker's result. Raises FleetError if it is anything else."""
    if not isinstance(data, bytes):
        raise FleetError(f"its result is not a report but a {type(data).__name__}")
    if len(data) > LARGEST_WHOLE:
        raise FleetError(f"its result is larger than {LARGEST_WHOLE // 1024**2} MiB")
    try:
        outcomes = msgspec.msgpack.decode(data, type=tuple[FleetOutcome, ...])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise FleetError(f"its result is not a report: {error}") from None
    if [(one.name, one.path) for one in outcomes] != [(one.name, one.path) for one in work.clusters]:
        raise FleetError("its result is about other clusters")
    return outcomes


def _opened(cluster: ClusterFiles, cluster_options: ClusterOptions) -> tuple[Cluster | None, tuple[InputError, ...]]:
    if cluster.files is None:
        return open_cluster(cluster.path, cluster_options)
    try:
        found = cluster_from(cluster.files, cluster.path, elastic=cluster_options.elastic)
        return stated(found, cluster_options), ()
    except ClusterError as error:
        return None, (InputError(error.path, error.message, error.line, error.column),)


# --- workers --------------------------------------------------------------------------------------------------------


def _submitted(
    tasks: Iterator[Work], pool: Executor, executor: FleetExecutor, tell: Callable[[str], None]
) -> Iterator[FleetOutcome]:
    lost = Lost(tell)
    waiting: dict[Future[Any], Work] = {}
    lint: Callable[[Work], object] = lint_as_data if executor.is_remote else lint_clusters
    rest = iter(tasks)
    while True:
        while len(waiting) < _IN_FLIGHT and (task := next(rest, None)) is not None:
            try:
                waiting[pool.submit(lint, task)] = task
            except Exception as error:  # a broken pool accepts no more tasks
                yield from _here(task, error, lost)
        if not waiting:
            break
        done, _ = wait(waiting, timeout=_LOOK_AFTER, return_when=FIRST_COMPLETED)
        if not done and not executor.is_alive():
            for future, task in waiting.items():
                future.cancel()
                yield from _here(task, BrokenExecutor(), lost)
            waiting.clear()
        for future in done:
            task = waiting.pop(future)
            result = _result(future, task, executor.is_remote)
            yield from _here(task, result, lost) if isinstance(result, BaseException) else result
    lost.told()


def _result(future: Future[Any], task: Work, is_remote: bool) -> tuple[FleetOutcome, ...] | BaseException:
    """Return the outcomes, or the worker's exception; raising it could end this process, as SystemExit does."""
    try:
        failure = future.exception()
        if failure is not None:
            return failure
        outcomes: tuple[FleetOutcome, ...] = _from_data(future.result(), task) if is_remote else future.result()
    except Exception as error:
        return error
    return outcomes


def _here(task: Work, error: BaseException, lost: Lost) -> Iterator[FleetOutcome]:
    """Yield the outcomes of a lost task, linted here one by one; a cluster that fails again has an error instead."""
    lost.note((cluster.name for cluster in task.clusters), error)
    for cluster in task.clusters:
        alone = replace(task, clusters=(cluster,))
        try:
            yield from lint_clusters(alone)
        except Exception as again:
            problem = InputError(cluster.path, f"linting failed with {type(again).__name__}: {again}")
            yield FleetOutcome(cluster.name, cluster.path, Report(errors=(problem,)))
