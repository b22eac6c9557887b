"""Where the configuration lies: in the folder of what is linted or above it, never beyond its git repository."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.files import content, is_own_stream, root_of
from kubesched_lint.findings import InputError, Path
from kubesched_lint.project.config import Config, ConfigError
from kubesched_lint.rulebook.library import Rulebook

NAME, SHARED = "kubesched.toml", "pyproject.toml"
_TABLE: Path = ("tool", "kubesched-lint")
_SPELLINGS = (b"tool.kubesched-lint", b'tool."kubesched-lint"', b"tool.'kubesched-lint'")
_LARGEST = 1 << 20
_MOST_PARTS = 1_000


def find_config(paths: Sequence[str]) -> str | None:
    """The configuration for the first of ``paths``: the nearest ``kubesched.toml``, or pyproject.toml with our table.

    Searched from that path's folder (the current one for standard input or no path) up to the root of its repository,
    else up to the current folder: what lies above may be anybody's. Elsewhere only in that path's folder.
    """
    try:
        start = _start(paths)
        root = root_of(start)
    except (OSError, ValueError):  # no current folder, or a path that is told as unreadable
        return None
    for folder in _upwards(start, root):
        own = os.path.join(folder, NAME)
        if os.path.lexists(own) and not os.path.isdir(own):  # a link that leads nowhere is told, not passed over
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
    """The folder and those above it as far as ``root``; the folder alone where there is none."""
    yield folder
    while root and os.path.realpath(folder) != root and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        yield folder


def _is_ours(path: str) -> bool:
    """Whether the text names our table: a pyproject.toml that does not is nobody's business here, broken or not."""
    try:
        data = _content(path)
    except OSError:
        return False
    return any(spelling in data for spelling in _SPELLINGS)


def read_config(path: str, rulebook: Rulebook) -> Config:
    """What the file says. Raises ConfigError when it cannot be read or followed."""
    file = _as_seen(path)
    try:
        data = _content(path)
    except OSError as error:
        raise ConfigError([InputError(file, f"cannot be read: {(error.strerror or str(error)).lower()}")]) from None
    if len(data) > _LARGEST:
        raise ConfigError([InputError(file, "larger than 1 MiB: that is no configuration")])
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        return _config_in(text, file, path, rulebook)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError([InputError(file, "not UTF-8", line, 1)]) from None
    except RecursionError:
        raise ConfigError([InputError(file, "nested too deeply")]) from None


def _config_in(text: str, file: str, path: str, rulebook: Rulebook) -> Config:
    import tomllib

    from kubesched_lint.project.config_reading import Where, config_of
    from kubesched_lint.project.toml_places import places

    _check_keys(file, text)
    try:
        table: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([_syntax(file, str(error), text)]) from None
    except ValueError:  # tomllib says this of nothing else
        raise ConfigError([InputError(file, "not TOML: a number of too many digits")]) from None
    top = _TABLE if os.path.basename(path).endswith(SHARED) else ()  # also of a copy: .pinned-pyproject.toml
    for key in top:
        if not isinstance(table, dict) or key not in table:
            raise ConfigError([InputError(file, "has no table [tool.kubesched-lint]")])
        table = table[key]
    where = Where(file, os.path.dirname(os.path.abspath(path)), os.getcwd(), places(text), top, root_of(path))
    if not isinstance(table, dict):
        raise ConfigError([InputError(file, "expected the table [tool.kubesched-lint]", where.spot(()).line, 1)])
    return config_of(table, where, rulebook)


def _check_keys(file: str, text: str) -> None:
    """tomllib takes time with the square of the parts of a key."""
    if text.count(".") <= _MOST_PARTS:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.partition('"')[0].partition("'")[0].count(".") > _MOST_PARTS:
            raise ConfigError([InputError(file, f"a key of more than {_MOST_PARTS:,} parts", number, 1)])


def _content(path: str) -> bytes:
    return content(path, _LARGEST)


def _as_seen(path: str) -> str:
    """As a person in the current folder would write it."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(os.path.abspath(path)) else os.path.abspath(path)


_IN_WORDS = {
    "Illegal character '\\n'": "the quote that opens on this line is not closed on it",
    "Illegal character '\\r'": "the quote that opens on this line is not closed on it",
    "Unterminated string": "a quote is not closed",
    'Expected "\'"': "a quote is not closed",
}
"""What tomllib says of an unclosed quote names a character that nobody sees."""


def _syntax(file: str, message: str, text: str) -> InputError:
    """tomllib ends its messages with ``(at line 3, column 5)`` or ``(at end of document)``."""
    words, _, place = message.rpartition(" (at ")
    numbers = [int(n) for n in place.rstrip(")").replace(",", "").split() if n.isdecimal()]
    if len(numbers) != 2:
        last = text.rstrip("\n").split("\n")
        numbers = [len(last), len(last[-1]) + 1]
    if words in _IN_WORDS:
        words = _IN_WORDS[words]
    return InputError(file, f"not TOML: {words or message}", *numbers)
