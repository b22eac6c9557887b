"""The commits of a repository, and a copy of the files of one: no checkout, no filter, no hook, no attribute."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from tempfile import mkdtemp

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.files import is_within
from kubesched_lint.limits import LARGEST_SETTINGS, LARGEST_WHOLE
from kubesched_lint.programs import NoWorkTreeError, WorkTree
from kubesched_lint.sources.manifests.inputs import KUSTOMIZATIONS, LARGEST

HEAD = "HEAD"
"""The default base: everything that is not committed counts as changed."""
_BATCH = 16 << 20
_REGULAR, _LINK, _SUBMODULE = "100", "120", "160"
"""The first digits of git's modes."""


class CommitError(Exception):
    """A commit cannot be found or copied; ``str()`` is the whole message."""


# --- commits --------------------------------------------------------------------------------------------------------


def commit_of(tree: WorkTree, name: str) -> str:
    """Return the id of the commit that a user names. Raises CommitError, ProgramError."""
    looked = tree.git("rev-parse", "--git-dir")
    if looked.code:
        raise CommitError(f"git cannot read {tree.top}: {looked.error.strip()}")
    named = tree.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if not named.code:
        return named.out.decode().strip()
    if name == HEAD:  # no commit yet: everything is new
        return tree.git("hash-object", "-t", "tree", os.devnull).out.decode().strip()
    raise CommitError(f"{tree.top} has no commit `{name}`{_how_to_get(tree, name)}")


def where_left(tree: WorkTree, base: str, head: str = HEAD) -> str:
    """Return the commit where ``head`` left ``base``. Raises CommitError, ProgramError."""
    named = commit_of(tree, base)
    if base == head:
        return named
    left = tree.git("merge-base", named, commit_of(tree, head))
    if left.code:
        raise CommitError(f"{head} and `{base}` have no commit in common{_how_to_get(tree, base)}")
    return left.out.decode().strip()


def _how_to_get(tree: WorkTree, name: str) -> str:
    """Return what to do about a commit that a clone may lack: how to fetch it, if the clone is shallow or narrow."""
    if name.endswith("/"):
        return ": it ends with `/`, as if a variable were not set"
    is_shallow = tree.git("rev-parse", "--is-shallow-repository").out.strip() == b"true"
    remotes = tree.git("remote").out.decode("utf-8", "surrogateescape").split("\n")
    remote = next((candidate for candidate in remotes if candidate and name.startswith(f"{candidate}/")), "")
    branch = name.removeprefix(f"{remote}/")
    words = ["git", "fetch", *(["--unshallow"] if is_shallow else [])]
    words += [remote, f"{branch}:refs/remotes/{name}"] if remote else []
    if is_shallow:
        return f"; the clone is shallow: fetch more history (fetch-depth: 0), or run `{' '.join(words)}`"
    return f"; run `{' '.join(words)}`" if remote else ""


def as_relative(path: str) -> str:
    """Return a path of a user so that it leads to the same file in a copy: no absolute one, none through a link."""
    if not os.path.isabs(path) and os.path.realpath(path) == os.path.abspath(path):
        return path
    return os.path.relpath(os.path.realpath(path), os.path.realpath(os.curdir))


# --- the files of commits -------------------------------------------------------------------------------------------


class _Entry(Struct, frozen=True):
    mode: str
    id: str
    path: str
    """From the top of the repository, without ``.git``, ``..`` and empty parts."""
    size: int = 0


