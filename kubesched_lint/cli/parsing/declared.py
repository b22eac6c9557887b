"""The options of a command as Typer declares them, and their values in ordinary arguments.

Typer imports pydantic for values, given or not, which takes longer than to read them here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from inspect import signature
from types import NoneType
from typing import Any, get_args

from kubesched_lint.cli.parsing.invocation import Option
from kubesched_lint.cli.parsing.ordinary import Mistake, given_in


def options_of(command: Any) -> list[Option]:
    """Return the options and arguments of a Typer command, in its order. Raises ValueError for one of another kind."""
    return [option for option, _, _ in _declared(command)]


def values_in(command: Any, arguments: Sequence[str]) -> tuple[Mapping[str, Any], frozenset[str]]:
    """Return (the values of all parameters, the names of those that are given), as Typer reads them.

    Raises Mistake, and ValueError for a command with options of another kind.
    """
    declared = [*_declared(command)]
    given = given_in([option for option, _, _ in declared], arguments)
    values = {}
    for option, parameter, of_values in declared:
        value = given.get(option.name, option.default)
        if parameter.required and option.name not in given:
            raise Mistake
        values[option.name] = of_values(value) if option.kind == "choice" and value is not None else value
    return values, frozenset(given)


def _declared(command: Any) -> Iterator[tuple[Option, Any, Any]]:
    """Yield (option, Typer's parameter, the type of its values), but for those that print something and end the run."""
    written = signature(command.callback, eval_str=True).parameters
    for parameter in command.params:
        if not parameter.is_eager:
            declared, info = get_args(written[parameter.name].annotation)
            (of_values,) = (argument for argument in get_args(declared | None) if argument is not NoneType)
            yield _option(parameter, info, of_values), parameter, of_values


def _option(parameter: Any, info: Any, of_values: Any) -> Option:
    kind = _kind(parameter, of_values)
    is_argument = parameter.param_type_name == "argument"
    is_usual = not (parameter.envvar or parameter.callback or (kind == "texts" and parameter.default))
    if not is_usual or (kind == "number" and info.max is not None) or (is_argument and kind not in ("text", "texts")):
        raise ValueError(f"{parameter.name}: no ordinary option")
    default = () if kind == "texts" else parameter.default
    if isinstance(default, Enum):
        default = default.value
    names = ((), ()) if is_argument else (tuple(parameter.opts), tuple(parameter.secondary_opts))
    choices = tuple(str(choice) for choice in of_values) if kind == "choice" else ()
    return Option(parameter.name, *names, kind, default, choices, (info.min or 0) if kind == "number" else 0)


def _kind(parameter: Any, declared: Any) -> str:
    """Return the kind of an option by its type; Typer has no public name for what it makes of that."""
    if declared == list[str]:
        return "texts"
    kind = {bool: "flag", str: "text", int: "number"}.get(declared)
    if kind is None and isinstance(declared, type) and issubclass(declared, Enum):
        kind = "choice"
    if kind is None or parameter.nargs != 1:
        raise ValueError(f"{parameter.name}: no ordinary option")
    return kind
