"""A fact for expressions: a named field with a type, a sentence about it, and a function that returns its value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Scenario

Uses = Mapping[str, frozenset[str]]
"""CelType → the fields that an expression reads."""
Show = Callable[[Any, "View"], dict[str, Any]]

STRING, INT, BOOL = "string", "int", "bool"
STRINGS, LABELS, AMOUNTS = "list(string)", "map(string, string)", "map(string, int)"
PLAIN = (STRING, INT, BOOL, STRINGS, LABELS, AMOUNTS)
INT64 = (1 << 63) - 1
"""CEL's int has 64 bits; no real request is larger."""


class View(NamedTuple):
    """The context of a fact; ``workload`` is the one under check, or None."""

    scenario: Scenario
    workload: Workload | None = None


class Field(Struct, frozen=True):
    """``type`` is one of ``PLAIN``, a struct's name, or ``list(CelType)``; ``get(thing, view)`` returns the value.

    A card that reads the field must list ``needs``. A value is never null: ``about`` names the value for an absent
    field.
    """

    name: str
    type: str
    about: str
    get: Callable[[Any, View], Any]
    needs: str = ""

    @property
    def struct(self) -> str:
        """Name of the struct it holds, alone or in a list; empty for plain values."""
        return "" if self.type in PLAIN else self.type.removeprefix("list(").removesuffix(")")

    @property
    def is_list(self) -> bool:
        return self.type.startswith("list(")


class CelType(Struct, frozen=True):
    name: str
    about: str
    example: str
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)


class ItemPlace(NamedTuple):
    """A thing that a rule checks; ``at`` is its path in the object ``source`` (None: the workload)."""

    subject: Any
    at: tuple[str | int, ...]
    source: Any = None
    owner: Any = None
    name: str = ""


class Each(Struct, frozen=True):
    """The things that ``each: <name>`` checks. ``of`` yields those of a workload, or of the whole set if ``by_set``."""

    name: str
    struct: str
    variable: str
    about: str
    of: Callable[[View], Iterator[ItemPlace]]
    by_set: bool = False
    needs: str = ""


def show_of(name: str, uses: Uses, structs: Mapping[str, CelType]) -> Show:
    """Return the function that turns a thing into the mapping for an expression, with only the fields that it reads."""
    wanted = [field for field in structs[name].fields if field.name in uses.get(name, frozenset())]
    steps = [(field.name, _step(field, uses, structs)) for field in wanted]

    def show(subject: Any, view: View) -> dict[str, Any]:
        return {key: step(subject, view) for key, step in steps}

    return show


def _step(field: Field, uses: Uses, structs: Mapping[str, CelType]) -> Callable[[Any, View], Any]:
    get = field.get
    if field.struct:
        inner = show_of(field.struct, uses, structs)
        if field.is_list:
            return lambda subject, view: [inner(item, view) for item in get(subject, view)]
        return lambda subject, view: inner(get(subject, view), view)
    if field.type == STRINGS:
        return lambda subject, view: list(get(subject, view))
    if field.type == LABELS:
        return lambda subject, view: dict(get(subject, view))
    if field.type == AMOUNTS:
        return lambda subject, view: {key: min(amount, INT64) for key, amount in get(subject, view).items()}
    return get


def by_name(structs: Iterable[CelType]) -> Mapping[str, CelType]:
    return {struct.name: struct for struct in structs}
