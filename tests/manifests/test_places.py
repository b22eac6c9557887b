"""The text at a value's span is that value, whichever reader found it; a key's span is its key."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import settings

from kubesched_lint.engine.base.places import Path, Span
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import documents
from kubesched_lint.sources.manifests.yaml.fast_reader import NotPlainError, read_plain
from kubesched_lint.sources.manifests.yaml.full_reader import build
from kubesched_lint.sources.manifests.yaml.places import span_of
from tests import drawn as st
from tests.drawn import given
from tests.manifests import yaml_texts
from tests.manifests.test_two_readers import paths
from tests.share import examples

FIRST = 7
"""The line that the texts begin in."""


def cut(text: str, span: Span) -> str:
    """What stands at the span, moved as far right as it was, so that blocks keep their shape."""
    lines = text.split("\n")[span.line - FIRST : span.end_line - FIRST + 1]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = " " * (span.column - 1) + lines[0][span.column - 1 :]
    return "\n".join(lines) + "\n"


def lookup(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def reread(text: str, span: Span) -> Any:
    """A block scalar's indentation is relative to what holds it, so it needs a parent again."""
    found = cut(text, span)
    if found.lstrip(" ").startswith(("|", ">")):
        return build("- " + found.lstrip(" "))[0]
    return build(found)


@pytest.mark.parametrize("plain", [True, False])
@settings(max_examples=examples(150), deadline=None)
@given(made=yaml_texts.documents())
def test_the_text_at_a_span_is_the_value(plain: bool, made: tuple[str, dict[str, Any]]) -> None:
    text, value = made
    if plain:
        try:
            read_plain(text)
        except NotPlainError:
            return
    assert build(text) == value
    for path in paths(value):
        wanted = lookup(value, path)
        assert reread(text, span_of(text, FIRST, path, plain=plain)) == wanted, path
        if path and isinstance(path[-1], str):
            key = span_of(text, FIRST, path, key=True, plain=plain)
            assert build(cut(text, key).strip() + ": 1") == {path[-1]: 1}


def only(text: str, path: str = "m.yaml") -> Document:
    (found,) = documents(path, text.encode(), lambda version, kind: True)
    assert isinstance(found, Document)
    return found


HEAD = "apiVersion: v1\nkind: Pod\n"


@pytest.mark.parametrize(
    ("text", "path", "span"),
    [
        ("a: one\n  two\nb: 1\n", ("a",), Span(3, 4, 4, 6)),
        ("a: 'one\n\n  two'  # c\nb: 1\n", ("a",), Span(3, 4, 5, 7)),
        ("a: >-\n  one\n\n  two\n\n\nb: 1\n", ("a",), Span(3, 4, 6, 6)),
        ("a: |2\n    one\n   two\n", ("a",), Span(3, 4, 5, 7)),
        ("a: |+\n  one\n\nb: 1\n", ("a",), Span(3, 4, 6, 1)),
        ("a:\n  b: 1\n  c:\n    - x\n    # trailing\n\nd: 1\n", ("a",), Span(4, 3, 6, 8)),
        ("a:\nb: 1\n", ("a",), Span(3, 3, 3, 3)),
        ("a:\n- x\n-\n- y\n", ("a", 1), Span(5, 2, 5, 2)),
        ("a: {b: [1, {c: d}]}\n", ("a", "b", 1, "c"), Span(3, 16, 3, 17)),
        ("a: {b: [1,\n  {c: d}]}\n", ("a", "b", 1, "c"), Span(4, 7, 4, 8)),
        ("é: {𝄞: ü}\n", ("é", "𝄞"), Span(3, 8, 3, 9)),
        ("a: &x\n  b: 1\nc: *x\n", ("c",), Span(5, 4, 5, 6)),
        ("a: &x\n  b: 1\nc: *x\n", ("c", "b"), Span(4, 6, 4, 7)),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n", ("c", "b"), Span(3, 11, 3, 12)),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n", ("c",), Span(5, 3, 6, 7)),
        ("a: !!str 1\n", ("a",), Span(3, 4, 3, 11)),
        ('a: "x\\ty"\n', ("a",), Span(3, 4, 3, 10)),
        ("a: 1\r\nb: 2\r\n", ("b",), Span(4, 4, 4, 5)),
        ("a: [1, 2]\n", ("a", 5), Span(3, 4, 3, 10)),
        ("a: {b: 1}\n", ("a", 0), Span(3, 4, 3, 10)),
        ("a: 1\n", ("a", "b", "c"), Span(3, 4, 3, 5)),
        ("a: 1\n", ("nowhere",), Span(1, 1, 3, 5)),
        ("on: 1\n0x10: {yes: 2}\n", ("16", "true"), Span(4, 13, 4, 14)),
    ],
)
def test_places_of_every_style(text: str, path: Path, span: Span) -> None:
    assert only(HEAD + text).span(path) == span


