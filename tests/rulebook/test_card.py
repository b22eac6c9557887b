"""A card is read with its lines, and whatever is wrong with it is said at the right one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubesched_lint.findings import Severity
from kubesched_lint.rulebook.cards.card import faults, parse_card, to_rule
from kubesched_lint.rulebook.cards.frontmatter import CardError, scalar

CardText = Callable[..., str]


def test_a_sound_card_has_no_faults_and_is_a_rule(card_text: CardText) -> None:
    card = parse_card(card_text(), "some-rule.md", "some-rule")
    assert list(faults(card)) == []
    rule = to_rule(card)
    assert (rule.slug, rule.family, rule.severity, rule.evidence) == ("some-rule", "spread", Severity.ERROR, ("proof",))
    assert (rule.needs, rule.features, rule.params, rule.default) == (("nodes",), ("spread",), {"reserve": 0}, "on")
    assert rule.message() == rule.message("whatever") == "{object} has {replicas|replica}"


@pytest.mark.parametrize(
    ("changes", "line", "complaint"),
    [
        ({"severity: error": "severity: fatal"}, 4, "severity: 'fatal' is not one of"),
        ({"summary: ": "sumary: "}, 2, "'summary' is a required property"),
        ({"looks_at:": "look_at:"}, 2, "unknown key `look_at`; did you mean `looks_at`?"),
        ({"[spread]": "[spread, spraed]"}, 7, "'spraed' is not one of"),
        ({"evidence: proof": "evidence: witness"}, 5, "evidence"),
        ({"severity: error\nevidence: proof": "severity: note\nevidence: pattern"}, 2, "'default' is a required"),
        ({"{object} has": "{Object} has"}, 8, "message: a single {"),
        ({"default: 0": "default: none at all"}, 11, "params.reserve: the default 'none at all' is no integer"),
        ({"default: 0": "default: true"}, 11, "params.reserve: the default True is no integer"),
        ({"# some-rule": "# another-rule"}, 14, "the first heading must be # some-rule"),
        ({"## Why it hurts": "## Why"}, 20, "the headings must be"),
        ({"It does.\n": ""}, 20, "nothing is written under Why it hurts"),
        ({'help: "use fewer"': "help: {soft: use fewer}"}, 9, "help: no words for the variant `default`"),
        ({'message: "{object} has {replicas|replica}"': "message: {a: x, b: y}", 'help: "use fewer"': "help: {a: z}"},
         9, "help: no words for the variant `b`"),
        ({"needs: [nodes]": "needs: [nodes]\neach: set"}, 8, "looks_at"),
    ],
)  # fmt: skip
def test_a_fault_is_told_at_its_line(card_text: CardText, changes: dict[str, str], line: int, complaint: str) -> None:
    found = list(faults(parse_card(card_text(changes), "some-rule.md", "some-rule")))
    assert any(error.line == line and complaint in error.message for error in found), found


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("", 1, "starts with its front matter"),
        ("# a heading\n", 1, "starts with its front matter"),
        ("---\nsummary: x\n", 1, "not closed"),
        ("---\nsummary: [x\n---\n", 2, "not YAML"),
        ("---\na: 1\nb: 2\na: 3\n---\n", 4, "`a` is given twice"),
        ("---\n- a\n---\n", 2, "not a mapping"),
        ("---\n? [a]\n: b\n---\n", 2, "a key must be text"),
        ("---\na: \t\x00\n---\n", 2, "not YAML"),
        ("---\na: " + "[" * 5000 + "\n---\n", 2, "nested too deeply"),
        ("---\na: " + "[" * 50 + "]" * 50 + "\n---\n", 2, "nested too deeply"),
        ("---\na: " + "x" * 70_000 + "\n---\n", 2, "longer than 64 KiB"),
        ("---\na: *b\n---\n", 2, "undefined alias"),
        ("---\n" + "a0: &a0 [x]\n" + "".join(
            f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)) + "---\n", 2, "too large"),
    ],
)  # fmt: skip
def test_what_is_no_card_is_one_clear_error(text: str, line: int, complaint: str) -> None:
    with pytest.raises(CardError) as caught:
        parse_card(text, "x.md", "x")
    assert complaint in caught.value.message
    assert str(caught.value).startswith(f"x.md:{line}: ")


def test_tags_are_not_resolved() -> None:
    card = parse_card('---\nsummary: !!python/object/apply:os.system ["true"]\n---\n', "x.md", "x")
    assert card.front.value == {"summary": ["true"]}


@pytest.mark.parametrize(
    ("text", "value"),
    [("on", "on"), ("off", "off"), ("yes", "yes"), ("true", True), ("null", None), ("", None), ("12", 12), ("-3", -3),
     ("010", 10), ("0.1.0", "0.1.0"), ("1.5", 1.5), ("+", "+"), ("1e3", "1e3"), ("x", "x")],
)  # fmt: skip
def test_plain_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


def test_windows_line_ends_change_nothing(card_text: CardText) -> None:
    card = parse_card(card_text().replace("\n", "\r\n"), "some-rule.md", "some-rule")
    assert list(faults(card)) == []


def test_sections_are_found_by_their_titles(card_text: CardText) -> None:
    sections = parse_card(card_text(), "some-rule.md", "some-rule").section_texts
    assert sections["What it finds"] == "Something."
    assert sections["What it cannot see"] == "The rest."
    assert sections["Use instead"] == "```yaml\nkind: B\n```"
