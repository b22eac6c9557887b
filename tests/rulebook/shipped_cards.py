"""The shipped cards, and what lint reports of their examples: read and linted once for all tests of a process."""

from __future__ import annotations

from kubesched_lint.findings import Report
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.rulebook.examples import Example, Trial, rules_for
from kubesched_lint.rulebook.rule import cards_folder

TRIAL = Trial.of(cards_folder())
_REPORTS: dict[tuple[str, str], Report] = {}
"""(example, manifest) → its report: most examples are asked for by several tests."""


def report_of(example: Example) -> Report:
    key = (str(example), example.manifest)
    if key not in _REPORTS:
        _REPORTS[key] = lint_example(example, rules_for(example, TRIAL.book), TRIAL.book)
    return _REPORTS[key]