@settings(max_examples=examples(150), deadline=None)
@given(made=yaml_texts.documents(), absent=st.sampled_from([*yaml_texts.NAMES, "true", "on", "1", 0, 7]))
def test_both_readers_point_to_the_same_where_nothing_is(made: tuple[str, dict[str, Any]], absent: str | int) -> None:
    """The key may well stand further down, in another block of the same column."""
    text, value = made
    try:
        read_plain(text)
    except NotPlainError:
        return
    for path in ((), *paths(value)):
        for further in ((absent,), (absent, "name"), (absent, 0)):
            asked = (*path, *further)
            assert span_of(text, FIRST, asked, plain=True) == span_of(text, FIRST, asked), asked


SAME_COLUMN = """\
spec:
  ports:
  - name: a
  template:
    x: 1
on:
  a: 1
"true":
  b: 2
"""


@pytest.mark.parametrize(
    ("path", "span"),
    [
        (("spec", "ports", "template", "x"), Span(FIRST + 2, 3, FIRST + 2, 12)),
        (("spec", "template", "x"), Span(FIRST + 4, 8, FIRST + 4, 9)),
        (("ports", "name"), Span(FIRST, 1, FIRST + 8, 7)),
        (("spec", "on", "a"), Span(FIRST + 1, 3, FIRST + 4, 9)),
    ],
)
def test_a_key_of_another_block_is_not_mistaken(path: Path, span: Span) -> None:
    assert span_of(SAME_COLUMN, FIRST, path, plain=True) == span


def test_keys_are_pointed_at_without_their_colon() -> None:
    found = only(HEAD + "a:\n  - 'b c' : [x]\n    \"d\": {e: f}\n    g: 1\n")
    assert found.span(("a",), key=True) == Span(3, 1, 3, 2)
    assert found.span(("a", 0, "b c"), key=True) == Span(4, 5, 4, 10)
    assert found.span(("a", 0, "d"), key=True) == Span(5, 5, 5, 8)
    assert found.span(("a", 0, "d", "e"), key=True) == Span(5, 11, 5, 12)
    # An item has no key, and what is absent has none either: the value, or the nearest parent, has to do.
    assert found.span(("a", 0), key=True) == Span(4, 5, 6, 9)
    assert found.span(("a", 0, "d", "z"), key=True) == Span(5, 10, 5, 16)


def test_a_later_document_counts_from_the_top_of_the_file() -> None:
    text = f"# comment\n---\n{HEAD}a: 1\n--- # second\n{HEAD}b:\n  c: 2\n"
    first, second = (d for d in documents("m.yaml", text.encode(), lambda v, k: True) if isinstance(d, Document))
    assert first.span(("a",)) == Span(5, 4, 5, 5)
    assert second.span(("b", "c")) == Span(10, 6, 10, 7)
    assert second.line_text(10) == "  c: 2"
    assert second.line_text(5) == second.line_text(99) == ""
    assert second.index == first.index + 1


def test_places_in_json() -> None:
    value = {"apiVersion": "v1", "kind": "Pod", "a": {"b": [1, {"c": "d/e"}]}}
    found = only(json.dumps(value, indent="\t"), "m.json")
    assert found.span(("a", "b", 1, "c")) == Span(8, 10, 8, 15)
    assert found.span(("a", "b", 1, "c"), key=True) == Span(8, 5, 8, 8)


def test_lists_of_objects_in_json_have_places_of_their_own() -> None:
    text = '{"apiVersion": "v1", "kind": "List", "items": [\n {"apiVersion": "v1", "kind": "Pod", "x": 1}\n]}\n'
    text += '{"apiVersion": "v1", "kind": "Pod",\n"x": 2} {"apiVersion": "v1", "kind": "Pod", "x": 3}\n'
    found = [d for d in documents("m.json", text.encode(), lambda v, k: True) if isinstance(d, Document)]
    assert [d.span(("x",)) for d in found] == [Span(2, 43, 2, 44), Span(5, 6, 5, 7), Span(5, 50, 5, 51)]


def test_items_of_a_long_list_are_found_each() -> None:
    items = "".join(f"- apiVersion: v1\n  kind: Pod\n  x: {i}\n  # between\n\n" for i in range(300))
    text = f"apiVersion: v1\nkind: List\nitems:\n{items}"
    found = [d for d in documents("m.yaml", text.encode(), lambda v, k: True) if isinstance(d, Document)]
    assert [d.span(("x",)).line for d in found] == [6 + 5 * i for i in range(300)]
    assert [d.span(()) for d in found][7] == Span(39, 3, 41, 7)


@pytest.mark.parametrize("length", [399, 400, 401, 402])
@pytest.mark.parametrize("before", [" ", "   "])
def test_both_readers_agree_which_flow_collections_are_too_long(length: int, before: str) -> None:
    """One of the longest length that is read fast has places, too, whatever blanks stand before it."""
    value = f"{{a: {'x' * (length - 11)}, b: 1}}"
    text = f"apiVersion: v1\nkind: Pod\nv:{before}{value}\n"
    assert len(value) == length
    at = 2 + len(before)
    assert only(text, "m.yaml").span(("v",)) == Span(3, at + 1, 3, at + 1 + length)
    assert only(text, "m.yaml").span(("v", "b")).column == at + length - 1
