"""What a fact is for an expression: a named field with a type, a sentence, and the way to its value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kubesched_lint.record import record

if TYPE_CHECKING:
    from kubesched_lint.model.workload import Workload
    from kubesched_lint.world.world import World

Uses = Mapping[str, frozenset[str]]
"""Struct → which of its fields an expression reads."""
Show = Callable[[Any, "View"], dict[str, Any]]

STRING, INT, BOOL = "string", "int", "bool"
STRINGS, LABELS, AMOUNTS = "list(string)", "map(string, string)", "map(string, int)"
PLAIN = (STRING, INT, BOOL, STRINGS, LABELS, AMOUNTS)
LARGEST = (1 << 63) - 1
"""CEL's int has 64 bits; no request beyond that is a real one."""


class View(NamedTuple):
    """Where a fact is asked: ``workload`` is the one under check, None where there is none."""

    world: World
    workload: Workload | None = None


@record
class Field:
    """``type`` is one of ``PLAIN``, a struct's name, or ``list(Struct)``; ``get`` gives it of a thing in a view.

    ``needs`` is what a card must list among its own needs to read it. Nothing is ever null: ``about`` says what stands
    for what is not written.
    """

    name: str
    type: str
    about: str
    get: Callable[[Any, View], Any]
    needs: str = ""

    @property
    def struct(self) -> str:
        """The struct it holds, alone or in a list; empty for plain values."""
        return "" if self.type in PLAIN else self.type.removeprefix("list(").removesuffix(")")

    @property
    def is_list(self) -> bool:
        return self.type.startswith("list(")


@record
class Struct:
    name: str
    about: str
    example: str
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)


class ItemPlace(NamedTuple):
    """A thing that a rule looks at: ``at`` is its path in the object ``source`` (None: the workload)."""

    thing: Any
    at: tuple[str | int, ...]
    source: Any = None
    owner: Any = None
    name: str = ""


@record
class Each:
    """What ``each: <name>`` looks at. ``of`` gives the things of a workload, or of the whole set where ``by_set``."""

    name: str
    struct: str
    variable: str
    about: str
    of: Callable[[View], Iterator[ItemPlace]]
    by_set: bool = False
    needs: str = ""


def show_of(name: str, uses: Uses, structs: Mapping[str, Struct]) -> Show:
    """What turns a thing into the mapping that an expression sees, with no field that it does not read."""
    wanted = [field for field in structs[name].fields if field.name in uses.get(name, frozenset())]
    steps = [(field.name, _step(field, uses, structs)) for field in wanted]

    def show(thing: Any, view: View) -> dict[str, Any]:
        return {key: step(thing, view) for key, step in steps}

    return show


def _step(field: Field, uses: Uses, structs: Mapping[str, Struct]) -> Callable[[Any, View], Any]:
    get = field.get
    if field.struct:
        inner = show_of(field.struct, uses, structs)
        if field.is_list:
            return lambda thing, view: [inner(item, view) for item in get(thing, view)]
        return lambda thing, view: inner(get(thing, view), view)
    if field.type == STRINGS:
        return lambda thing, view: list(get(thing, view))
    if field.type == LABELS:
        return lambda thing, view: dict(get(thing, view))
    if field.type == AMOUNTS:
        return lambda thing, view: {key: min(amount, LARGEST) for key, amount in get(thing, view).items()}
    return get


def by_name(structs: Iterable[Struct]) -> Mapping[str, Struct]:
    return {struct.name: struct for struct in structs}
