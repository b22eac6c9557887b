"""The tasks of a plan: which pairs one worker judges, and what this process reads for it."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.commands.fleet.plan import FleetPlan, Pair
from kubesched_lint.commands.lint.request import Brought, reading_of
from kubesched_lint.commands.lint.run import input_of
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.files import is_within
from kubesched_lint.project.baseline import read_baseline
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import Contents, contents
from kubesched_lint.sources.manifests.inputs import Input, InputFile
from kubesched_lint.sources.scheduler_config.file import content_of
from kubesched_lint.version import __version__

_PARTS = 4
"""Tasks for each worker: it reads what its pairs share once in each, and none waits long for another's last task."""
_BATCH = 4
"""Pairs with one set in a task, if there are enough for all workers: the set is decoded again in each."""


class Task(Struct, frozen=True):
    """Some pairs, and all that a worker needs to judge them."""

    pairs: tuple[Pair, ...]
    rulebook: Rulebook
    brought: Brought = field(default_factory=Brought)
    names_files: bool = False
    stays: bool = False
    """Whether this process has to judge it, because what it reads cannot be sent."""
    version: str = __version__


def tasks_of(plan: FleetPlan, workers: int, *, see_files: bool) -> Iterator[Task]:
    """Yield the tasks for so many workers; one task if there are none, for this process. Raises BaselineError.

    If all pairs have the same set, this process reads it, once, and any worker may judge any of them. Otherwise workers
    read the sets, and those that overlap are for one worker. ``see_files``: whether workers see our files; else the
    tasks bring the contents.
    """
    pairs = plan.pairs
    has_one_set = len({_reading(pair) for pair in pairs}) == 1
    brought = Brought(sets=_sets(pairs[:1])) if has_one_set and len(pairs) > 1 else Brought()
    for part in _even(pairs, workers) if has_one_set else _apart(pairs, workers):
        task = Task(tuple(part), plan.rulebook, brought, plan.names_files)
        if see_files:
            yield task
        else:
            yield from _sent(task)


def _reading(pair: Pair) -> Hashable:
    return reading_of(pair.request, pair.options)


def _sets(pairs: Sequence[Pair]) -> dict[Hashable, tuple[Input, ...]]:
    return {_reading(pair): tuple(input_of(pair.request, pair.options)) for pair in pairs}


# --- who judges what ------------------------------------------------------------------------------------------------


def _even(pairs: Sequence[Pair], workers: int) -> Iterator[Sequence[Pair]]:
    """Yield the pairs in parts of one size."""
    size = len(pairs)
    if workers:
        size = max(min(_BATCH, -(-size // workers)), size // (_PARTS * workers))
    return (pairs[start : start + size] for start in range(0, len(pairs), size))


def _apart(pairs: Sequence[Pair], workers: int) -> list[list[Pair]]:
    """Return the pairs in some parts for each worker; those whose paths overlap are in the same part."""
    real = {pair.name: [os.path.realpath(path) for path in pair.request.paths] for pair in pairs}
    roots: dict[str, str] = {}
    root = ""
    for path in sorted({path for paths in real.values() for path in paths}, key=lambda path: path.split(os.sep)):
        root = root if root and is_within(path, root) else path
        roots[path] = root
    groups: dict[str, list[Pair]] = {}
    homes: dict[str, str] = {}
    for pair in pairs:
        mine = dict.fromkeys(roots[path] for path in real[pair.name])
        name, *others = dict.fromkeys(homes.get(path, path) for path in mine)
        group = groups.setdefault(name, [])
        for other in others:  # it overlaps with several groups, which become one
            group += groups.pop(other, [])
            homes |= {path: name for path, home in homes.items() if home == other}
        homes |= dict.fromkeys(mine, name)
        group.append(pair)
    ordered = list(groups.values())
    each = -(-len(ordered) // (workers * _PARTS)) if workers else len(ordered)
    parts = (ordered[first : first + each] for first in range(0, len(ordered), each))
    return [[pair for group in part for pair in group] for part in parts]


# --- workers that do not see our files ------------------------------------------------------------------------------


def _sent(task: Task) -> Iterator[Task]:
    """Yield the task with the contents of all files, and one that stays, of the pairs whose files cannot be sent."""
    files = {pair.name: _files(pair) for pair in task.pairs}
    sent = tuple(_alone(pair) for pair in task.pairs if files[pair.name] is not None)
    left = tuple(pair for pair in task.pairs if files[pair.name] is None)
    if left:
        yield replace(task, pairs=left, stays=True)
    if not sent:
        return
    read = task.brought.sets or _sets(sent)
    sets = {reading: tuple(map(_kept_whole, inputs)) for reading, inputs in read.items()}
    named = {path: data for texts in files.values() if texts is not None for path, data in texts.items()}
    baseline = sent[0].request.baseline
    known = None if baseline is None else read_baseline(baseline, task.rulebook)
    yield replace(task, pairs=sent, brought=Brought(sets, named, known))


def _alone(pair: Pair) -> Pair:
    """Return the pair for another machine, where a kept report could be about other files of these names."""
    return replace(pair, request=replace(pair.request, cache=False))


def _files(pair: Pair) -> Contents | None:
    """Return what a request names besides manifests and baseline: path → (path, content) of its files.

    None if something cannot be read, which this process then says, or is a live cluster.
    """
    cluster, config = pair.request.cluster, pair.request.cluster_options.scheduler_config
    try:
        nodes = () if cluster is None else contents(cluster)
        settings = ((config, content_of(config)),) if config else ()
    except (OSError, ClusterError):
        return None
    return None if nodes is None else {cluster or "": nodes, config: settings}


def _kept_whole(manifest: Input) -> Input:
    """Return what was read of the manifests; its documents are kept, as the file cannot be read again elsewhere."""
    return replace(manifest, real="") if isinstance(manifest, InputFile) else manifest
