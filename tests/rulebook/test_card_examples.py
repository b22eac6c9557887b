"""Every example of every card shows exactly what its marks say, under its own rule and all others of the profile."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.on_text import lint_example
from kubesched_lint.rulebook.examples import Example, failures
from kubesched_lint.rulebook.library import cards_folder
from kubesched_lint.rulebook.trial import Trial

TRIAL = Trial.of(cards_folder())


@pytest.mark.parametrize("example", TRIAL.examples, ids=str)
def test_an_example_shows_what_its_marks_say(example: Example) -> None:
    wrong = [str(failure) for failure in failures(example, TRIAL.book, lint_example)]
    assert not wrong, "\n" + "\n".join(wrong)
