"""The shipped cards, and what lint reports of their examples: read and linted once for all tests of a process."""

from __future__ import annotations

from collections.abc import Set
from unittest.mock import patch

from kubesched_lint.findings import Report
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.rulebook.examples import Example, Trial, rules_for
from kubesched_lint.rulebook.rule import Rule, cards_folder

TRIAL = Trial.of(cards_folder())
_LINTED: dict[tuple[str, str], tuple[Report, Set[tuple[str, str]]]] = {}
"""(example, manifest) → what is told of it: most examples are asked for by several tests."""
_worded = Rule.message


def report_of(example: Example) -> Report:
    return _linted(example)[0]


def worded_in(example: Example) -> Set[tuple[str, str]]:
    """Return each rule that words a message about it, with the variant; of a rule with one message that is empty."""
    return _linted(example)[1]


def _linted(example: Example) -> tuple[Report, Set[tuple[str, str]]]:
    key = (str(example), example.manifest)
    if key not in _LINTED:
        shown: set[tuple[str, str]] = set()

        def message(rule: Rule, variant: str = "") -> str:
            shown.add((rule.slug, "" if "" in rule.messages else variant or "default"))
            return _worded(rule, variant)

        with patch.object(Rule, "message", message):
            _LINTED[key] = lint_example(example, rules_for(example, TRIAL.book), TRIAL.book), shown
    return _LINTED[key]
