"""A change of an object as a change of its text: whatever the layout, it reads as meant and nothing else moves."""

from __future__ import annotations

import json
from io import StringIO
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from ruamel.yaml import YAML

from kubesched_lint.sources.manifests.changes import Append, Change, ChangeError, Put, Remove, Rename, applied
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.editing import splice_of, spliced
from kubesched_lint.sources.manifests.loader import documents
from kubesched_lint.sources.manifests.yaml.full_reader import build
from kubesched_lint.sources.manifests.yaml.second_reader import Made, objection
from kubesched_lint.sources.manifests.yaml.split import is_json
from tests import drawn as st
from tests.drawn import given
from tests.share import examples

WORDS = ["a", "web", "1.0", "yes", "x: y", "it's", 'say "x"', "# no", "0x10", "", "two words", "-", "é", "null", "- a"]
KEYS = ["a", "b", "kind", "topology.kubernetes.io/zone", "on", "1", "matchLabels", "x y"]

scalars = st.one_of(st.sampled_from(WORDS), st.integers(-5, 50), st.booleans(), st.none())


def nested(depth: int) -> st.Drawn[Any]:
    """A scalar, or lists and mappings that are at most this deep."""
    if not depth:
        return scalars
    inner = nested(depth - 1)
    mappings = st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    return st.one_of(scalars, st.lists(inner, max_size=3), mappings)


values = nested(3)
objects = st.dictionaries(st.sampled_from(KEYS), values, min_size=1, max_size=4)


