"""The fields that a checked expression reads, decoded from the checker's bytes (``cel.expr.CheckedExpr``).

Field numbers are those of cel-spec's ``checked.proto`` and ``syntax.proto``; only a few fields are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

_ANY_VALUE = 2
_TYPE_MAP, _SOURCE_INFO, _EXPR = 3, 5, 4
_POSITIONS = 4
_ID, _SELECT = 2, 5
_MESSAGE_TYPE = 9


Part = tuple[int, int | bytes]
"""A field's number and its value."""


class Select(NamedTuple):
    """``operand.field``, or ``has(operand.field)``; ``struct`` is the operand's type, empty if it is no struct.

    ``at`` counts code points from the start of the expression.
    """

    struct: str
    field: str
    is_has: bool
    at: int


def tree_of(serialized: bytes) -> tuple[bytes, Mapping[int, bytes]]:
    """The Expr of a checked expression, and id → type of each Expr in it. Raises ValueError for other bytes."""
    checked = list(parts(first(parts(serialized), _ANY_VALUE)))
    types = {number(entry, 1): first(parts(entry), 2) for entry in values_in(checked, _TYPE_MAP)}
    return first(checked, _EXPR), types


def selects(serialized: bytes) -> Iterator[Select]:
    """Yield every select of a checked expression, in order of the syntax tree. Raises ValueError for other bytes."""
    expr, types = tree_of(serialized)
    checked = parts(first(parts(serialized), _ANY_VALUE))
    info = list(parts(first(checked, _SOURCE_INFO)))
    positions = {number(entry, 1): number(entry, 2) for entry in values_in(info, _POSITIONS)}
    yield from _selects(expr, {id_: _message_type(type_) for id_, type_ in types.items()}, positions)


def _selects(expr: bytes, types: Mapping[int, str], positions: Mapping[int, int]) -> Iterator[Select]:
    """Yield the selects of one Expr and of those nested in its calls, lists, structs and comprehensions."""
    for kind, value in parts(expr):
        if kind == _SELECT and isinstance(value, bytes):
            operand = first(parts(value), 1)
            name = first(parts(value), 2).decode()
            struct = types.get(number(operand, _ID), "")
            yield Select(struct, name, bool(number(value, 3)), positions.get(number(expr, _ID), 0))
            yield from _selects(operand, types, positions)
        elif isinstance(value, bytes) and kind in _CHILDREN:
            for inner, child in parts(value):
                if isinstance(child, bytes) and inner in _CHILDREN[kind]:
                    yield from _nested(kind, child, types, positions)


# call: target, args; list: elements; struct: entries; comprehension: range, start, condition, step, result.
_CHILDREN: Mapping[int, frozenset[int]] = {
    6: frozenset({1, 3}),
    7: frozenset({1}),
    8: frozenset({2}),
    9: frozenset({2, 4, 5, 6, 7}),
}
_STRUCT = 8


def _nested(kind: int, child: bytes, types: Mapping[int, str], positions: Mapping[int, int]) -> Iterator[Select]:
    if kind != _STRUCT:
        yield from _selects(child, types, positions)
        return
    for inner, value in parts(child):  # an entry: its key in a map, its value
        if inner in (3, 4) and isinstance(value, bytes):
            yield from _selects(value, types, positions)


def _message_type(type_: bytes) -> str:
    """The struct's name without its package."""
    return first(parts(type_), _MESSAGE_TYPE).decode().rpartition(".")[2]


def first(fields: Iterator[Part] | list[Part], wanted: int) -> bytes:
    return next(values_in(fields, wanted), b"")


def values_in(fields: Iterator[Part] | list[Part], wanted: int) -> Iterator[bytes]:
    for kind, value in fields:
        if kind == wanted and isinstance(value, bytes):
            yield value


def number(message: bytes, wanted: int) -> int:
    return next((v for n, v in parts(message) if n == wanted and isinstance(v, int)), 0)


def values_of(message: bytes, wanted: int) -> Iterator[bytes]:
    return values_in(parts(message), wanted)


def parts(message: bytes) -> Iterator[Part]:
    """Yield the fields of a protocol buffer: varints as int, length-delimited values as bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        match tag & 7:
            case 0:
                value, at = _varint(message, at)
                yield tag >> 3, value
            case 2:
                length, at = _varint(message, at)
                yield tag >> 3, message[at : at + length]
                at += length
            case 1:
                at += 8
            case 5:
                at += 4
            case kind:
                raise ValueError(f"no protocol buffer: wire type {kind}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message):
            raise ValueError("no protocol buffer: it ends within a number")
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
