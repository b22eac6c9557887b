"""Write a value in the style of its surroundings: in blocks, on one line, or as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from kubesched_lint.sources.manifests.yaml.nodes import YamlNode, every
from kubesched_lint.sources.manifests.yaml.scalars import ScalarError, resolved

_PLAIN = re.compile(r"[A-Za-z0-9_./](?:[A-Za-z0-9_./@%=+~-]|[ ](?=[A-Za-z0-9_./@%=+~-]))*")
_WIDTH = 100
_EMPTY: tuple[object, ...] = ({}, [])


class Style(Struct, frozen=True):
    """The style of a document.

    ``step`` is the indentation of nested mappings, ``dash`` that of a list's dashes, in columns. ``flow``: brackets are
    used. ``spaced`` and ``padded`` concern brackets: ``a: 1`` or ``a:1``, ``{ a: 1 }`` or ``{a: 1}``.
    """

    step: int = 2
    dash: int = 0
    flow: bool = False
    nested: bool = False
    """Brackets occur inside brackets."""
    json: bool = False
    spaced: bool = True
    padded: bool = False


def style_of(root: YamlNode, text: str) -> Style:
    """Return the most frequent style of the document, with defaults for what it does not show."""
    steps: dict[int, int] = {}
    dashes: dict[int, int] = {}
    brackets: list[YamlNode] = []
    for node in every(root):
        if node.flow and node.children:
            brackets.append(node)
        elif node.kind == "mapping" and not node.flow:
            for key, value in node.pairs:
                if value.kind in ("mapping", "list") and not value.flow and value.children:
                    inner = value.items[0] if value.kind == "list" else value.pairs[0][0]
                    at = dash_before(inner, text) if value.kind == "list" else inner.start
                    far = column(at, text) - column(key.start, text)
                    habit = dashes if value.kind == "list" else steps
                    habit[far] = habit.get(far, 0) + 1
    is_json = root.flow and root.kind == "mapping" and all(key.style == '"' for key, _ in root.pairs)
    pairs = [pair for node in brackets for pair in node.pairs]
    return Style(
        step=_most(steps, 2),
        dash=max(0, _most(dashes, 0)),
        flow=bool(brackets),
        nested=any(child.flow for node in brackets for child in node.children),
        json=is_json,
        spaced=not pairs or any(text[key.end : value.start].strip(":") for key, value in pairs),
        padded=any(text[node.start + 1 : node.start + 2] == " " for node in brackets),
    )


def _most(counts: dict[int, int], usual: int) -> int:
    distances = [far for far in counts if far >= 0]
    return max(distances, key=lambda far: counts[far]) if distances else usual


def column(at: int, text: str) -> int:
    """Return the column of an offset, from 0."""
    return at - text.rfind("\n", 0, at) - 1


def dash_before(item: YamlNode, text: str) -> int:
    """Return the offset of the dash of a block list's item; -1 if the dash is not on the same line."""
    at = item.start - 1
    while at >= 0 and text[at] == " ":
        at -= 1
    return at if at >= 0 and text[at] == "-" else -1


def scalar(value: Any, style: Style, quote: str = "") -> str:
    """Return a scalar as written; text is quoted with ``quote``, or only if necessary when ``quote`` is empty."""
    if not isinstance(value, str):
        return json.dumps(value)
    if style.json or quote == '"' or not value.isprintable():
        return json.dumps(value, ensure_ascii=False)
    if quote == "'" or not _is_plain(value):
        return "'" + value.replace("'", "''") + "'" if quote == "'" else json.dumps(value, ensure_ascii=False)
    return value


def _is_plain(text: str) -> bool:
    try:
        return _PLAIN.fullmatch(text) is not None and resolved(text) == text and not text.startswith("---")
    except ScalarError:
        return False


def in_brackets(value: Any, style: Style) -> str:
    """Return a value on one line."""
    after = ", " if style.spaced else ","
    pad = " " if style.padded and not style.json else ""
    if isinstance(value, dict):
        inside = after.join(pair(key, held, style) for key, held in value.items())
        return f"{{{pad}{inside}{pad}}}" if inside else "{}"
    if isinstance(value, list):
        return f"[{after.join(in_brackets(item, style) for item in value)}]"
    return scalar(value, style)


def pair(key: str, value: Any, style: Style) -> str:
    """Return ``key: value`` for use inside brackets."""
    between = ": " if style.spaced or not style.json else ":"
    return f"{scalar(key, style)}{between}{in_brackets(value, style)}"


def in_lines(value: Any, indent: str, step: int) -> str:
    """Return JSON over several lines; the first line follows a key whose indentation is ``indent``."""
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{indent}")


def block(key: str, value: Any, indent: int, style: Style) -> Iterator[str]:
    """Yield the lines of ``key: value`` in a block whose keys are in column ``indent``, from 0."""
    head = f"{' ' * indent}{scalar(key, style)}:"
    if _is_short(value, indent + len(key), style):
        yield f"{head} {in_brackets(value, style)}"
    elif isinstance(value, dict):
        yield head
        for name, held in value.items():
            yield from block(name, held, indent + style.step, style)
    else:
        yield head
        for held in value:
            yield from item(held, indent + style.dash, style)


def item(value: Any, dash: int, style: Style) -> Iterator[str]:
    """Yield the lines of a list's item whose dash is in column ``dash``."""
    lead = f"{' ' * dash}- "
    if isinstance(value, dict) and value:
        lines = [line for name, held in value.items() for line in block(name, held, dash + 2, style)]
        yield lead + lines[0].lstrip(" ")
        yield from lines[1:]
    else:
        yield lead + in_brackets(value, style)


def _is_short(value: Any, before: int, style: Style) -> bool:
    """Return whether the value is one word, or is written in brackets because the document does so and the line is
    short.
    """
    if not isinstance(value, (dict, list)) or value in _EMPTY:
        return True
    inside = value if isinstance(value, list) else value.values()
    is_deep = any(isinstance(held, (dict, list)) for held in inside)
    if not style.flow or (is_deep and (isinstance(value, list) or not style.nested)):
        return False
    return before + len(in_brackets(value, style)) <= _WIDTH
