"""Parses ordinary arguments of ``lint`` without Typer, whose import takes longer than linting a file.

Typer declares the options; ``python -m kubesched_lint.cli.table`` writes them to ``_lint_options.py``. What is not
ordinary is left to Typer: help, completion, and every mistake, so that all messages are its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from kubesched_lint.cli._lint_options import OPTIONS
from kubesched_lint.cli.invocation import Option, Source

_GIVEN, _DEFAULT = Source("COMMANDLINE"), Source("DEFAULT")
_MOST_DIGITS = 9


class _Command(NamedTuple):
    params: Sequence[Option]


class Mistake(Exception):  # noqa: N818 – Typer makes the error
    """The arguments are not ordinary."""


class Ordinary:
    """A call of ``lint`` whose arguments Typer did not parse."""

    def __init__(self, options: Sequence[Option], given: Mapping[str, Any]) -> None:
        self.command = _Command(options)
        self.params = {option.name: given.get(option.name, option.default) for option in options}
        self._given = given.keys()

    def get_parameter_source(self, name: str) -> Source:
        return _GIVEN if name in self._given else _DEFAULT

    def fail(self, message: str) -> NoReturn:
        raise Mistake(message)


def call_of_lint(arguments: Sequence[str]) -> Ordinary:
    """Return the call of ``lint`` with these arguments. Raises Mistake if they are not ordinary."""
    return Ordinary(OPTIONS, _values(OPTIONS, list(with_base(arguments))))


def with_base(args: Sequence[str]) -> Iterator[str]:
    """Yield ``args`` with ``--changed BASE`` as ``--changed=BASE``; an existing path is a manifest, not BASE."""
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            yield arg
            yield from rest
        elif arg != "--changed":
            yield arg
        else:
            following = next(rest, None)
            if following is None or following.startswith("-") or os.path.exists(following):
                yield "--changed=HEAD"
                yield from with_base([*([] if following is None else [following]), *rest])
            else:
                yield f"--changed={following}"


def _values(options: Sequence[Option], arguments: Sequence[str]) -> Mapping[str, Any]:
    """Return option → value as Click reads the arguments. Raises Mistake."""
    known = {flag: (option, True) for option in options for flag in option.opts}
    known |= {flag: (option, False) for option in options for flag in option.secondary_opts}
    found: dict[str, Any] = {}
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            found.setdefault("paths", []).extend(rest)
        elif word == "-" or not word.startswith("-"):
            found.setdefault("paths", []).append(word)
        else:
            _read(word, rest, known, found)
    if found.get("paths") == []:
        del found["paths"]
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def _read(word: str, rest: Iterator[str], known: Mapping[str, tuple[Option, bool]], found: dict[str, Any]) -> None:
    """Put the values of one word, such as ``--name=value``, ``-nvalue`` or ``-qv``, into ``found``."""
    flag, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
    option, is_on = known.get(flag, (None, True))
    if option is None:
        raise Mistake
    if option.kind == "flag":
        found[option.name] = is_on
        if equals:
            if flag.startswith("--"):
                raise Mistake
            _read(f"-{value}", rest, known, found)
        return
    text = value if equals else next(rest, None)
    if text is None:
        raise Mistake
    if option.kind == "texts":
        found.setdefault(option.name, []).append(text)
    else:
        found[option.name] = _converted(option, text)


def _converted(option: Option, text: str) -> object:
    if option.kind == "choice" and text not in option.choices:
        raise Mistake
    if option.kind != "number":
        return text
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS and int(text) >= option.least):
        raise Mistake
    return int(text)
