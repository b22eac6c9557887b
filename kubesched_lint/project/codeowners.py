"""CODEOWNERS as GitHub and GitLab read it: who owns a path of a repository."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from kubesched_lint.files import content
from kubesched_lint.limits import LARGEST_SETTINGS
from kubesched_lint.linter.globs import matches

_OF_GITHUB = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
_OF_GITLAB = ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where each looks for the file; the first one counts."""
_HEADING = re.compile(r"(?P<optional>\^?)\[(?P<name>[^\]]+)\](?:\[\d+\])?(?P<owners>(?:\s.*)?)$")
_WORD = re.compile(r"(?:\\.|[^\s\\])+")
_LARGEST = 3 * LARGEST_SETTINGS
"""GitHub ignores a larger file."""


class OwnedPattern(Struct, frozen=True):
    """One line; ``is_excluded``: GitLab's ``!pattern``, which takes a path out of its section."""

    pattern: tuple[str, ...]
    owners: tuple[str, ...]
    is_whole: bool = False
    """The pattern matches the whole path, not a folder above it."""
    prefix: str = ""
    """How each path begins that it matches."""
    is_excluded: bool = False

    def covers(self, path: str, parts: tuple[str, ...]) -> bool:
        return path.startswith(self.prefix) and matches(self.pattern, parts, is_whole=self.is_whole)


class _Section(Struct):
    """The lines under one heading of GitLab, or all lines."""

    is_optional: bool = False
    default: tuple[str, ...] = ()
    lines: list[OwnedPattern] = field(default_factory=list)

    def owners(self, path: str) -> tuple[str, ...]:
        """Return the owners of the last line that covers the path."""
        parts = tuple(path.split("/"))
        if any(line.is_excluded and line.covers(path, parts) for line in self.lines):
            return ()
        last = next((line for line in reversed(self.lines) if line.covers(path, parts)), None)
        return () if last is None else last.owners or self.default


class CodeOwners(Struct):
    """The owners of the paths of one repository; ``file`` is relative to its root."""

    file: str
    sections: tuple[_Section, ...]
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, path: str) -> tuple[str, ...]:
        """Return the owners of a path relative to the root, with ``/``; empty if it has none.

        Those of GitLab's optional sections count only where no other section names one.
        """
        if path not in self.known:
            for is_optional in (False, True):
                sections = [section for section in self.sections if section.is_optional is is_optional]
                owners = tuple(dict.fromkeys(owner for section in sections for owner in section.owners(path)))
                if owners:
                    break
            self.known[path] = owners
        return self.known[path]


def code_owners(root: str) -> CodeOwners | None:
    """Return the owners in a repository; None without a file that can be read."""
    is_gitlab = _is_of_gitlab(root)
    for name in _OF_GITLAB if is_gitlab else (*_OF_GITHUB, *_OF_GITLAB):
        try:
            text = content(os.path.join(root, name), _LARGEST, root=root).decode("utf-8-sig", "replace")
        except OSError:
            continue
        if len(text) > _LARGEST:
            return None
        is_known = is_gitlab or name.startswith((".gitlab/", ".github/"))
        return parsed(text, name, is_gitlab=not name.startswith(".github/") if is_known else None)
    return None


def _is_of_gitlab(root: str) -> bool:
    """Whether GitLab runs the repository's CI, and GitHub does not."""
    is_there = [os.path.lexists(os.path.join(root, name)) for name in (".gitlab-ci.yml", ".github")]
    return is_there == [True, False]


def parsed(text: str, file: str = "CODEOWNERS", *, is_gitlab: bool | None = None) -> CodeOwners:
    """Return the owners in a text; if nobody knows whose it is, a heading of a section makes it GitLab's."""
    lines = [line.strip() for line in text.split("\n")]
    if is_gitlab or (is_gitlab is None and any(_HEADING.match(line) for line in lines)):
        return CodeOwners(file, tuple(_sections(lines)))
    return CodeOwners(file, (_Section(lines=[line for each in lines for line in _of_github(each)]),))


# --- GitHub ---------------------------------------------------------------------------------------------------------


def _of_github(line: str) -> Iterator[OwnedPattern]:
    """Yield what a line says; GitHub skips one that it cannot read, such as ``!x`` and ``[a]``."""
    words = _words(line.partition(" #")[0].partition("\t#")[0])
    if not words or words[0].startswith(("#", "\\#", "!")) or "[" in words[0]:
        return
    pattern, owners = words[0], tuple(words[1:])
    parts = tuple(part for part in pattern.split("/") if part)
    is_rooted = "/" in pattern.rstrip("/")
    if not parts:
        return
    if pattern.endswith("/"):
        parts = (*parts, "**")
    # Unlike in .gitignore, docs/* is no folder below docs.
    is_whole = parts[-1] == "*" and is_rooted
    yield _owned(parts, owners, is_rooted=is_rooted, is_whole=is_whole)


# --- GitLab ---------------------------------------------------------------------------------------------------------


def _sections(lines: Sequence[str]) -> Iterator[_Section]:
    """Yield the sections; those of one name, in whatever case, are one."""
    sections: dict[str, _Section] = {"": _Section(lines=[])}
    current = sections[""]
    for line in lines:
        heading = _HEADING.match(line)
        if heading is not None:
            name = heading["name"].strip().casefold()
            current = sections.setdefault(name, _Section(bool(heading["optional"]), (), []))
            current.default = _owners(_words(heading["owners"])) or current.default
        elif line and not line.startswith("#"):
            current.lines.extend(_of_gitlab(line))
    yield from sections.values()


def _of_gitlab(line: str) -> Iterator[OwnedPattern]:
    words = _words(line)
    pattern = words[0].removeprefix("!")
    parts = tuple(part for part in pattern.split("/") if part)
    if not parts:
        return
    if pattern.endswith("/"):
        parts = (*parts, "**")
    is_excluded = words[0].startswith("!")
    yield _owned(parts, _owners(words[1:]), is_rooted=pattern.startswith("/"), is_whole=True, is_excluded=is_excluded)


def _owners(words: Sequence[str]) -> tuple[str, ...]:
    """Return those of the words that name an owner: ``@name``, ``@@role`` or an address."""
    return tuple(word for word in words if "@" in word)


# --- both -----------------------------------------------------------------------------------------------------------


def _words(line: str) -> list[str]:
    """Return the words; a blank after a backslash belongs to its word."""
    return [re.sub(r"\\([\s#])", r"\1", word) if word[:2] != "\\#" else word[1:] for word in _WORD.findall(line)]


def _owned(
    parts: tuple[str, ...],
    owners: tuple[str, ...],
    *,
    is_rooted: bool,
    is_whole: bool,
    is_excluded: bool = False,
) -> OwnedPattern:
    if not is_rooted:
        return OwnedPattern(("**", *parts), owners, is_whole, "", is_excluded)
    plain = []
    for part in parts[:-1]:
        if any(character in part for character in "*?["):
            break
        plain.append(f"{part}/")
    return OwnedPattern(parts, owners, is_whole, "".join(plain), is_excluded)
