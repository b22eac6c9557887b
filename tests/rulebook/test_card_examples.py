"""Every example of every card shows exactly what its marks say, under its own rule and all others of the profile."""

from __future__ import annotations

import pytest

from kubesched_lint.rulebook.examples import Example, failures
from tests.rulebook.shipped_cards import TRIAL, report_of, worded_in


@pytest.mark.parametrize("example", TRIAL.examples, ids=str)
def test_an_example_shows_what_its_marks_say(example: Example) -> None:
    wrong = [str(failure) for failure in failures(example, TRIAL.book, lambda *_: report_of(example))]
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_variant_of_a_message_is_shown_by_some_example() -> None:
    """What no example words may hold a placeholder that the check does not fill."""
    shown = set().union(*map(worded_in, TRIAL.examples))
    assert {(rule.slug, variant) for rule in TRIAL.book for variant in rule.messages} - shown == set()
