"""The two sides of a plan: the manifests before and after the change.

``BASE..HEAD`` are two commits, ``BASE...HEAD`` is from where HEAD left BASE, ``BASE`` is from where the current branch
left it to the work tree, as in ``lint --changed=BASE``. A file or folder as BASE is compared with the paths. A commit
is read from a private copy, which is deleted at the end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir
from functools import cache, partial

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.files import is_within
from kubesched_lint.findings import InputError
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.programs import NoWorkTreeError, ProgramError, WorkTree
from kubesched_lint.project.commits import (
    HEAD,
    CommitError,
    Copy,
    as_relative,
    commit_of,
    copy_of,
    staged_submodules,
    submodules_of,
    tree_of,
    where_left,
)

WORK_TREE = "the work tree"
_SHORT = 12
"""Digits of a commit in words."""


class SideError(Exception):
    """A side of the plan cannot be read; ``str()`` is the whole message."""


class Side(Struct, frozen=True):
    """``name`` says in words what the side is; ``paths`` are relative to ``folder``, or to the current one if empty."""

    name: str
    paths: tuple[str, ...]
    folder: str = ""
    submodules: Mapping[str, str] = field(default_factory=dict)
    """Folders below the paths, whose files no commit of this repository has, each with its commit elsewhere."""
    root: str = os.curdir
    """The file or folder that takes the place of the other side's."""

    def read(self, options: Options, *, render: bool, cluster: str | None = None) -> ManifestSet:
        """Return the manifests. Changes the current folder meanwhile: a copy has the paths that a user knows."""
        with chdir(self.folder or os.curdir):
            there = self.paths if not self.folder else [path for path in self.paths if os.path.lexists(path)]
            return read_manifests(there, options, render=render, cluster=cluster)

    @property
    def unread(self) -> Sequence[str]:
        """The submodules whose files this side lacks: the work tree has those that are checked out."""
        return [path for path in self.submodules if self.folder or not os.path.lexists(os.path.join(path, ".git"))]

    @property
    def is_there(self) -> bool:
        return any(os.path.lexists(os.path.join(self.folder, path)) for path in self.paths)


def changed_submodules(before: Side, after: Side) -> Iterator[InputError]:
    """Yield an error for each submodule that is another one, or none, on the other side: nobody knows what changes."""
    for path in {**before.submodules, **after.submodules}:
        if before.submodules.get(path) != after.submodules.get(path):
            why = "is a submodule: its files are not in this repository's history; run plan in it"
            yield InputError(path, why)


class Commits:
    """Looks up commits and copies their files, once for all plans of a run. The copies last as long as ``stack``."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._trees: dict[str, WorkTree] = {}
        self._copies: dict[tuple[str, str], Copy] = {}
        self._of = cache(commit_of)
        self._where_left = cache(where_left)
        self._submodules = cache(partial(submodules_of, paths=(os.curdir,)))
        self._staged = cache(partial(staged_submodules, paths=(os.curdir,)))

    def sides_of(
        self, base: str, paths: Sequence[str], beside: Sequence[str] = (), *, whole: bool = False
    ) -> tuple[Side, Side]:
        """Return (before, after) of ``base``: a commit, a range of commits, or an existing file or folder.

        The copy of a commit has the files ``beside`` the paths, too, if they are in the repository; ``whole``: it has
        all files, because the paths are entry points, from which any may be reached. Raises SideError.
        """
        given = tuple(paths)
        if os.path.lexists(base):
            roots = (base, given[0]) if len(given) == 1 else (os.curdir, os.curdir)
            return Side(base, (base,), root=roots[0]), Side(first_few(given), given, root=roots[1])
        first, dots, last = _parted(base)
        try:
            tree = self._work_tree(given)
            reached = (tree.top,) if whole else ()
            head = self._of(tree, last) if dots else ""
            after = self._copied(tree, head, last, given, reached) if dots else self._checked_out(tree, given)
            start = self._of(tree, first) if dots == ".." else self._where_left(tree, first, last)
            is_older = dots != ".." and start != self._of(tree, first)
            name = f"where {last} left {first}" if is_older else first
            before = self._copied(tree, start, name, given, (*beside, *reached))
            if not dots:
                after = _without_deleted(after, before)
        except (CommitError, ProgramError) as error:
            raise SideError(f"{base}: {error}") from None
        if not (before.is_there or after.is_there):
            raise SideError(f"neither {before.name} nor {after.name} has {first_few(given)}")
        return before, after

    def _work_tree(self, paths: Sequence[str]) -> WorkTree:
        """Return the work tree that has all paths. Raises SideError."""
        if "-" in paths:
            raise SideError("standard input is in no commit: give a file or folder as BASE")
        try:
            trees = {tree.top: tree for tree in map(tree_of, paths)}
        except NoWorkTreeError as error:
            raise SideError(f"{error}: give a file or folder as BASE") from None
        if len(trees) > 1:
            raise SideError(f"the paths are in several git repositories: {', '.join(trees)}")
        top, tree = next(iter(trees.items()))
        return self._trees.setdefault(top, tree)

    def _copied(self, tree: WorkTree, commit: str, name: str, paths: Sequence[str], beside: Sequence[str]) -> Side:
        """Return the side of a commit, from a copy in which relative paths stay the same."""
        copy = self._copies.get((tree.top, commit))
        if copy is None:
            copy = self._copies[tree.top, commit] = self._stack.enter_context(copy_of([(tree, commit)]))
        copy.bring(map(os.path.realpath, paths))
        copy.bring(real for path in beside if is_within(real := os.path.realpath(path), tree.top))
        words = commit[:_SHORT] if commit.startswith(name) else f"{name} ({commit[:_SHORT]})"
        given = tuple(map(as_relative, paths))
        return Side(words, given, copy.current_folder, _as_seen(tree, self._submodules(tree, commit), paths))

    def _checked_out(self, tree: WorkTree, paths: tuple[str, ...]) -> Side:
        return Side(WORK_TREE, paths, submodules=_as_seen(tree, self._staged(tree), paths))


def _without_deleted(after: Side, before: Side) -> Side:
    """Return the work tree's side without paths that only the commit has: a change may delete a whole folder."""
    pairs = zip(after.paths, before.paths, strict=True)
    kept = (
        now for now, then in pairs if os.path.lexists(now) or not os.path.lexists(os.path.join(before.folder, then))
    )
    return replace(after, paths=tuple(kept))


def _parted(base: str) -> tuple[str, str, str]:
    """Return (first, dots, last) of a range of commits; no dots for one commit."""
    for dots in ("...", ".."):
        first, separator, last = base.partition(dots)
        if separator:
            return first or HEAD, dots, last or HEAD
    return base, "", HEAD


def _as_seen(tree: WorkTree, submodules: Mapping[str, str], paths: Sequence[str]) -> Mapping[str, str]:
    """Return the submodules below the paths by their paths from the current folder."""
    current_folder, below = os.path.realpath(os.curdir), [os.path.realpath(path) for path in paths]
    there = {os.path.join(tree.top, path): commit for path, commit in submodules.items()}
    return {
        os.path.relpath(path, current_folder): commit
        for path, commit in there.items()
        if any(is_within(path, folder) for folder in below)
    }