class Copy:
    """A private folder that has files of commits at the absolute paths of their work trees.

    So a relative path of the current folder leads to the file of the commit from the copy's ``current_folder``. A link
    stays a link; a reader of the copy does not follow it out of its repository.
    """

    def __init__(self, folder: str, commits: Iterable[tuple[WorkTree, str]]) -> None:
        self._folder = folder
        self._commits = [_Listed(tree, commit) for tree, commit in commits]
        self._bytes = 0
        for listed in self._commits:
            os.makedirs(os.path.join(self.at(listed.tree.top), ".git"))  # the root that no link may leave
        self.current_folder = self.at(os.path.realpath(os.curdir))
        """The place of the current folder."""
        os.makedirs(self.current_folder, exist_ok=True)

    def at(self, real: str) -> str:
        """Return the place of an absolute path in the copy."""
        return os.path.join(self._folder, real.lstrip(os.sep))

    def has(self, real: str) -> bool:
        """Return whether a commit has a file at this absolute path, or files below it."""
        return any(listed.has(within) for listed, within in self._parted([real]))

    def bring(self, paths: Iterable[str]) -> None:
        """Copy the files of the commits at and below absolute paths; those that they lack are left out.

        If a kustomization is in them or in a folder above, the other files of the commit, too. Raises CommitError,
        ProgramError.
        """
        names_of_commits: dict[_Listed, list[str]] = {}
        for listed, within in self._parted(paths):
            names_of_commits.setdefault(listed, []).append(within)
        for listed, names in names_of_commits.items():
            self.bring(self._write(listed, listed.kept(names)))

    def bring_submodules(self, paths: Iterable[str]) -> None:
        """Copy the files of the submodules below absolute paths, at the commits that these commits name.

        One that is not checked out has no file today either. Raises CommitError, ProgramError.
        """
        for listed, within in list(self._parted(paths)):
            for submodule in listed.submodules([within]):
                real = os.path.join(listed.tree.top, submodule.path)
                if os.path.lexists(os.path.join(real, ".git")) and all(
                    real != known.tree.top for known in self._commits
                ):
                    self._bring_submodule(WorkTree(real), submodule)

    def _bring_submodule(self, tree: WorkTree, submodule: _Entry) -> None:
        if tree.git("cat-file", "-e", f"{submodule.id}^{{commit}}").code:
            raise CommitError(
                f"{submodule.path} is a submodule, and {tree.top} lacks its commit {submodule.id[:12]}: "
                f"run `git -C {submodule.path} fetch`"
            )
        listed = _Listed(tree, submodule.id)
        self._commits.append(listed)
        self._write(listed, listed.kept([os.curdir]))
        self.bring_submodules([tree.top])

    def put(self, real: str) -> None:
        """Copy a file or folder of today, which no commit has. Raises CommitError."""
        place = self.at(real)
        self._check([place])
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if os.path.isdir(real):
                shutil.copytree(real, place, symlinks=True, dirs_exist_ok=True)
            elif os.path.isfile(real) and not os.path.lexists(place):
                shutil.copyfile(real, place)
        except OSError as error:
            raise CommitError(f"{real} cannot be copied: {error.strerror or error}") from None

    def _parted(self, paths: Iterable[str]) -> Iterator[tuple[_Listed, str]]:
        """Yield each path below its repository: the innermost of those that hold it."""
        for path in paths:
            holding = [listed for listed in self._commits if is_within(path, listed.tree.top)]
            if holding:
                inner = max(holding, key=lambda listed: len(listed.tree.top))
                yield inner, os.path.relpath(path, inner.tree.top)

    def _write(self, listed: _Listed, entries: Sequence[_Entry]) -> Sequence[str]:
        """Write files that are not there yet. Return the absolute paths to which links among them lead."""
        top = self.at(listed.tree.top)
        entries = [entry for entry in entries if not os.path.lexists(os.path.join(top, entry.path))]
        self._bytes += sum(entry.size for entry in entries)
        if self._bytes > LARGEST_WHOLE:
            limit = f"more than {LARGEST_WHOLE >> 20} MiB"
            raise CommitError(
                f"the files of {listed.commit[:12]} have {limit}: check them out, and name the folder instead"
            )
        self._check(os.path.join(top, entry.path) for entry in entries)
        try:
            _write(listed.tree, entries, top)
        except OSError as error:  # a tree with two files of one name, or a full disk
            why = error.strerror or error
            raise CommitError(f"the files of {listed.commit[:12]} cannot be copied: {why}") from None
        links = (os.path.join(listed.tree.top, entry.path) for entry in entries if entry.mode.startswith(_LINK))
        return [os.path.normpath(os.path.join(os.path.dirname(at), os.readlink(self.at(at)))) for at in links]

    def _check(self, places: Iterable[str]) -> None:
        """Raise CommitError if a link that was copied leads a place out of the copy."""
        for folder in {os.path.dirname(place) for place in places}:
            if not is_within(os.path.realpath(folder), self._folder):
                raise CommitError(f"{folder.removeprefix(self._folder)} is a link and a folder in one commit")


