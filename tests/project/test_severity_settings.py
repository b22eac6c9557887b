"""What a user sets of a severity: it may be lowered at will, and raised only as far as what the check itself says."""

from __future__ import annotations

import pytest

from kubesched_lint.findings import Evidence, Hazard, Severity, pattern, proof, witness
from kubesched_lint.linter.results.rule_results import severity_of
from kubesched_lint.rulebook.library import Rulebook

BOOK = Rulebook.shipped()
NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR


@pytest.mark.parametrize(
    ("card", "said", "evidence", "wanted", "becomes"),
    [
        (ERROR, None, proof("p"), None, ERROR),
        (ERROR, None, proof("p"), NOTE, NOTE),
        (ERROR, None, witness("w"), None, WARNING),
        (ERROR, None, pattern(), ERROR, WARNING),
        (WARNING, None, proof("p"), ERROR, ERROR),
        (WARNING, None, witness("w"), ERROR, WARNING),
        (ERROR, WARNING, proof("p"), ERROR, WARNING),
        (WARNING, ERROR, proof("p"), None, ERROR),
        (WARNING, ERROR, proof("p"), WARNING, WARNING),
        (ERROR, NOTE, proof("p"), WARNING, NOTE),
    ],
)
def test_the_users_word_the_cards_and_the_checks(
    card: Severity, said: Severity | None, evidence: Evidence, wanted: Severity | None, becomes: Severity
) -> None:
    rule = next(rule for rule in BOOK if rule.severity is card and "proof" in rule.evidence)
    assert severity_of(rule, Hazard(("spec",), evidence, severity=said), wanted) is becomes
