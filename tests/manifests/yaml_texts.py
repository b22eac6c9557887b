"""Strategies for YAML texts: documents in many styles with their values, and heaps of odd lines."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

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
SCALARS = st.one_of(
    st.sampled_from(WORDS),
    st.integers(-100, 10_000),
    st.booleans(),
    st.none(),
    st.sampled_from([0.5, 1.25]),
    st.sampled_from(
        ["yes", "010", "", "~", "1e3", "true", "#no", "- no", "a: b", "[x", " lead", "trail ", "x\ny", "\ttab"]
    ),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)),
    max_leaves=16,
)
OBJECTS = st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1, max_size=5)
_PLAIN_START = frozenset("abcdefghijklmnopqrstuvwxyz/ABC")


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A block mapping written in mixed styles, and its value."""
    value = draw(OBJECTS)
    return "\n".join(_mapping(draw, value, draw(st.sampled_from([0, 0, 0, 2])))) + "\n", value


def _mapping(draw: st.DrawFn, value: dict[str, Any], indent: int) -> list[str]:
    lines = []
    for key, child in value.items():
        lines += _noise(draw, indent)
        lines += _member(draw, f"{' ' * indent}{_scalar(draw, key)}:", child, indent, in_list=False)
    return lines


def _list(draw: st.DrawFn, value: list[Any], indent: int) -> list[str]:
    lines = []
    for child in value:
        lines += _noise(draw, indent)
        lines += _member(draw, f"{' ' * indent}-", child, indent, in_list=True)
    return lines


def _member(draw: st.DrawFn, head: str, child: Any, indent: int, *, in_list: bool) -> list[str]:
    """The lines of a key or dash and what stands behind it."""
    if isinstance(child, (dict, list)) and (not child or draw(st.integers(0, 4)) == 0):
        return [f"{head} {_flow(draw, child)}{_comment(draw)}"]
    deeper = indent + draw(st.sampled_from([2, 2, 4]))
    if isinstance(child, dict):
        below = _mapping(draw, child, deeper)
        if in_list and draw(st.booleans()) and not below[0].lstrip().startswith("#") and below[0].strip():
            return [f"{head}{' ' * (deeper - indent - 1)}{below[0][deeper:]}", *below[1:]]
        return [f"{head}{_comment(draw)}", *below]
    if isinstance(child, list):
        return [
            f"{head}{_comment(draw)}",
            *_list(draw, child, deeper if in_list else draw(st.sampled_from([indent, deeper]))),
        ]
    if child is None and draw(st.booleans()):
        return [head + _comment(draw)]
    if isinstance(child, str) and _fits_literal(child) and draw(st.booleans()):
        return [f"{head} |-", *(f"{' ' * deeper}{line}" if line else "" for line in child.split("\n"))]
    return [f"{head} {_scalar(draw, child)}{_comment(draw)}"]


def _fits_literal(text: str) -> bool:
    return bool(text) and text.isascii() and not text.startswith((" ", "\t", "\n")) and not text.endswith("\n")


def _scalar(draw: st.DrawFn, value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    styles = [json.dumps(value, ensure_ascii=False) if value.isprintable() else f'"{_escaped(value)}"']
    if value.isprintable():
        styles.append("'" + value.replace("'", "''") + "'")
    if value[:1] in _PLAIN_START and value.isascii() and value.replace("-", "").replace("/", "").isalnum():
        styles += (
            [value] * 3 if value.lower() not in ("y", "n", "yes", "no", "on", "off", "true", "false", "null") else []
        )
    return draw(st.sampled_from(styles))


def _escaped(value: str) -> str:
    return "".join(f"\\U{ord(c):08x}" if c in '"\\' or not c.isprintable() else c for c in value)


def _flow(draw: st.DrawFn, value: Any) -> str:
    blank = draw(st.sampled_from(["", " "]))
    if isinstance(value, dict):
        inner = ", ".join(f"{_scalar(draw, k)}: {_flow(draw, v)}" for k, v in value.items())
        return f"{{{blank}{inner}{blank}}}"
    if isinstance(value, list):
        return f"[{blank}{f',{blank}'.join(_flow(draw, v) for v in value)}{blank}]"
    return _scalar(draw, value)


def _comment(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(["", "", "", " # note", "  # key: value"]))


def _noise(draw: st.DrawFn, indent: int) -> list[str]:
    return draw(st.sampled_from([[], [], [], [], [""], [" " * indent + "# remark"], ["# - far: left"]]))


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


@st.composite
def odd_texts(draw: st.DrawFn) -> str:
    """Lines of anything: mostly broken, sometimes valid, never what one expects."""
    indent, lines = 0, []
    for _ in range(draw(st.integers(1, 8))):
        if draw(st.integers(0, 9)) == 0:
            lines.append(draw(st.sampled_from(_LINES)))
            continue
        indent = max(0, indent + draw(st.sampled_from([0, 0, 2, 2, -2, -4, 1])))
        dash = draw(st.sampled_from(["", "", "", "- ", "-   ", "- - "]))
        key = draw(st.sampled_from(_KEYS)) if draw(st.booleans()) else draw(st.sampled_from("abcdef"))
        colon = draw(st.sampled_from([": ", ": ", ": ", ": ", ":", " : ", ":  ", ":\t"]))
        tail = draw(st.sampled_from(_ODD)) if draw(st.booleans()) else draw(st.sampled_from(["1", "x", "", ""]))
        lines.append(
            f"{' ' * indent}{dash}{key}{colon}{tail}" if draw(st.integers(0, 9)) else " " * indent + dash + tail
        )
    return "\n".join(lines) + draw(st.sampled_from(["\n", "\n", "", "\n\n", "\n  "]))
