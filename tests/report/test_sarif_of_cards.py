"""Code scanning accepts the SARIF log of every rule, and of more findings than it takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Finding, Related, Report, Severity, Suppression, pattern
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.report.findings import as_sarif
from kubesched_lint.report.findings.context import CardView, RenderContext, cards_of
from kubesched_lint.rulebook.examples import examples, rules_for
from kubesched_lint.rulebook.library import Rulebook

ROOT = Path(__file__).parent.parent.parent
SCHEMA = Draft4Validator(json.loads((ROOT / "fixtures/sarif/sarif-schema-2.1.0.json").read_bytes()))
BOOK = Rulebook.shipped()
CARDS = cards_of(BOOK)
ONE = Finding(
    "pod-count-limit", Severity.WARNING, "message", "", pattern(),
    ObjectRef("Pod", "", "a"), Location("a.yaml", Span(1, 1, 1, 2)),
)  # fmt: skip


def log_of(report: Report, cards: Callable[[str], CardView | None] = CARDS) -> Any:
    return json.loads("".join(as_sarif.render(report, RenderContext(lambda _: (), cards))))


def test_a_result_of_every_card_is_valid_by_the_oasis_schema() -> None:
    first = [next(e for e in examples(BOOK.card(rule.slug)) if e.has("finding")) for rule in BOOK]
    found = [f for e in first for f in lint_example(e, rules_for(e, BOOK), BOOK).findings if f.rule == e.slug]
    log = log_of(Report(tuple(found)))
    assert {result["ruleId"] for result in log["runs"][0]["results"]} == set(BOOK.rules)
    assert [f"{list(e.absolute_path)}: {e.message}" for e in SCHEMA.iter_errors(log)] == []
    for rule in log["runs"][0]["tool"]["driver"]["rules"]:
        assert len(rule["fullDescription"]["text"]) <= 1024, rule["id"]  # GitHub's limit


@pytest.mark.parametrize("family", ["kubernetes", "scheduling", "preview", "spread", ""])
def test_no_tag_occurs_twice_whatever_the_family_is_called(family: str) -> None:
    card = CardView("pod-count-limit", "summary", Severity.WARNING, family=family, preview=True)
    log = log_of(Report((ONE,)), lambda _: card)
    assert list(SCHEMA.iter_errors(log)) == []
    (rule,) = log["runs"][0]["tool"]["driver"]["rules"]
    assert set(rule["properties"]["tags"]) == {"kubernetes", "scheduling", "preview", family} - {""}


def test_the_most_severe_open_results_stay_and_the_run_counts_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_sarif, "RESULTS_OF_GITHUB", 3)
    waived = replace(ONE, severity=Severity.ERROR, suppressed=Suppression("", known=True), message="known")
    given = (
        *(replace(ONE, severity=Severity.NOTE, message=f"note {n}") for n in range(4)),
        waived,
        replace(ONE, message="warning"),
        replace(ONE, severity=Severity.ERROR, message="error"),
    )
    run = log_of(Report(given))["runs"][0]
    assert sorted(r["message"]["text"] for r in run["results"]) == ["error", "note 0", "warning"]
    assert {r["baselineState"] for r in run["results"]} == {"new"}
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["level"] == "warning"
    assert notification["message"]["text"].startswith("4 results are left off: ")
    assert run["invocations"][0]["executionSuccessful"] is True


def test_as_many_results_as_code_scanning_takes_are_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_sarif, "RESULTS_OF_GITHUB", 3)
    run = log_of(Report((ONE,) * 3))["runs"][0]
    assert len(run["results"]) == 3
    assert run["invocations"][0]["toolExecutionNotifications"] == []


def test_a_log_that_is_too_large_after_gzip_loses_results_until_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_sarif, "BYTES_OF_GITHUB", 3_000)
    noisy = tuple(replace(ONE, message=" ".join(str(hash((n, k))) for k in range(30))) for n in range(40))
    run = log_of(Report(noisy))["runs"][0]
    assert 0 < len(run["results"]) < 20
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith(f"{40 - len(run['results'])} results are left off")


def test_a_result_has_at_most_the_related_places_that_code_scanning_keeps() -> None:
    places = tuple(Related(Location("a.yaml", Span(n, 1, n, 2)), "other") for n in range(1, 1_500))
    (result,) = log_of(Report((replace(ONE, related=places),)))["runs"][0]["results"]
    assert len(result["relatedLocations"]) == as_sarif.RELATED_OF_GITHUB
