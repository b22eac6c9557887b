"""The rules that we ship: no card without a check, no check without a card, nothing generated that is stale."""

from __future__ import annotations

import ast
import inspect

import pytest

from kubesched_lint.rulebook._generated import RULES
from kubesched_lint.rulebook.cards.card import Card, to_rule
from kubesched_lint.rulebook.examples import examples
from kubesched_lint.rulebook.library import Rulebook, cards_folder, checks_folder
from kubesched_lint.rulebook.loading import card_files
from kubesched_lint.rulebook.rule import Rule, module_name
from tests.rulebook.shipped_cards import TRIAL

CARDS, FAULTS = TRIAL.cards, TRIAL.faults
FIRST_ARGUMENTS = {
    "workload": ["it"],
    "set": ["scenario"],
    "waiver": ["waiver", "use"],
    "document": ["document", "scenario"],
}


def by_slug(card: Card) -> str:
    return card.slug


def test_every_card_is_sound_and_shows_a_finding_and_a_silence() -> None:
    assert [str(fault) for fault in FAULTS] == []
    assert len(CARDS) == len(card_files(cards_folder())) > 0


def test_every_check_has_a_card() -> None:
    checks = {file.stem for file in checks_folder().glob("*.py") if not file.stem.startswith("_")}
    assert checks - {module_name(card.slug) for card in CARDS} == set()


@pytest.mark.parametrize("card", CARDS, ids=by_slug)
def test_what_a_rule_cannot_see_is_shown_by_an_example(card: Card) -> None:
    """``test_card_examples`` runs it: silence, or a finding whose severity or other rule says what the prose says."""
    (limits,) = (heading.line for heading in card.headings if heading.title == "What it cannot see")
    shown = [example for example in examples(card) if example.line > limits]
    assert shown
    for example in shown:
        assert all(mark.severity for mark in example.marks if mark.kind == "finding"), "how severe is it there?"


@pytest.mark.parametrize("rule", [to_rule(card) for card in CARDS], ids=lambda rule: str(rule.slug))
def test_a_check_takes_what_its_card_says(rule: Rule) -> None:
    parameters = inspect.signature(rule.check()).parameters.values()
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    assert positional == FIRST_ARGUMENTS[rule.each]
    assert {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} == set(rule.params)
    assert all(p.default is p.empty for p in parameters), "defaults belong into the card"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.slug))
def test_a_card_promises_the_fix_that_stands_beside_the_check(rule: Rule) -> None:
    fix = getattr(inspect.getmodule(rule.check()), "fix", None)
    assert bool(rule.fix) == (fix is not None)
    if fix is not None:
        names = list(inspect.signature(rule.mend()).parameters)
        rest = {"document": ["document", "scenario"], "set": ["source", "scenario"]}.get(rule.each, ["it"])
        assert names == ["hazard", *rest]


def test_no_rule_is_named_outside_its_card_and_its_check() -> None:
    """What the engine does for one rule alone is a key of its card, so that another rule may ask for it too."""
    slugs, package = {rule.slug for rule in RULES}, checks_folder().parent
    for file in package.rglob("*.py"):
        if file.parent != checks_folder() and not file.read_text(encoding="utf-8").startswith('"""All shipped rules.'):
            constants = {n.value for n in ast.walk(ast.parse(file.read_bytes())) if isinstance(n, ast.Constant)}
            assert not constants & slugs, file


def test_the_index_says_what_the_cards_say() -> None:
    assert tuple(to_rule(card) for card in CARDS) == RULES


def test_slugs_families_and_former_slugs_never_collide() -> None:
    book = Rulebook.shipped()
    slugs = [rule.slug for rule in book]
    former = [old for rule in book for old in rule.formerly]
    assert len({*slugs, *former, *book.families}) == len(slugs) + len(former) + len(book.families)


def test_yielding_goes_round_in_no_circle() -> None:
    book = Rulebook.shipped()
    for rule in book:
        reached: set[str] = set()
        ahead = [*rule.yields_to, *rule.yields_here_to]
        while ahead:
            slug = ahead.pop()
            if slug not in reached:
                reached.add(slug)
                ahead.extend((*book.get(slug).yields_to, *book.get(slug).yields_here_to))
        assert rule.slug not in reached, f"{rule.slug} yields to itself by way of {sorted(reached)}"


def test_no_rule_goes_by_what_one_in_preview_says() -> None:
    """A finding of a stable rule stays beside one in preview: see tests/linter/test_one_device_one_finding.py."""
    assert not [rule.slug for rule in Rulebook.shipped() if rule.preview and rule.refuses]


def test_an_editor_asks_only_what_one_file_answers() -> None:
    rules = Rulebook.shipped().select("editor")
    assert len(rules) > 20
    assert {need for rule in rules for need in rule.needs} == {"text"}
    assert {rule.each for rule in rules} == {"workload", "document", "waiver"}


def test_a_card_is_found_by_its_slug() -> None:
    book = Rulebook.shipped()
    assert book.card("anti-affinity-exceeds-domains").slug == "anti-affinity-exceeds-domains"
    assert [card.slug for card in book.cards()] == [rule.slug for rule in RULES]


def test_loading_the_index_reads_no_card_and_imports_no_check() -> None:
    import subprocess
    import sys

    script = (
        "import sys; from kubesched_lint.rulebook.library import Rulebook; Rulebook.shipped().select('ci');"
        "print([m for m in sys.modules if m.startswith(('kubesched_lint.checks.', 'yaml', 'jsonschema', 'rich'))])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
