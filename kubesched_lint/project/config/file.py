"""The search for the configuration file: in the folder of the manifests and above it, inside its git repository."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.limits import LONGEST
from kubesched_lint.files import content, is_own_stream, root_of
from kubesched_lint.findings import InputError
from kubesched_lint.limits import LARGEST_SETTINGS
from kubesched_lint.project.config.keys import Config, ConfigError
from kubesched_lint.project.config.pinned import beside, deciding
from kubesched_lint.rulebook.library import Rulebook

if TYPE_CHECKING:
    from kubesched_lint.project.config.reading import Where

NAME, SHARED = "kubesched.toml", "pyproject.toml"
_TABLE: Path = ("tool", "kubesched-lint")
_SPELLINGS = (b"tool.kubesched-lint", b'tool."kubesched-lint"', b"tool.'kubesched-lint'")


def find_config(paths: Sequence[str]) -> str | None:
    """The configuration for the first of ``paths``: the nearest ``kubesched.toml``, or pyproject.toml with our table.

    The search goes from that path's folder (the current folder for standard input or no path) up to the root of its
    repository, else up to the current folder, else nowhere: other folders may belong to other users.
    """
    try:
        start = _start(paths)
        root = root_of(start)
    except (OSError, ValueError):  # no current folder, or a path that is reported later as unreadable
        return None
    for folder in _upwards(start, root):
        own = os.path.join(folder, NAME)
        if os.path.lexists(own) and not os.path.isdir(own):  # a broken link is an error later, not skipped
            return own
        shared = os.path.join(folder, SHARED)
        if os.path.isfile(shared) and _is_ours(shared):
            return shared
    return None


def _start(paths: Sequence[str]) -> str:
    first = paths[0] if paths and paths[0] != "-" and not is_own_stream(paths[0]) else "."
    absolute = os.path.abspath(first)
    return absolute if os.path.isdir(absolute) else os.path.dirname(absolute)


def _upwards(folder: str, root: str) -> Iterator[str]:
    """The folder and those above it up to ``root``; the folder alone without a root."""
    yield folder
    while root and os.path.realpath(folder) != root and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        yield folder


def _is_ours(path: str) -> bool:
    """Whether the text names our table; without it, a pyproject.toml is ignored even if it is broken."""
    try:
        data = _content(path)
    except OSError:
        return False
    return any(spelling in data for spelling in _SPELLINGS)


def read_config(path: str, rulebook: Rulebook, copy: str = "") -> Config:
    """Return the configuration in the file. Raises ConfigError when it cannot be read or is invalid.

    Files that decide what is found are those of ``copy``, a copy of the current folder, if there is one.
    """
    from kubesched_lint.project.config.reading import config_of

    table, where = _read(path, copy)
    try:
        return config_of(table, where, rulebook)
    except RecursionError:
        raise ConfigError([InputError(where.file, "nested too deeply")]) from None


def named_by(path: str) -> Iterator[tuple[str, str]]:
    """Yield (key, path) of each file or folder that a configuration names and that decides what is found.

    Raises ConfigError when it cannot be read; a name that makes no sense is left to ``read_config``.
    """
    table, where = _read(path)
    yield from ((key, beside(where.file, name)) for key, name in deciding(table))


def quoted(text: str) -> str:
    """Return a basic string of TOML."""
    return '"' + "".join(c if c.isprintable() and c not in '\\"' else f"\\U{ord(c):08x}" for c in text) + '"'


def _read(path: str, copy: str = "") -> tuple[Mapping[str, object], Where]:
    file = _as_seen(path)
    try:
        data = _content(path)
    except OSError as error:
        raise ConfigError([InputError(file, f"cannot be read: {(error.strerror or str(error)).lower()}")]) from None
    if len(data) > LARGEST_SETTINGS:
        raise ConfigError([InputError(file, "not a configuration: larger than 1 MiB")])
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        return _table_in(text, file, path, copy)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError([InputError(file, "not UTF-8", line, 1)]) from None
    except RecursionError:
        raise ConfigError([InputError(file, "nested too deeply")]) from None


def _table_in(text: str, file: str, path: str, copy: str) -> tuple[Mapping[str, object], Where]:
    import tomllib

    from kubesched_lint.project.config.reading import Where
    from kubesched_lint.project.config.toml_places import places

    _check_keys(file, text)
    try:
        table: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([_syntax(file, str(error), text)]) from None
    except ValueError:  # tomllib raises it only for this
        raise ConfigError([InputError(file, "not TOML: a number of too many digits")]) from None
    top = _TABLE if os.path.basename(path).endswith(SHARED) else ()  # also in a copy, like .pinned-pyproject.toml
    for key in top:
        if not isinstance(table, dict) or key not in table:
            raise ConfigError([InputError(file, "has no table [tool.kubesched-lint]")])
        table = table[key]
    where = Where(file, os.path.dirname(os.path.abspath(path)), os.getcwd(), places(text), top, root_of(path), copy)
    if not isinstance(table, dict):
        raise ConfigError([InputError(file, "expected the table [tool.kubesched-lint]", where.spot(()).line, 1)])
    return table, where


def _check_keys(file: str, text: str) -> None:
    """Raises ConfigError for a key with too many parts, because tomllib needs quadratic time for it."""
    if text.count(".") <= LONGEST:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.partition('"')[0].partition("'")[0].count(".") > LONGEST:
            raise ConfigError([InputError(file, f"a key has more than {LONGEST:,} parts", number, 1)])


def _content(path: str) -> bytes:
    return content(path, LARGEST_SETTINGS)


def _as_seen(path: str) -> str:
    """The shorter of the relative and the absolute path."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(os.path.abspath(path)) else os.path.abspath(path)


_IN_WORDS = {
    "Illegal character '\\n'": "a quote opens on this line and does not close",
    "Illegal character '\\r'": "a quote opens on this line and does not close",
    "Unterminated string": "a quote is not closed",
    'Expected "\'"': "a quote is not closed",
}
"""tomllib's messages for an unclosed quote → clearer ones; tomllib's name an invisible character."""


def _syntax(file: str, message: str, text: str) -> InputError:
    """The error of tomllib with its place; tomllib appends ``(at line 3, column 5)`` or ``(at end of document)``."""
    words, _, place = message.rpartition(" (at ")
    numbers = [int(n) for n in place.rstrip(")").replace(",", "").split() if n.isdecimal()]
    if len(numbers) != 2:
        lines = text.rstrip("\n").split("\n")
        numbers = [len(lines), len(lines[-1]) + 1]
    line, column = numbers
    if words in _IN_WORDS:
        words = _IN_WORDS[words]
    return InputError(file, f"not TOML: {words or message}", line, column)