class Writer:
    """Writes a value as some person might: each choice is drawn."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self.step = draw.randint(1, 4)
        self.dash = draw.randint(0, 3)
        self.number = 0

    def flip(self, often: int = 3) -> bool:
        return self._draw.randint(0, often) == 0

    def comment(self) -> str:
        if not self.flip(4):
            return ""
        self.number += 1
        return f"{self._draw.choice([' ', '   '])}# comment {self.number}\t'{{["

    def scalar(self, value: Any) -> str:
        if isinstance(value, str):
            if self.flip() and value.isprintable():
                return "'" + value.replace("'", "''") + "'"
            plain = value.isalpha() and value not in ("yes", "no", "on", "null", "y", "n")
            return value if plain else json.dumps(value, ensure_ascii=False)
        return "" if value is None and self.flip() else json.dumps(value)

    def flow(self, value: Any) -> str:
        pad = " " if self.flip() else ""
        gap = self._draw.choice([", ", ",", " , "])
        if isinstance(value, dict):
            inside = gap.join(f"{self.scalar(k)}: {self.flow(v)}" for k, v in value.items())
            return f"{{{pad}{inside}{pad}}}"
        if isinstance(value, list):
            return f"[{pad}{gap.join(map(self.flow, value))}{pad}]"
        return self.scalar(value) or "null"

    def between(self, indent: int) -> list[str]:
        lines = []
        if self.flip(5):
            lines.append("")
        if self.flip(5):
            self.number += 1
            lines.append(f"{' ' * indent}# comment {self.number}")
        return lines

    def mapping(self, value: dict[str, Any], indent: int) -> list[str]:
        lines: list[str] = []
        for key, held in value.items():
            head = f"{' ' * indent}{self.scalar(key)}:"
            lines += self.between(indent) if lines else []
            if isinstance(held, str) and "\n" not in held and held.strip() and self.flip(6) and held.isprintable():
                lines += [f"{head} |-{self.comment()}", f"{' ' * (indent + 2)}{held}"]
            elif not isinstance(held, (dict, list)) or not held or self.flip():
                text = self.flow(held) if isinstance(held, (dict, list)) else self.scalar(held)
                lines.append(f"{head} {text}".rstrip() + self.comment())
            elif isinstance(held, dict):
                lines += [head + self.comment(), *self.mapping(held, indent + self.step)]
            else:
                lines += [head + self.comment(), *self.list(held, indent + self.dash)]
        return lines

    def list(self, value: list[Any], indent: int) -> list[str]:
        lines: list[str] = []
        for held in value:
            lines += self.between(indent) if lines else []
            if isinstance(held, dict) and held and not self.flip():
                first, *rest = self.mapping(held, indent + 2)
                lines += [f"{' ' * indent}- {first.lstrip(' ')}", *rest]
            else:
                text = self.flow(held) if isinstance(held, (dict, list)) else self.scalar(held)
                lines.append(f"{' ' * indent}- {text}".rstrip() + self.comment())
        return lines


def text_of(random: Random) -> str:
    value, writer = objects.draw(random), Writer(random)
    if writer.flip(6):
        return json.dumps(value, indent=random.choice([None, 1, 2, 4]), ensure_ascii=False) + "\n"
    head = random.choice(["", "---\n", "# head\n", "--- # head\n\n"])
    return head + "\n".join(writer.mapping(value, 0)) + random.choice(["", "\n", "\n\n# tail\n", "\n...\n"])


def places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    found = [(at, value)]
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, held in inside:
        found += places(held, (*at, step))
    return found


def parts_left(before: str, after: str) -> bool:
    """Whether the one is the other with one stretch of characters exchanged: what ``splice`` may do, and no more."""
    head = next(
        (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return before[:head] == after[:head] and before[len(before) - tail :] == after[len(after) - tail :]


def has_been_read(text: str) -> bool:
    """Whether the second reader can tell a text from another at all, in what it says and in what it remarks."""
    return bool(objection(text, text.replace("\n...", "") + "\nzzz: 1\n", []) or is_json(text))


def comments(text: str) -> list[str]:
    return [line[line.index("# comment") :] for line in text.split("\n") if "# comment" in line]


@settings(max_examples=examples(400), deadline=None)
@given(st.randoms())
def test_what_is_added_or_written_over_reads_as_meant_in_every_layout(random: Random) -> None:
    text = text_of(random)
    value = build(text)
    at, there = random.choice(places(value))
    new = values.draw(random)
    change: Change
    if isinstance(there, dict):
        change = Put((*at, "new-key"), new, tuple(st.lists(st.sampled_from(KEYS), max_size=2).draw(random)))
    elif isinstance(there, list):
        change = Append(at, new)
    else:
        change = Put(at, new)
    if isinstance(change, Put) and not isinstance(there, dict) and "|-" in text:
        return  # a block scalar is not written over
    splice = splice_of(text, change)
    after = splice(text)
    assert build(after) == applied(value, change)
    assert objection(text, after, [Made(1 + text.rstrip("\n.").count("\n"), change)]) == "", "another reader agrees"
    assert has_been_read(text)
    assert comments(after) == comments(text), "no comment is lost or moved past another"
    if isinstance(there, (dict, list)):
        assert splice.start == splice.end or not there, "to add is to insert"
    if not isinstance(there, (dict, list)) and not isinstance(new, (dict, list)):
        assert after.count("\n") == text.count("\n"), "a word for a word"


@settings(max_examples=examples(300), deadline=None)
@given(st.randoms())
def test_what_is_removed_or_renamed_leaves_the_rest_as_it_was(random: Random) -> None:
    text = text_of(random)
    value = build(text)
    at, _ = random.choice([place for place in places(value) if place[0]])
    is_key = isinstance(at[-1], str)
    change: Change = Rename(at, "new-key") if is_key and random.random() < 0.5 else Remove(at)
    try:
        splice = splice_of(text, change)
    except ChangeError:
        if isinstance(change, Rename):
            raise
        return
    after = splice(text)
    assert build(after) == applied(value, change)
    assert objection(text, after, [Made(1 + text.rstrip("\n.").count("\n"), change)]) == "", "another reader agrees"
    assert parts_left(text, after)
    assert comments(after) == comments(text)


def test_removing_is_refused_only_for_comments_and_odd_layouts() -> None:
    text = "a:\n- b: 1\n  c: 2\n- d: {e: 1, f: 2}\n- g\n"
    for at, left in (
        (("a", 0, "b"), "a:\n- c: 2\n- d: {e: 1, f: 2}\n- g\n"),
        (("a", 0, "c"), "a:\n- b: 1\n- d: {e: 1, f: 2}\n- g\n"),
        (("a", 0), "a:\n- d: {e: 1, f: 2}\n- g\n"),
        (("a", 1, "d", "e"), "a:\n- b: 1\n  c: 2\n- d: {f: 2}\n- g\n"),
        (("a", 1, "d", "f"), "a:\n- b: 1\n  c: 2\n- d: {e: 1}\n- g\n"),
        (("a", 1, "d"), "a:\n- b: 1\n  c: 2\n- g\n"),
        (("a", 2), "a:\n- b: 1\n  c: 2\n- d: {e: 1, f: 2}\n"),
    ):
        assert splice_of(text, Remove(at))(text) == left
    with pytest.raises(ChangeError, match="a comment"):
        splice_of("a:\n- b: 1  # why\n  c: 2\n", Remove(("a", 0, "b")))


def test_comments_in_what_goes_stay_where_they_were() -> None:
    text = "a:\n  # one\n  b:  # two\n    # three\n    - 'x # no'  # four\n    - |\n      # text\n  # five\n  c: 1\n"
    left = "a:\n  # one\n  # two\n  # three\n  # four\n  # five\n  c: 1\n"
    assert splice_of(text, Remove(("a", "b")))(text) == left
    assert (
        splice_of("a: |  # why\n  # text\nb: 2\n", Remove(("a",)))("a: |  # why\n  # text\nb: 2\n") == "# why\nb: 2\n"
    )
    assert splice_of("a: 1\nb: 2 # why", Remove(("b",)))("a: 1\nb: 2 # why") == "a: 1\n# why"


ANCHORED = """\
base: &base
  x: {y: 1}
