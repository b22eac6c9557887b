"""Strategies for YAML texts: documents in many styles with their values, and heaps of odd lines."""

from __future__ import annotations

import json
from random import Random
from typing import Any
from unicodedata import category

from tests.drawn import Drawn

WORDS = [
    "a",
    "web",
    "kubernetes.io/hostname",
    "app-1",
    "x y",
    "it's",
    'a "b"',
    "é€𝄞",
    "1.5.2",
    "-x",
    "a#b",
    "a:b",
    "10Gi",
]
NAMES = ["name", "labels", "app.kubernetes.io/name", "a-b", "x", "y1", "spec", "key", "é", "with space"]
SCALARS = [
    *WORDS, 0.5, 1.25, True, False, None,
    "yes", "010", "", "~", "1e3", "true", "#no", "- no", "a: b", "[x", " lead", "trail ", "x\ny", "\ttab",
]  # fmt: skip
_PLANES = [(0x20, 0x7F), (0x20, 0x7F), (0x80, 0x3000), (0x1F000, 0x1FB00)]
_PLAIN_START = frozenset("abcdefghijklmnopqrstuvwxyz/ABC")


def documents() -> Drawn[tuple[str, dict[str, Any]]]:
    """A block mapping written in mixed styles, and its value.

    Drawn by one seed: a text takes some hundred choices, and Hypothesis takes longer for each than the readers do.
    """
    return Drawn(_document)


def _document(draw: Random) -> tuple[str, dict[str, Any]]:
    value = _members(draw, 1, 5, 4)
    return "\n".join(_mapping(draw, value, draw.choice([0, 0, 0, 2]))) + "\n", value


def _members(draw: Random, least: int, most: int, depth: int) -> dict[str, Any]:
    names = draw.sample(NAMES, draw.randint(least, most))
    return {name: _value(draw, depth - 1) for name in names}


def _value(draw: Random, depth: int) -> Any:
    """A scalar, or a list or mapping of at most this depth."""
    kind = draw.randrange(5) if depth else 0
    if kind == 4:
        return _members(draw, 0, 4, depth)
    if kind == 3:
        return [_value(draw, depth - 1) for _ in range(draw.randint(0, 4))]
    match draw.randrange(4):
        case 0:
            return draw.randint(-100, 10_000)
        case 1:
            return "".join(
                filter(_is_shown, (chr(draw.randrange(*draw.choice(_PLANES))) for _ in range(draw.randrange(9))))
            )
    return draw.choice(SCALARS)


def _is_shown(character: str) -> bool:
    """Whether it is a letter, a number, punctuation, a symbol or a space."""
    return category(character)[0] in "LNPS" or category(character) == "Zs"


def _mapping(draw: Random, value: dict[str, Any], indent: int) -> list[str]:
    lines = []
    for key, child in value.items():
        lines += _noise(draw, indent)
        lines += _member(draw, f"{' ' * indent}{_scalar(draw, key)}:", child, indent, in_list=False)
    return lines


def _list(draw: Random, value: list[Any], indent: int) -> list[str]:
    lines = []
    for child in value:
        lines += _noise(draw, indent)
        lines += _member(draw, f"{' ' * indent}-", child, indent, in_list=True)
    return lines


def _member(draw: Random, head: str, child: Any, indent: int, *, in_list: bool) -> list[str]:
    """The lines of a key or dash and what stands behind it."""
    if isinstance(child, (dict, list)) and (not child or draw.randrange(5) == 0):
        return [f"{head} {_flow(draw, child)}{_comment(draw)}"]
    deeper = indent + draw.choice([2, 2, 4])
    if isinstance(child, dict):
        below = _mapping(draw, child, deeper)
        if in_list and draw.random() < 0.5 and not below[0].lstrip().startswith("#") and below[0].strip():
            return [f"{head}{' ' * (deeper - indent - 1)}{below[0][deeper:]}", *below[1:]]
        return [f"{head}{_comment(draw)}", *below]
    if isinstance(child, list):
        return [
            f"{head}{_comment(draw)}",
            *_list(draw, child, deeper if in_list else draw.choice([indent, deeper])),
        ]
    if child is None and draw.random() < 0.5:
        return [head + _comment(draw)]
    if isinstance(child, str) and _fits_literal(child) and draw.random() < 0.5:
        return [f"{head} |-", *(f"{' ' * deeper}{line}" if line else "" for line in child.split("\n"))]
    return [f"{head} {_scalar(draw, child)}{_comment(draw)}"]


