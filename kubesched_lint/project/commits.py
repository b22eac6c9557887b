"""The commits of a repository, and a copy of the files of one: no checkout, no filter, no hook, no attribute."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from kubesched_lint.manifests.inputs import KUSTOMIZATIONS, LARGEST
from kubesched_lint.programs import WorkTree
from kubesched_lint.record import Record

HEAD = "HEAD"
"""The default base: everything that is not committed counts as changed."""
LARGEST_ELSEWHERE = 1 << 20
"""Bytes of a file outside of the named paths: a kustomization reads no larger one, because no ConfigMap holds it."""
MOST_BYTES = 512 << 20
"""Bytes of one copy."""
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
    raise CommitError(f"{tree.top} has no commit `{name}`{_hint(tree)}")


def where_left(tree: WorkTree, base: str, head: str = HEAD) -> str:
    """Return the commit where ``head`` left ``base``. Raises CommitError, ProgramError."""
    named = commit_of(tree, base)
    if base == head:
        return named
    left = tree.git("merge-base", named, commit_of(tree, head))
    if left.code:
        raise CommitError(f"{head} and `{base}` have no commit in common{_hint(tree)}")
    return left.out.decode().strip()


def _hint(tree: WorkTree) -> str:
    is_shallow = tree.git("rev-parse", "--is-shallow-repository").out.strip() == b"true"
    return "; the clone is shallow: fetch more history (fetch-depth: 0)" if is_shallow else ""


# --- the files of a commit ------------------------------------------------------------------------------------------


class _Entry(Record):
    mode: str
    id: str
    size: int
    path: str
    """From the top of the repository, without ``.git``, ``..`` and empty parts."""


@contextmanager
def copy_of(tree: WorkTree, commit: str, paths: Sequence[str], at: str = os.curdir) -> Iterator[str]:
    """Yield a private folder with the files of a commit below ``paths``, which are relative to the top of ``tree``.

    ``at`` is the path of that top in the folder.

    If a kustomization is in them or in a folder above, the copy has the other files of the commit, too. A link stays a
    link; a reader of the copy does not follow it out of the folder. The folder is deleted at the end. Raises
    CommitError, ProgramError.
    """
    from tempfile import mkdtemp

    folder = os.path.realpath(mkdtemp(prefix="kubesched-lint-"))
    try:
        top = os.path.join(folder, at)
        os.makedirs(os.path.join(top, ".git"))  # the root that no link may leave
        entries = tuple(_entries(tree, commit))
        kept = tuple(_kept(entries, [os.path.normpath(path) for path in paths]))
        if sum(entry.size for entry in kept) > MOST_BYTES:
            limit = f"more than {MOST_BYTES >> 20} MiB"
            raise CommitError(f"the files of {commit[:12]} have {limit}: check them out, and name the folder instead")
        try:
            _write(tree, kept, top)
        except OSError as error:  # a tree with two files of one name, or a full disk
            raise CommitError(f"the files of {commit[:12]} cannot be copied: {error.strerror or error}") from None
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _entries(tree: WorkTree, commit: str) -> Iterator[_Entry]:
    listed = tree.git("ls-tree", "-r", "-z", "--long", "--full-tree", commit)
    if listed.code:
        raise CommitError(f"git cannot list {commit[:12]}: {listed.error.strip()}")
    for line in listed.out.decode("utf-8", "surrogateescape").split("\0"):
        if line:
            facts, _, path = line.partition("\t")
            mode, kind, name, size = facts.split()
            if kind == "blob" and _is_inside(path):
                yield _Entry(mode, name, int(size), path)


def submodules_of(tree: WorkTree, commit: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the folders below ``paths`` (and theirs, from the top of ``tree``) whose files are in another repository.

    Raises ProgramError.
    """
    listed = tree.git("ls-tree", "-r", "-z", "--full-tree", commit).out.decode("utf-8", "surrogateescape").split("\0")
    found = (path for facts, _, path in (line.partition("\t") for line in listed) if facts.startswith(_SUBMODULE))
    return tuple(path for path in found if any(_holds(os.path.normpath(each), path) for each in paths))


def _is_inside(path: str) -> bool:
    """Return whether a path stays in its folder: git checks the names of a tree only when it checks them out."""
    return not any(part in ("", os.curdir, os.pardir) or part.lower() == ".git" for part in path.split("/"))


def _kept(entries: Iterable[_Entry], paths: Sequence[str]) -> Iterator[_Entry]:
    """Yield the files of the copy."""
    entries = tuple(entries)
    named = {entry.path for entry in entries if any(_holds(path, entry.path) for path in paths)}
    lists = [entry.path for entry in entries if os.path.basename(entry.path) in KUSTOMIZATIONS]
    is_whole = any(one in named or any(_holds(os.path.dirname(one), path) for path in paths) for one in lists)
    for entry in entries:
        if entry.path in named or (is_whole and entry.size <= LARGEST_ELSEWHERE):
            yield entry


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
                raise CommitError(f"git cannot read {entry.path}: {done.error.strip() or 'the object is missing'}")
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