one: *base
two:
  <<: *base
  own: &alone {z: 1}
"""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Put(("base", "new"), 1), "several places"),
        (Put(("base", "x", "y"), 2), "several places"),
        (Put(("one", "x", "y"), 2), "several places"),
        (Put(("two", "x", "y"), 2), "merge"),
        (Remove(("two", "x")), "merge"),
    ],
)
def test_what_stands_for_several_places_is_left_alone(change: Change, words: str) -> None:
    with pytest.raises(ChangeError, match=words):
        splice_of(ANCHORED, change)


def test_beside_a_merge_and_inside_an_anchor_of_its_own_there_is_room() -> None:
    made = splice_of(ANCHORED, Put(("two", "own", "new"), [1]))(ANCHORED)
    assert made == ANCHORED.replace("{z: 1}", "{z: 1, new: [1]}")
    made = splice_of(ANCHORED, Put(("two", "own", "z"), 2))(ANCHORED)
    assert made == ANCHORED.replace("{z: 1}", "{z: 2}")


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_bytes_keep_their_encoding_their_mark_and_their_line_ends(codec: str, newline: str) -> None:
    text = "# é\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n"
    text += "# ü\napiVersion: v1\nkind: Pod\nspec:\n  a: 'b' # c\n"
    data = text.replace("\n", newline).encode(codec)
    second = [d for d in documents("x.yaml", data, lambda *_: True) if isinstance(d, Document)][1]
    splice = splice_of(second.text, Put(("spec", "new", "deep"), {"x": 1}))
    wanted = text.replace("'b' # c\n", "'b' # c\n  new:\n    deep:\n      x: 1\n").replace("\n", newline).encode(codec)
    assert spliced(data, second, splice) == wanted


def test_a_byte_that_is_no_utf_8_elsewhere_in_the_file_goes_back_as_it_came() -> None:
    data = b"apiVersion: v1\nkind: A\nx: \xff\n---\napiVersion: v1\nkind: Pod\nspec: {a: 1}\n"
    found = [d for d in documents("x.yaml", data, lambda *_: True) if isinstance(d, Document)]
    splice = splice_of(found[-1].text, Put(("spec", "b"), 2))
    assert spliced(data, found[-1], splice) == data.replace(b"{a: 1}", b"{a: 1, b: 2}")


def test_one_json_object_behind_another_in_the_same_line() -> None:
    data = b'{"apiVersion": "v1", "kind": "A"} '
    data += b'{"apiVersion": "v1", "kind": "B",\r\n\t"spec": {\r\n\t\t"a": "\xc3\xa9"\r\n\t}}'
    second = [d for d in documents("x.json", data, lambda *_: True) if isinstance(d, Document)][1]
    made = spliced(data, second, splice_of(second.text, Put(("spec", "b"), {"c": [1]})))
    assert made == data.replace(
        b'"\xc3\xa9"', b'"\xc3\xa9",\r\n\t\t"b": {\r\n\t\t "c": [\r\n\t\t  1\r\n\t\t ]\r\n\t\t}'
    )


@pytest.mark.parametrize(
    ("text", "change", "wanted"),
    [
        ("a: {b: 1}\n", Put(("a", "c"), "x"), "a: {b: 1, c: x}\n"),
        ("a: { b: 1 }\n", Put(("a", "c"), ["x"]), "a: { b: 1, c: [x] }\n"),
        ("a: {}\n", Put(("a", "c"), "x"), "a: {c: x}\n"),
        ("a:\n", Put(("a", "c"), "x"), "a:\n  c: x\n"),
        ("a: # why\n", Put(("a", "c"), "x"), "a: {c: x} # why\n"),
        ("a: ~\nb: 1\n", Put(("a", "c"), "x"), "a:\n  c: x\nb: 1\n"),
        ("a:\n    - b:\n          c: 1\n", Put(("a", 0, "d"), {"e": [1]}), "a:\n    - b:\n          c: 1\n      d:\n"),
        ("a:\n- b\n", Append(("a",), "c"), "a:\n- b\n- c\n"),
        ("a:\n  -   b\n", Append(("a",), "c"), "a:\n  -   b\n  - c\n"),
        ("a: [b]\n", Append(("a",), "c"), "a: [b, c]\n"),
        ("a: [b,]\n", Append(("a",), "c"), "a: [b, c,]\n"),
        ("a:\n  b: |\n    x\n\n\nc: 1\n", Put(("a", "d"), 1), "a:\n  b: |\n    x\n  d: 1\n\n\nc: 1\n"),
        ("a:\n  b: |+\n    x\n\nc: 1\n", Put(("a", "d"), 1), "a:\n  b: |+\n    x\n\n  d: 1\nc: 1\n"),
        ("a: 'x'\n", Put(("a",), "it's"), "a: 'it''s'\n"),
        ('a: "x"\n', Put(("a",), "y"), 'a: "y"\n'),
        ("a: x\n", Put(("a",), "yes"), 'a: "yes"\n'),
        ("a: x", Put(("b",), "z"), "a: x\nb: z"),
        ('"a": 1\n', Rename(("a",), "b"), '"b": 1\n'),
        ("a:\n  x: 1\n  y: 2\n", Put(("a", "z"), 3, ("x",)), "a:\n  x: 1\n  z: 3\n  y: 2\n"),
        ('{"a":{"b":1}}', Put(("a", "c"), [1]), '{"a":{"b":1,"c":[1]}}'),
    ],
)
def test_layouts_one_would_write_by_hand(text: str, change: Change, wanted: str) -> None:
    assert splice_of(text, change)(text).startswith(wanted)


def test_why_the_text_is_spliced_and_not_written_anew() -> None:
    """A round trip of ruamel.yaml keeps comments, yet it lays out anew what nobody asked it to touch."""
    text = "spec:   # three blanks\n    replicas:   3\n    args: [ 'a',\n       b ]\n    list:\n    -   x\n"
    yaml, out = YAML(), StringIO()
    yaml.preserve_quotes = True
    yaml.dump(yaml.load(text), out)
    assert out.getvalue() != text
    made = splice_of(text, Put(("spec", "replicas"), 4))(text)
    assert made == text.replace("3\n", "4\n")
