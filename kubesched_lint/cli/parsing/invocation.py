"""What a command knows of its own call. Typer's context is one; ``lint`` has another, which needs no Typer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from msgspec import Struct

EMPTY = "BASE is empty, as if a variable were not set: name a commit."
"""What is said of an empty commit: nobody means to compare with nothing."""


class Source(Struct, frozen=True):
    """Where a value comes from, by Click's names: COMMANDLINE, ENVIRONMENT, DEFAULT …"""

    name: str


class Option(Struct, frozen=True):
    """An option as Typer declares it."""

    name: str
    """The parameter."""
    opts: tuple[str, ...]
    """What users type; ``secondary_opts`` turn a flag off."""
    secondary_opts: tuple[str, ...]
    kind: str
    """``flag``, ``text``, ``texts`` (repeatable), ``choice`` or ``number``."""
    default: object
    choices: tuple[str, ...] = ()
    least: int = 0


class Invocation(Protocol):
    """A call of a command."""

    @property
    def command(self) -> Any:
        """The command: ``params`` has its options, each with a ``name`` and its ``opts``."""

    @property
    def params(self) -> Mapping[str, Any]:
        """Option → its value, defaults included."""

    def get_parameter_source(self, name: str, /) -> Any:
        """Return the ``Source`` of a value."""

    def fail(self, message: str, /) -> NoReturn:
        """Raise the parser's UsageError."""


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


def is_given(invocation: Invocation, name: str) -> bool:
    """Whether the user gave the option, instead of leaving its default."""
    source = invocation.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


def refused(message: str, flag: str) -> Exception:
    """Return the parser's error about the value of an option."""
    from typer import BadParameter

    return BadParameter(message, param_hint=f"'{flag}'")
