"""What ``lint --changed=BASE`` compares with: a copy of BASE, and how BASE itself would have been linted."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.cli.parsing._lint_options import OPTIONS
from kubesched_lint.cli.parsing.invocation import Invocation, is_given
from kubesched_lint.cli.parsing.ordinary import Ordinary
from kubesched_lint.cli.settings.settings import Settings, settled
from kubesched_lint.cli.settings.targets import settings_of
from kubesched_lint.commands.lint.request import Before, Past, Request
from kubesched_lint.engine.cluster.cluster import LIVE
from kubesched_lint.files import content, is_within, root_of
from kubesched_lint.limits import LARGEST_SETTINGS
from kubesched_lint.linter.options import ChangedError
from kubesched_lint.programs import ProgramError, WorkTree
from kubesched_lint.project.changed import Changes, changes_since
from kubesched_lint.project.commits import CommitError, Copy, as_relative, copy_of
from kubesched_lint.project.config.file import NAME, SHARED
from kubesched_lint.project.config.keys import ConfigError
from kubesched_lint.sources.clusters.read import is_absent

_FILES = ("config_file", "cluster", "files_from", "scheduler_config", "baseline")
_FOLDERS = ("rule_folders", "workload_folders")
"""Options that name files and folders."""


class Against(Struct, frozen=True):
    """Answers what the run of a target is compared with."""

    changes: Changes
    folder: str = ""
    past: Settings | None = None
    """The settings at BASE; None if nothing has changed."""
    paths: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, request: Request, name: str = "") -> Request:
        """Return the request of the target, or of the paths without a name, with what it is compared with."""
        if self.past is None:
            return replace(request, before=Before(self.changes))
        settings, paths = self.past, self.paths
        if name:
            target = next((candidate for candidate in settings.config.targets if candidate.name == name), None)
            settings, paths = (settings, ()) if target is None else (settings_of(settings, target), target.paths)
        names = filter(None, (request.cluster, request.cluster_options.scheduler_config))
        is_same = not any(self.changes.concerns(os.path.realpath(path)) for path in names)
        with chdir(self.folder):
            past = self._past(request, settings, paths, name)
        is_same &= past.request.cluster_options == request.cluster_options
        past = replace(past, shares_cluster=is_same and _is_same_place(request.cluster, past.request.cluster))
        return replace(request, before=Before(self.changes, past))

    def _past(self, request: Request, settings: Settings, paths: Sequence[str], name: str) -> Past:
        cluster, baseline = settings.maybe("cluster"), settings.maybe("baseline")
        notes = self.notes
        if cluster is not None and is_absent(cluster):
            notes += (f"{self.changes.base} has no {cluster}: what is found with it is new",)
            cluster = None
        if name and not paths:
            notes += (f"{self.changes.base} has no target {name}: what is found in it is new",)
        asked = replace(
            request,
            paths=tuple(paths),
            cluster=cluster,
            cluster_options=settings.cluster_options,
            render=settings.flag("render"),
            baseline=baseline if baseline and os.path.lexists(baseline) else None,
            max_age=None,
            progress=None,
            mending=True,  # nobody asks what could be fixed
        )
        return Past(self.folder, asked, settings.options, settings.rulebook, self.reads, notes=notes)


@contextmanager
def against(call: Invocation, settings: Settings, paths: Sequence[str]) -> Iterator[Against]:
    """Yield what the run is compared with; the copy is deleted at the end. Raises ChangedError."""
    targets = () if paths else settings.config.targets
    everything = [*(list(paths) or [path for target in targets for path in target.paths]), *_roots(settings, paths)]
    changes = changes_since(call.params["changed"], everything)
    if not changes.paths:
        yield Against(changes)
        return
    try:
        with copy_of((WorkTree(root), commit) for root, commit in changes.commits) as copy:
            yield _Then(copy, changes, everything).against(call, settings, paths)
    except (CommitError, ProgramError) as error:
        raise ChangedError(f"--changed: {error}") from None


class _Then:
    """Fills the copy with what a run at BASE reads."""

    def __init__(self, copy: Copy, changes: Changes, manifests: Sequence[str]) -> None:
        self._copy = copy
        self._changes = changes
        self._manifests = [os.path.realpath(path) for path in manifests]
        self._reads: list[str] = []

    def against(self, call: Invocation, settings: Settings, paths: Sequence[str]) -> Against:
        given = {option.name: call.params[option.name] for option in OPTIONS if is_given(call, option.name)}
        for name in _FILES:
            if given.get(name):
                given[name] = self.file(given[name])
        for name in _FOLDERS:
            if given.get(name):
                given[name] = [self.file(path) for path in given[name]]
        for root in _roots(settings, paths):
            self.manifests(root)
        there = tuple(moved for path in paths if path != "-" for moved in self.manifests(path))
        self._bring_configuration(settings, paths, given)
        past_settings, notes = settings, tuple[str, ...]()
        with chdir(self._copy.current_folder):
            try:
                past_settings = settled(Ordinary(OPTIONS, given), there if call.params["paths"] else ())
            except ConfigError as error:
                first = str(error).partition("\n")[0]
                notes = (f"the configuration of {self._changes.base} is not used, for it is invalid: {first}",)
        return Against(self._changes, self._copy.current_folder, past_settings, there, tuple(self._reads), notes)

    def file(self, path: str) -> str:
        """Return where the copy has what an option or the configuration names: a file of today if git has none."""
        real = os.path.realpath(path)
        if not self._changes.holds(real):
            return path if _is_no_file(path) else os.path.abspath(path)
        self._reads.append(real)
        for known_path in (real, *self._changes.former(real)):
            if self._copy.has(known_path):
                self._copy.bring([known_path])
                return as_relative(path if known_path == real else known_path)
        if not self._changes.concerns(real) or real in self._changes.untracked:
            if not os.path.lexists(real):
                return path
            self._copy.put(real)
        return as_relative(path)

    def manifests(self, path: str) -> Sequence[str]:
        """Return where the copy has a path of manifests; several if files of several folders were moved there."""
        real = os.path.realpath(path)
        former = () if self._copy.has(real) else self._changes.former(real)
        places = [*map(as_relative, former)] or [as_relative(path)]
        bring = former or [real]
        self._copy.bring(bring)
        self._copy.bring_submodules(bring)
        return places

    def _bring_configuration(self, settings: Settings, paths: Sequence[str], given: Mapping[str, Any]) -> None:
        """Copy the configurations that BASE may find, and what they name."""
        if given.get("no_config"):
            return
        files = [given["config_file"]] if "config_file" in given else []
        if not files:
            start = os.path.realpath(paths[0] if paths and paths[0] != "-" else os.curdir)
            folders = [folder for folder in _upwards(start) if self._changes.holds(folder)]
            files = [os.path.join(folder, name) for folder in folders for name in (NAME, SHARED)]
            files += [settings.config.file] if settings.config.file else []
        for file in files:
            place = self.file(file)
            with chdir(self._copy.current_folder):
                texts = list(_texts(place))
            for text in texts:
                self._bring_named(os.path.dirname(os.path.abspath(file)), text)

    def _bring_named(self, folder: str, text: str) -> None:
        """Copy a file or folder if a configuration in ``folder`` names one."""
        real = os.path.realpath(os.path.join(folder, text))
        if not text or not self._changes.holds(real):
            return
        if self._copy.has(real):
            self._copy.bring([real])
            self._copy.bring_submodules([real])
            if not any(is_within(path, real) for path in self._manifests):
                self._reads.append(real)
        elif os.path.isfile(real):
            self.file(real)


def _roots(settings: Settings, paths: Sequence[str]) -> list[str]:
    """Return the repositories of entry points, from which any file may be reached."""
    entries = paths if settings.applied else ()
    if not paths:
        entries = [path for target in settings.config.targets if target.is_entry for path in target.paths]
    return list(dict.fromkeys(filter(None, map(root_of, entries))))


def _is_same_place(now: str | None, then: str | None) -> bool:
    """Whether a path in the copy stands for a path of today."""
    if now is None or then is None:
        return now is then
    return os.path.normpath(then) in (now, os.path.normpath(as_relative(now)), os.path.abspath(now))


def _is_no_file(path: str) -> bool:
    return path.partition(":")[0] == LIVE


def _upwards(start: str) -> Iterator[str]:
    while True:
        yield start
        above = os.path.dirname(start)
        if above == start:
            return
        start = above


def _texts(place: str) -> Iterator[str]:
    """Yield the texts of a configuration; none of one that cannot be read."""
    try:
        table = tomllib.loads(content(place, LARGEST_SETTINGS).decode("utf-8-sig"))
        yield from _texts_in(table["tool"]["kubesched-lint"] if os.path.basename(place).endswith(SHARED) else table)
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in cast("Iterable[object]", value.values() if isinstance(value, dict) else value):
            yield from _texts_in(item)
