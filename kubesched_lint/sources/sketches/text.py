"""Write a sketch: scalars that every YAML reader reads alike, in readable lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from kubesched_lint.engine.model.nodes.node import Taint
from kubesched_lint.printing import safe_json

_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9._/=:-]*[A-Za-z0-9])?")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_BINARY = ("memory", "ephemeral-storage")
_WIDTH = 120


def scalar(text: str) -> str:
    """Return a plain scalar if every YAML reader reads it as this string, also inside brackets.

    Else one in double quotes.
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS and "::" not in text:
        return text
    return safe_json(json.dumps(text))


def amount(name: str, value: int) -> str:
    """Return the exact quantity in its largest unit: ``3920m``, ``16Gi``, ``15058228Ki``, ``"4"``."""
    if name == "nodes":  # a limit on nodes is a number, not a quantity
        return str(value)
    if name == "cpu":
        return f"{value}m" if value % 1000 else f'"{value // 1000}"'
    if name in _BINARY or name.startswith("hugepages-"):
        for suffix, power in (("Gi", 30), ("Mi", 20), ("Ki", 10)):
            if value % (1 << power) == 0:
                return f"{value >> power}{suffix}"
    return f'"{value}"'


def flow(pairs: Iterable[tuple[str, str]]) -> str:
    """Return ``{a: b, c: d}`` of keys and values that are YAML already."""
    return f"{{{', '.join(f'{scalar(key)}: {value}' for key, value in pairs)}}}"


def mapping(field: str, pairs: Sequence[tuple[str, str]], indent: int = 2) -> Iterator[str]:
    """Yield the lines of a field whose values are YAML already."""
    yield from _wrapped(f"{' ' * indent}{field}: {{", [f"{scalar(key)}: {value}" for key, value in pairs], "}")


def listing(field: str, values: Sequence[str], indent: int = 2) -> Iterator[str]:
    """Yield the lines of a list of values that are YAML already."""
    yield from _wrapped(f"{' ' * indent}{field}: [", values, "]")


def _wrapped(start: str, parts: Sequence[str], end: str) -> Iterator[str]:
    """Yield the parts with commas between them, in lines of at most ``_WIDTH`` characters, where the parts allow it."""
    line, room = start, " " * len(start)
    for number, part in enumerate(parts, 1):
        piece = part + (", " if number < len(parts) else end)
        if line not in (start, room) and len(line) + len(piece.rstrip()) > _WIDTH:
            yield line.rstrip()
            line = room
        line += piece
    yield line if parts else start + end


def taint(node_taint: Taint) -> str:
    return scalar(f"{node_taint.key}={node_taint.value}:{node_taint.effect}" if node_taint.value else str(node_taint))
