"""The rules about devices as they will be once they are stable: their proofs are errors, and no run refutes one."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.findings import Severity
from kubesched_lint.linter import refuting
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.record import replace
from kubesched_lint.rulebook.examples import Example, examples, rules_for
from kubesched_lint.rulebook.library import Rule, Rulebook

BOOK = Rulebook.shipped()
PROVING = [rule for rule in BOOK if rule.family == "devices" and "proof" in rule.evidence]
SHOWN = [e for rule in PROVING for e in examples(BOOK.card(rule.slug)) if e.has("finding")]


def stable(rule: Rule) -> Rule:
    return replace(rule, preview=False, severity=Severity.ERROR) if rule in PROVING else rule


@pytest.mark.parametrize("example", SHOWN, ids=str)
def test_proofs_are_errors_that_no_run_refutes(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refuting, "raising", True)
    rules = [stable(rule) for rule in rules_for(example, BOOK)]
    own = [f for f in lint_example(example, rules, BOOK).findings if f.rule == example.slug]
    proven = {f.message for f in own if f.evidence.kind == "proof"}
    assert own
    assert {f.message for f in own if f.severity is Severity.ERROR} == proven


def test_every_rule_shows_a_proof() -> None:
    def proven(example: Example) -> set[str]:
        report: Any = lint_example(example, rules_for(example, BOOK), BOOK)
        return {f.rule for f in report.findings if f.evidence.kind == "proof"}

    assert {rule.slug for rule in PROVING} <= set().union(*map(proven, SHOWN))
