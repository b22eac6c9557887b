"""Reads ordinary arguments of ``lint`` without Typer, whose import takes longer than linting a file.

``_lint_options.py`` has the options as Typer declares them; ``declared`` asks Typer for those of other commands. Help,
joined short options and mistakes are left to Typer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

from kubesched_lint.cli.parsing._lint_options import OPTIONS
from kubesched_lint.cli.parsing.invocation import Option, Source, with_base


class Mistake(Exception):  # noqa: N818 – Typer makes the error
    """The arguments are not ordinary."""


class Ordinary:
    """A call of ``lint`` whose arguments Typer did not parse."""

    def __init__(self, options: Sequence[Option], given: Mapping[str, Any]) -> None:
        self.command = SimpleNamespace(params=options)
        self.params = {option.name: given.get(option.name, option.default) for option in options}
        self._given = given.keys()

    def get_parameter_source(self, name: str) -> Source:
        return Source("COMMANDLINE" if name in self._given else "DEFAULT")

    def fail(self, message: str) -> NoReturn:
        raise Mistake(message)


def call_of_lint(arguments: Sequence[str]) -> Ordinary:
    """Return the call of ``lint`` with these arguments. Raises Mistake if they are not ordinary."""
    return Ordinary(OPTIONS, given_in(OPTIONS, list(with_base(arguments))))


def given_in(options: Sequence[Option], arguments: Sequence[str]) -> Mapping[str, Any]:
    """Return name → value of the options and arguments that are given, as Click reads them. Raises Mistake."""
    known = {
        flag: (known_option, flag in known_option.opts)
        for known_option in options
        for flag in (*known_option.opts, *known_option.secondary_opts)
    }
    values: dict[str, Any] = {}
    words: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            words.append(word)
            continue
        flag, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option, is_on = known.get(flag, (None, True))
        if option is None or (equals and option.kind == "flag"):
            raise Mistake
        text = is_on if option.kind == "flag" else value if equals else next(rest, None)
        if option.kind == "texts" and text is not None:
            values.setdefault(option.name, []).append(text)
        else:
            values[option.name] = _converted(option, text)
    values |= _placed([option for option in options if not option.opts], words)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _placed(arguments: Sequence[Option], words: Sequence[str]) -> Mapping[str, Any]:
    """Return argument → its word, or all that are left if it takes several, and is the last. Raises Mistake."""
    values: dict[str, Any] = {}
    for argument in arguments:
        if words:
            is_last = argument.kind == "texts"
            values[argument.name], words = (list(words), []) if is_last else (words[0], words[1:])
    if words or any(argument.kind == "texts" for argument in arguments[:-1]):
        raise Mistake
    return values


def _converted(option: Option, text: Any) -> object:
    if text is None or (option.kind == "choice" and text not in option.choices):
        raise Mistake
    if option.kind != "number":
        return text
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= option.least):
        raise Mistake
    return int(text)
