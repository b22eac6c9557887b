"""What a pattern of a configuration matches: it belongs to a repository, which may have links that loop or lead out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from glob import has_magic

from msgspec import Struct

from kubesched_lint.files import is_within
from kubesched_lint.project.limits import MOST_COMPARED

_ANY = "**"


class TooManyError(ValueError):
    """There are too many files and folders to compare with the patterns of one configuration."""


class Matcher(Struct):
    """Finds files and folders in the repository ``root``, a path without links; ``compared`` counts all its work."""

    root: str
    compared: int = 0

    def matches(self, pattern: str) -> list[str]:
        """Return what a pattern matches, sorted. Raises TooManyError.

        ``*`` matches no name that begins with a dot, and ``**`` any number of folders; as in ``glob``. Unlike there,
        ``**`` passes no link, no link is followed out of the repository, and no folder is searched twice for the same.
        """
        parts = pattern.split(os.sep)
        fixed = next(number for number, part in enumerate(parts) if has_magic(part))
        folder = os.sep.join(parts[:fixed]) or (os.sep if fixed else "")
        wanted = [part for n, part in enumerate(parts[fixed:], fixed) if (part, parts[n - 1 : n]) != (_ANY, [_ANY])]
        return sorted(self._below(folder, wanted))

    def _below(self, folder: str, wanted: list[str]) -> Iterator[str]:
        """Yield the matches; a state is the number of the part that a name in the folder must match."""
        left = [(folder, _with_none(wanted, {0}))]
        searched = set()
        if left[0][1] >= {len(wanted)} and os.path.isdir(folder):  # the pattern ends with ** alone
            yield folder
        while left:
            folder, states = left.pop()
            real = os.path.realpath(folder or os.curdir)
            if not is_within(real, self.root) or (real, states) in searched:
                continue
            searched.add((real, states))
            for entry in _entries(folder):
                is_link = entry.is_symlink()
                further = self._further(entry.name, wanted, states, is_link=is_link)
                if len(wanted) in further:
                    yield entry.path if folder else entry.name
                if further - {len(wanted)} and (is_link or entry.is_dir(follow_symlinks=False)):
                    left.append((entry.path if folder else entry.name, further))

    def _further(self, name: str, wanted: list[str], states: frozenset[int], *, is_link: bool) -> frozenset[int]:
        """Return the states after a name."""
        self.compared += len(states)
        if self.compared > MOST_COMPARED:
            raise TooManyError
        states_after, ends = set(), False
        for at in states - {len(wanted)}:
            part = wanted[at]
            if name.startswith(".") and not part.startswith("."):
                continue
            if part != _ANY:
                states_after |= {at + 1} if fnmatchcase(name, part) else set()
            elif is_link:
                ends = ends or at == len(wanted) - 1
            else:
                states_after.add(at)
        return _with_none(wanted, states_after | ({len(wanted)} if ends else set()))


def _with_none(wanted: list[str], states: set[int]) -> frozenset[int]:
    """Return the states, and those behind each ``**``, because it may match no folder."""
    return frozenset(states | {at + 1 for at in states if at < len(wanted) and wanted[at] == _ANY})


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder or os.curdir) as listing:
            return list(listing)
    except OSError:  # a file, or a folder that nobody may read
        return []