@contextmanager
def copy_of(commits: Iterable[tuple[WorkTree, str]]) -> Iterator[Copy]:
    """Yield a copy of commits without files yet; its folder is deleted at the end. Raises CommitError, ProgramError."""
    folder = os.path.realpath(mkdtemp(prefix="kubesched-lint-"))
    try:
        yield Copy(folder, commits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Listed:
    """The files of a commit."""

    def __init__(self, tree: WorkTree, commit: str) -> None:
        self.tree = tree
        self.commit = commit
        self._sizes: dict[str, int] = {}
        """Object → its size, as far as git was asked."""

    @cached_property
    def _all(self) -> Sequence[_Entry]:
        return sorted(_entries(self.tree, self.commit), key=lambda entry: entry.path)

    def has(self, path: str) -> bool:
        """Return whether a path, relative to the top, is a file or folder of the commit."""
        names = [entry.path for entry in self._all if not entry.mode.startswith(_SUBMODULE)]
        path = os.path.normpath(path)
        return any(_holds(path, name) for name in names)

    def submodules(self, paths: Sequence[str]) -> Iterator[_Entry]:
        for entry in self._all:
            if entry.mode.startswith(_SUBMODULE) and any(_holds(os.path.normpath(each), entry.path) for each in paths):
                yield entry

    def kept(self, paths: Sequence[str]) -> Sequence[_Entry]:
        """Return the files of the copy, with their sizes. Raises CommitError, ProgramError."""
        paths = [os.path.normpath(path) for path in paths]
        entries = [entry for entry in self._all if not entry.mode.startswith(_SUBMODULE)]
        named = {entry.path for entry in entries if any(_holds(path, entry.path) for path in paths)}
        lists = [entry.path for entry in entries if os.path.basename(entry.path) in KUSTOMIZATIONS]
        is_whole = any(file in named or any(_holds(os.path.dirname(file), path) for path in paths) for file in lists)
        wanted = entries if is_whole else [entry for entry in entries if entry.path in named]
        unknown = [entry for entry in wanted if entry.id not in self._sizes]
        self._sizes.update(_sizes(self.tree, self.commit, unknown))
        sized = (replace(entry, size=self._sizes[entry.id]) for entry in wanted)
        return [entry for entry in sized if entry.path in named or entry.size <= LARGEST_SETTINGS]


def _entries(tree: WorkTree, commit: str) -> Iterator[_Entry]:
    listed = tree.git("ls-tree", "-r", "-z", "--full-tree", commit)
    if listed.code:
        raise CommitError(f"git cannot list {commit[:12]}: {listed.error.strip()}{how_to_complete(tree)}")
    for line in listed.out.decode("utf-8", "surrogateescape").split("\0"):
        if line:
            facts, _, path = line.partition("\t")
            mode, _, name = facts.split()
            if _is_inside(path):
                yield _Entry(mode, name, path)


def _sizes(tree: WorkTree, commit: str, entries: Sequence[_Entry]) -> Iterator[tuple[str, int]]:
    """Yield each object with its size."""
    if not entries:
        return
    asked = "".join(f"{entry.id}\n" for entry in entries).encode()
    lines = tree.git("cat-file", "--batch-check=%(objecttype) %(objectsize)", given=asked).out.decode().split("\n")
    for entry, line in zip(entries, lines, strict=False):
        kind, _, size = line.partition(" ")
        if kind != "blob":
            raise CommitError(f"git lacks {entry.path} of {commit[:12]}{how_to_complete(tree)}")
        yield entry.id, int(size)


def submodules_of(tree: WorkTree, commit: str, paths: Sequence[str]) -> Mapping[str, str]:
    """Return the folders below ``paths`` (both relative to the top) whose files are in another repository.

    Each with its commit there. Raises CommitError, ProgramError.
    """
    return {entry.path: entry.id for entry in _Listed(tree, commit).submodules(paths)}


def staged_submodules(tree: WorkTree, paths: Sequence[str]) -> Mapping[str, str]:
    """Return the submodules of the work tree as ``submodules_of`` does those of a commit. Raises ProgramError."""
    listed = tree.git("ls-files", "--stage", "-z").out.decode("utf-8", "surrogateescape").split("\0")
    staged = ((facts.split(), path) for facts, _, path in (line.partition("\t") for line in listed))
    return {
        path: facts[1]
        for facts, path in staged
        if facts and facts[0].startswith(_SUBMODULE) and any(_holds(os.path.normpath(each), path) for each in paths)
    }


def tree_of(path: str) -> WorkTree:
    """Return the work tree whose commits are meant for a path: the current folder's, also for what lies in a submodule.

    Raises NoWorkTreeError, ProgramError.
    """
    own = tree = WorkTree(path)
    current_folder = os.path.realpath(os.curdir)
    try:
        while not is_within(current_folder, tree.top):
            above = WorkTree(os.path.dirname(tree.top))
            if not staged_submodules(above, [os.path.relpath(tree.top, above.top)]):
                return own
            tree = above
    except NoWorkTreeError:
        return own
    return tree


def how_to_complete(tree: WorkTree) -> str:
    """Return what to do about an object that a repository lacks."""
    promised = tree.git("config", "--get-regexp", r"^remote\..*\.promisor$").out
    if promised.strip():
        return "; the clone is partial: run `git fetch --refetch --no-filter`, or clone without --filter"
    return "; run `git fetch --refetch`"


def _is_inside(path: str) -> bool:
    """Return whether a path stays in its folder: git checks the names of a tree only when it checks them out."""
    return not any(part in ("", os.curdir, os.pardir) or part.lower() == ".git" for part in path.split("/"))


def _holds(folder: str, path: str) -> bool:
    return folder in ("", os.curdir, path) or path.startswith(f"{folder}/")


def _write(tree: WorkTree, entries: Sequence[_Entry], folder: str) -> None:
    """Write regular files, then links, so that nothing is written through a link."""
    for entry in entries:
        os.makedirs(os.path.join(folder, os.path.dirname(entry.path)), exist_ok=True)
    files = [entry for entry in entries if entry.mode.startswith(_REGULAR)]
    for entry, data in _contents(tree, [entry for entry in files if entry.size <= LARGEST]):
        with open(os.path.join(folder, entry.path), "xb") as file:
            file.write(data)
    for entry in files:
        if entry.size > LARGEST:  # whoever reads it says that it is too large
            with open(os.path.join(folder, entry.path), "xb") as file:
                file.truncate(entry.size)
    for entry, data in _contents(tree, [entry for entry in entries if entry.mode.startswith(_LINK)]):
        os.symlink(data, os.path.join(folder, entry.path).encode("utf-8", "surrogateescape"))


def _contents(tree: WorkTree, entries: Iterable[_Entry]) -> Iterator[tuple[_Entry, bytes]]:
    """Yield the stored bytes of each entry; git applies no filter and no attribute to them."""
    for batch in _batches(entries):
        done = tree.git("cat-file", "--batch", given="".join(f"{entry.id}\n" for entry in batch).encode())
        at = 0
        for entry in batch:
            head = f"{entry.id} blob {entry.size}\n".encode()
            if done.code or not done.out.startswith(head, at):
                raise CommitError(f"git cannot read {entry.path}: {done.error.strip()}{how_to_complete(tree)}")
            at += len(head)
            yield entry, done.out[at : at + entry.size]
            at += entry.size + 1


def _batches(entries: Iterable[_Entry]) -> Iterator[list[_Entry]]:
    """Yield lists of at most ``_BATCH`` bytes or of one file."""
    batch: list[_Entry] = []
    size = 0
    for entry in entries:
        if batch and size + entry.size > _BATCH:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch
