"""Expressions of cards: values, places, and what they refuse."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from kubesched_lint.custom.expression import ExpressionError, Found, Place, evaluate, is_true, parsed
from kubesched_lint.sources.manifests.document import Document, Text

SPEC: dict[str, Any] = {
    "replicas": 0,
    "size": 4,
    "name": "web",
    "off": False,
    "empty": {},
    "list": [{"x": 1}, {"x": 2}],
    "labels": {"ray.io/group": "a"},
}
DOCUMENT = Document("m.yaml", 0, "Kind", "g/v1", Text("", {"spec": SPEC}), 1)
SCOPE = {
    "spec": Found(SPEC, Place(DOCUMENT, ("spec",)), True),
    "metadata": Found({}, Place(DOCUMENT, ("metadata",)), True),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("spec.replicas or 1", 0),
        ("spec.missing or 1", 1),
        ("spec.off or 'x'", "x"),
        ("spec.missing.deeper", None),
        ("spec.size * 2 - 1", 7),
        ("min(spec.size, 3) + max(1, 2)", 5),
        ("min(3)", 3),
        ("sum([one.x for one in spec.list]) + sum(spec.missing)", 3),
        ("int('12') + int(spec.size)", 16),
        ("mib('2048m') + mib('1.5g') + mib('1 KB')", 2048 + 1536 + 1),
        ("mib('2g') * 11 // 10 + 'Mi'", "2252Mi"),
        ("spec.name + '-' + spec.size", "web-4"),
        ("spec.size + '-' + spec.name", "4-web"),
        ("spec.list[1].x", 2),
        ("spec.list[7].x", None),
        ("spec.labels['ray.io/group']", "a"),
        ("spec.size > 3 and spec.name == 'web'", True),
        ("spec.name > 3", False),
        ("not spec.empty", False),
        ("'y' if spec.off else 'n'", "n"),
        ("spec.list + spec.list", [{"x": 1}, {"x": 2}, {"x": 1}, {"x": 2}]),
        ("spec.list + null", [{"x": 1}, {"x": 2}]),
        ("spec.labels + {'b': 'c'}", {"ray.io/group": "a", "b": "c"}),
        ("{'b': 'c'} + spec.missing", {"b": "c"}),
        ("-spec.size", -4),
        ("has(spec.list, 'x')", True),
        ("has(spec.list, 'y') or has(spec.labels, 'x') or has(spec.missing, 'x')", False),
        ("has(spec.list, 'x', 2) and not has(spec.list, 'x', 3)", True),
        ("true", True),
        ("[{'x': spec.size, 'y': spec.missing}] + spec.missing", [{"x": 4}]),
        ("spec.missing + null", None),
        ("[i.x * spec.size for i in spec.list]", [4, 8]),
        ("[{'a': i.x} for i in spec.list + [{'x': 3}] if i.x > 1]", [{"a": 2}, {"a": 3}]),
        ("[i for i in spec.missing] + [j.x for j in [i for i in spec.list]]", [1, 2]),
    ],
)
def test_a_value(text: str, value: object) -> None:
    assert evaluate(text, SCOPE).value == value


@pytest.mark.parametrize(
    ("text", "at", "is_exact"),
    [
        ("spec.size", ("spec", "size"), True),
        ("spec.missing.deeper", ("spec", "missing", "deeper"), True),
        ("spec.missing or 1", ("spec", "missing"), True),
        ("spec.missing or spec.size", ("spec", "size"), True),
        ("spec.size * 2", ("spec", "size"), False),
        ("'100%' if spec.empty else null", ("spec", "empty"), False),
        ("spec.list[1].x", ("spec", "list", 1, "x"), True),
        ("spec.missing + spec.labels", ("spec", "labels"), True),
    ],
)
def test_a_value_keeps_its_place(text: str, at: tuple[object, ...], is_exact: bool) -> None:
    found = evaluate(text, SCOPE)
    assert found.place is not None
    assert (found.place.at, found.is_exact) == (at, is_exact)


def test_an_empty_mapping_holds_and_false_does_not() -> None:
    assert is_true("spec.empty", SCOPE)
    assert not is_true("spec.off", SCOPE)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "spec.name.upper()",
        "[x for x in spec.list for y in spec.list]",
        "[x for x in spec.list if x.a if x.b]",
        "[x for x, y in spec.list]",
        "[[y for y in spec.list] for x in spec.list]",
        "[x for x in spec.list if [y for y in spec.list]]",
        "[y for x in spec.list]",
        "{x for x in spec.list}",
        "lambda: 1",
        "spec.size ** 99999999",
        "1 / 2",
        "1.5",
        "f'{spec.name}'",
        "spec[spec.name]",
        "int('1', 2)",
        "mib('1g', 2)",
        "min()",
        "{spec.name: 1}",
        "{**spec}",
        "[*spec.list]",
        "max(*spec.list)",
        "1 < spec.size < 9",
        "spec.size if",
        "other.size",
        "(" * 300 + "1" + ")" * 300,
        "'x' * 9" + " * 9" * 300,
        "has(spec.list, 'x', spec.size)",
        "has(spec.list, 'x', 1, 2)",
    ],
)
def test_what_is_no_expression_of_cards(text: str) -> None:
    with pytest.raises(ExpressionError):
        parsed(text, ("spec", "metadata"))


@pytest.mark.parametrize(
    "text",
    [
        "spec.name * 2",
        "'a' + spec.missing",
        "999999999 * 999999999",
        "min(spec.name, 1)",
        "int('x')",
        "int('-1')",
        "int(spec.missing)",
        "mib(spec.missing)",
        "mib('12')",
        "mib('2Gi2')",
        "[x for x in spec.name]",
    ],
)
def test_what_has_no_value(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, SCOPE)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[{'x': spec.size, 'y': 1}]", {(0, "x"): ("spec", "size")}),
        (
            "[{'x': spec.size}] + spec.list",
            {(0, "x"): ("spec", "size"), (1,): ("spec", "list", 0), (2,): ("spec", "list", 1)},
        ),
        ("([{'x': spec.size}] if spec.name else null) + null", {(0, "x"): ("spec", "size")}),
        (
            "spec.labels + {'b': spec.name}",
            {("ray.io/group",): ("spec", "labels", "ray.io/group"), ("b",): ("spec", "name")},
        ),
        ("[{'x': {'y': spec.name}}][0].x", {("y",): ("spec", "name")}),
        ("spec.missing or [spec.size]", {(0,): ("spec", "size")}),
        ("[{'a': i.x} for i in spec.list if i.x > 1]", {(0, "a"): ("spec", "list", 1, "x")}),
    ],
)
def test_the_parts_of_what_an_expression_makes_keep_their_places(text: str, parts: dict[Any, Any]) -> None:
    found = evaluate(text, SCOPE).parts
    assert {path: place.at for path, place, is_exact in found if is_exact} == parts


def test_numbers_are_divided_and_not_by_zero() -> None:
    assert evaluate("7 // spec.size + 7 % spec.size", SCOPE).value == 4
    with pytest.raises(ExpressionError, match="divided by 0"):
        evaluate("spec.size % spec.replicas", SCOPE)


def test_each_member_of_a_list_costs_the_same_however_long_it_is() -> None:
    """Only its own parts are looked at; others would make a list of n members cost n * n."""
    ran = []
    for size in (100, 400):
        document = Document("set.yaml", 0, "Pool", "v1", Text(text="{}", value={}), 1)
        parts = tuple(((number,), Place(document, ()), True) for number in range(size))
        scope = {"pools": Found([{"size": 1}] * size, parts=parts)}
        lines = 0

        def trace(frame: FrameType, event: str, _: object) -> object:
            nonlocal lines
            lines += event == "line"
            return trace

        sys.settrace(trace)
        try:
            assert evaluate("sum([pool.size for pool in pools])", scope).value == size
        finally:
            sys.settrace(None)
        ran.append(lines)
    assert ran[1] < 5 * ran[0], ran
