"""Path patterns as in ``.gitignore``: names anywhere, or paths below one folder."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from functools import cached_property

from msgspec import Struct

from kubesched_lint.sources.manifests.document import RENDERED


class Globs(Struct, frozen=True, dict=True):
    """Patterns; ``base`` is the folder of their file, ``current_folder`` the folder that relative paths start from.

    Both are absolute. A pattern without a slash matches file and folder names at any depth; ``**`` matches any number
    of folders. A pattern that matches a folder matches everything in it.
    """

    patterns: tuple[str, ...] = ()
    base: str = "/"
    current_folder: str = "/"

    def covers(self, path: str) -> bool:
        """Whether a pattern matches the path, or a folder above it below ``base``."""
        if not self.patterns or path.startswith("<"):  # <stdin>
            return False
        head = self.base.rstrip(os.sep) + os.sep
        absolute = os.path.normpath(os.path.join(self.current_folder, path.removesuffix(RENDERED)))
        parts = tuple(absolute[len(head) :].split(os.sep))
        return absolute.startswith(head) and any(matches(pattern, parts) for pattern in self._split)

    @cached_property
    def _split(self) -> tuple[tuple[str, ...], ...]:
        return tuple(map(_segments, self.patterns))


def _segments(pattern: str) -> tuple[str, ...]:
    bare = pattern.removeprefix("./")
    parts = tuple(part for part in bare.split("/") if part)
    if not parts:
        return ("**",)
    return parts if "/" in bare.rstrip("/") else ("**", *parts)


def matches(pattern: tuple[str, ...], parts: tuple[str, ...], *, is_whole: bool = False) -> bool:
    """Whether the pattern matches the whole path or, unless ``is_whole``, its first parts."""
    reached = {0}
    for number, part in enumerate(parts, 1):
        further = set()
        for at in _passing_stars(pattern, reached):
            if pattern[at] == "**":
                further.add(at)
                if at == len(pattern) - 1:
                    return True
            elif fnmatchcase(part, pattern[at]):
                further.add(at + 1)
        if len(pattern) in further and (not is_whole or number == len(parts)):
            return True
        reached = further - {len(pattern)}
    return False


def _passing_stars(pattern: tuple[str, ...], reached: set[int]) -> set[int]:
    """``reached`` and the positions after each ``**``, because ``**`` may match no folder."""
    positions = set(reached)
    for at in reached:
        while pattern[at] == "**" and at < len(pattern) - 1:
            at += 1
            positions.add(at)
    return positions
