"""A waiver is read from comments only, wherever YAML allows one, and from nothing that merely looks like one."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from kubesched_lint.engine.base.places import Span
from kubesched_lint.linter.waivers.waivers import find_waivers


def read(text: str) -> list[tuple[str, str, int]]:
    return [(w.rule, w.reason, w.at.line) for w in find_waivers(text, "a.yaml")]


def test_a_comment_above_and_one_behind_are_read() -> None:
    text = "# kubesched: ignore[one] because\na: 1\nb: 2  # kubesched: ignore[two] therefore\n"
    assert read(text) == [("one", "because", 1), ("two", "therefore", 3)]


def test_several_slugs_share_a_reason_and_have_places_of_their_own() -> None:
    waivers = find_waivers("a: 1 # kubesched: ignore[one, two-three ,four] why\n", "a.yaml")
    assert [(w.rule, w.reason) for w in waivers] == [("one", "why"), ("two-three", "why"), ("four", "why")]
    assert [w.at for w in waivers] == [Span(1, 26, 1, 29), Span(1, 31, 1, 40), Span(1, 42, 1, 46)]


@pytest.mark.parametrize(
    "text",
    [
        "#kubesched:ignore[one] why",
        "#  kubesched:   ignore [one]   why",
        "## kubesched: ignore[one] why",
        "# kubesched-lint: ignore[one] why",
        "a: 1 # two nodes only # kubesched: ignore[one] why",
        "a: 'x' # kubesched: ignore[one]: why",
        "a: [b, 'c']# kubesched: ignore[one] why",  # libyaml takes it for a comment, and so do we
        "a: b#c # kubesched: ignore[one] — why",
        "a: |  # kubesched: ignore[one] why\n  text",
        "a: {b: 1, # kubesched: ignore[one] why\n  c: 2}",
        "- 1\n- # kubesched: ignore[one] why\n  2",
        "a: 1\n# kubesched: ignore[one] why",
        "\ufeff# kubesched: ignore[one] why\na: 1",
        "a: 1\r\n# kubesched: ignore[one] why\r\nb: 2\r\n",
        "a:\n  b: |\n    text\n  # kubesched: ignore[one] why\n  c: 1",
        "--- # kubesched: ignore[one] why\na: 1",
        "商店: 販売 # kubesched: ignore[one] why",
    ],
)
def test_comments_of_every_shape_are_read(text: str) -> None:
    assert [(w.rule, w.reason) for w in find_waivers(text)] == [("one", "why")]


@pytest.mark.parametrize(
    "text",
    [
        'a: "# kubesched: ignore[one] why"',
        "a: ' # kubesched: ignore[one] why'",
        'a: "x\n  # kubesched: ignore[one] why\n  y"',
        "a: |\n  # kubesched: ignore[one] why\nb: 1",
        "a: >-\n  text\n  # kubesched: ignore[one] why",
        "a: |\n  text\n\n  # kubesched: ignore[one] why\n\nb: 1",
        "a: x#kubesched: ignore[one]",
        "b: 'x # kubesched: ignore[one] why\na: 1",
        '{"a": "# kubesched: ignore[one] why"}',
        "a: 1 # kubesched: see the handbook",
        "a: kubesched: ignore[one]",
        "# mykubesched: ignore[one] why",
    ],
)
def test_what_is_no_waiver_is_not_read(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize("text", ["# kubesched: ignore", "# kubesched: ignore[]", "# kubesched: ignore[ , ] why"])
def test_a_waiver_that_names_no_rule_is_read_as_such(text: str) -> None:
    assert [w.rule for w in find_waivers(text)] == [""]


def test_a_slip_in_the_word_does_not_pass_in_silence() -> None:
    assert [w.rule for w in find_waivers("a: 1 # kubesched: ingore[one] why")] == [""]


@pytest.mark.parametrize("reason", ["", " ", " -", ": ", " …", " ---"])
def test_punctuation_is_no_reason(reason: str) -> None:
    assert [w.reason for w in find_waivers(f"a: 1 # kubesched: ignore[one]{reason}")] == [""]


def test_broken_yaml_keeps_the_waivers_of_other_documents() -> None:
    text = (
        "# kubesched: ignore[one] why\na: 1\n---\na: 'x\nb: # kubesched: ignore[two] why\n---\n"
        "a: 1 # kubesched: ignore[three] why\n"
    )
    assert [w.rule for w in find_waivers(text)] == ["one", "three"]


def test_lines_count_from_where_the_text_begins_in_its_file() -> None:
    (waiver,) = find_waivers("\na: 1 # kubesched: ignore[one] why\n", "a.yaml", first_line=7)
    assert (waiver.at.line, waiver.first, waiver.last, waiver.below) == (8, 8, 8, 9)


def test_a_block_of_comments_speaks_for_the_line_below_it() -> None:
    (waiver,) = find_waivers("# kubesched: ignore[one] why\n# more words\n  # and more\na: 1\nb: 2\n")
    assert (waiver.first, waiver.last) == (1, 4)


def test_a_blank_line_ends_the_block() -> None:
    (waiver,) = find_waivers("# kubesched: ignore[one] why\n\na: 1\n")
    assert (waiver.first, waiver.last) == (1, 2)


def test_hostile_text_is_read_in_time() -> None:
    deep = "[" * 20_000 + " # kubesched: ignore[one] why\n"
    assert [w.rule for w in find_waivers(deep)] in ([], ["one"])
    wide = "a: 1 " + "# " * 50_000 + "kubesched: ignore[one] why\n"
    assert [w.rule for w in find_waivers(wide)] == ["one"]
    assert read("a: \x00 # kubesched: ignore[one] why") == []


PIECES = st.sampled_from(
    [
        "a: 1", "b: 'x", "y'", 'c: "x', 'y"', "d: |", "d: >-", "  text", "    deeper", "",
        "e: [1,", "  2]", "f: {g: 1}", "n: 'o'", "p: x]", "r: &s#t 1",
        "- 1", "h:", "  i: j#k", "'q # r'", "---", "# a comment", "  x: |2", "l: &n 1", "m: !!str 1",
    ]
)  # fmt: skip
MARKS = st.sampled_from(
    ["", " # kubesched: ignore[one] why", "# kubesched: ignore[one] why", "\t# kubesched: ignore[one] x"]
)


def events(text: str) -> list[str]:
    return [repr(event) for event in yaml.parse(text, Loader=yaml.SafeLoader)]


@given(st.lists(st.tuples(PIECES, MARKS), min_size=1, max_size=12))
def test_a_comment_is_what_can_change_without_changing_the_data(parts: list[tuple[str, str]]) -> None:
    """The model is the parser: other words in a comment leave what is parsed as it is, in a scalar they do not."""
    lines = [piece + mark for piece, mark in parts]
    text = "\n".join(lines)
    try:
        parsed = events(text)
    except yaml.YAMLError:
        assume(False)
    found = {w.at.line for w in find_waivers(text)}
    for number, line in enumerate(lines, 1):
        if "kubesched:" in line:
            other = [*lines]
            other[number - 1] = line.replace("# kubesched: ignore[one]", "# kubesched: ignore[two]")
            try:
                same = events("\n".join(other)) == parsed
            except yaml.YAMLError:
                same = False
            assert same == (number in found), (text, number)
