"""Every example of every card shows exactly what its marks say, under its own rule and all others of the profile."""

from __future__ import annotations

import pytest

from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.rulebook.examples import Example, failures, rules_for
from kubesched_lint.rulebook.rule import Rule
from tests.rulebook.shipped_cards import TRIAL, report_of


@pytest.mark.parametrize("example", TRIAL.examples, ids=str)
def test_an_example_shows_what_its_marks_say(example: Example) -> None:
    wrong = [str(failure) for failure in failures(example, TRIAL.book, lambda *_: report_of(example))]
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_variant_of_a_message_is_shown_by_some_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no example words may hold a placeholder that the check does not fill."""
    shown: set[tuple[str, str]] = set()
    worded = Rule.message

    def message(rule: Rule, variant: str = "") -> str:
        shown.add((rule.slug, "" if "" in rule.messages else variant or "default"))
        return worded(rule, variant)

    monkeypatch.setattr(Rule, "message", message)
    for example in TRIAL.examples:
        lint_example(example, rules_for(example, TRIAL.book), TRIAL.book)
    assert {(rule.slug, variant) for rule in TRIAL.book for variant in rule.messages} - shown == set()