def _fits_literal(text: str) -> bool:
    return bool(text) and text.isascii() and not text.startswith((" ", "\t", "\n")) and not text.endswith("\n")


def _scalar(draw: Random, value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    styles = [json.dumps(value, ensure_ascii=False) if value.isprintable() else f'"{_escaped(value)}"']
    if value.isprintable():
        styles.append("'" + value.replace("'", "''") + "'")
    if value[:1] in _PLAIN_START and value.isascii() and value.replace("-", "").replace("/", "").isalnum():
        styles += (
            [value] * 3 if value.lower() not in ("y", "n", "yes", "no", "on", "off", "true", "false", "null") else []
        )
    return draw.choice(styles)


def _escaped(value: str) -> str:
    return "".join(f"\\U{ord(c):08x}" if c in '"\\' or not c.isprintable() else c for c in value)


def _flow(draw: Random, value: Any) -> str:
    blank = draw.choice(["", " "])
    if isinstance(value, dict):
        inner = ", ".join(f"{_scalar(draw, k)}: {_flow(draw, v)}" for k, v in value.items())
        return f"{{{blank}{inner}{blank}}}"
    if isinstance(value, list):
        return f"[{blank}{f',{blank}'.join(_flow(draw, v) for v in value)}{blank}]"
    return _scalar(draw, value)


def _comment(draw: Random) -> str:
    return draw.choice(["", "", "", " # note", "  # key: value"])


def _noise(draw: Random, indent: int) -> list[str]:
    return draw.choice([[], [], [], [], [""], [" " * indent + "# remark"], ["# - far: left"]])


_KEYS = ["a", "b", "c", "on", "010", "1.5", '"q"', "'s'", "null", "<<", "a b", "x:y", "é", "?", "0x1", "$patch", "a@b"]
_ODD = [
    "x", "yes", '"q"', "'s'", "'it''s'", '"a\\n"', "[a, b]", "[]", "{}", "{a: 1}", "{a: 1, b: [x, y]}", "{a}",
    "[a: 1]", "{a:1}", '{"a":1}', "|", "|-", "|+", ">", ">-", "|2", "| # c", "&x 1", "*x", "!!str 1", "# c",
    "1 # c", "x#y", "a: b", "a:", "- x", "-x", "-", "? x", "x  y", "x ", '"a" b', '"a"#b', "[a", "{a: 1", "a]",
    "@x", "`x", "%x", "x, y", ".inf", "08", "1_000", "\tx", "x\t", "a\xa0b", "a\u2028b", "\ufeffa", "[a ,b,]",
    "{a: 1, a: 2}", "{<<: {a: 1}}", "$(X)", "~", "=", "", "", "", "[x:y, 1.5, ~]", "[a?b]", "{a: }", "[,]", "'",
    '"', "a\x00b", "---", "...",
]  # fmt: skip
_LINES = [
    "",
    "  ",
    "# c",
    "      # c",
    "---",
    "--- # c",
    "--- x",
    "...",
    "%YAML 1.1",
    "\t",
    "  text",
    "- ",
    "-",
    "{",
    "]",
    "*a",
]


def odd_texts() -> Drawn[str]:
    """Lines of anything: mostly broken, sometimes valid, never what one expects."""
    return Drawn(_odd_text)


def _odd_text(draw: Random) -> str:
    indent, lines = 0, []
    for _ in range(draw.randint(1, 8)):
        if draw.randrange(10) == 0:
            lines.append(draw.choice(_LINES))
            continue
        indent = max(0, indent + draw.choice([0, 0, 2, 2, -2, -4, 1]))
        dash = draw.choice(["", "", "", "- ", "-   ", "- - "])
        key = draw.choice(_KEYS) if draw.random() < 0.5 else draw.choice("abcdef")
        colon = draw.choice([": ", ": ", ": ", ": ", ":", " : ", ":  ", ":\t"])
        tail = draw.choice(_ODD) if draw.random() < 0.5 else draw.choice(["1", "x", "", ""])
        lines.append(f"{' ' * indent}{dash}{key}{colon}{tail}" if draw.randrange(10) else " " * indent + dash + tail)
    return "\n".join(lines) + draw.choice(["\n", "\n", "", "\n\n", "\n  "])
