"""Would it still hold if …? The loop over other scenarios, and the table of what findings hang on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.placing.scenarios import WhatIf, surviving
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Report, Severity
from kubesched_lint.linter.premises.what_if import OF_ERRORS, ManifestVariant
from tests.linter.test_duplicate_definitions import ALONE, deployment, report

Row = WhatIf[str]


def row(name: str, *others: Scenario, lowered: str = "") -> Row:
    """A row that is asked in ``others``, and that appends ``lowered`` to what is not found in all of them."""

    def judge(answer: str, scenario: Scenario, again: Sequence[str | None]) -> str | None:
        return answer if again and None not in again else f"{answer}, {lowered}" if lowered else None

    return WhatIf(name, lambda answer, scenario: True, judge, lambda answer, scenario: others)


def found_in(*scenarios: Scenario) -> Callable[[str, Scenario], str | None]:
    return lambda answer, scenario: answer if any(scenario is one for one in scenarios) else None


def scenario() -> Scenario:
    return Scenario(Inventory())


def test_what_every_other_scenario_confirms_is_left_as_it_is() -> None:
    here, there, elsewhere = scenario(), scenario(), scenario()
    rows = [row("a", there, lowered="a"), row("b", there, elsewhere, lowered="b")]
    assert surviving("it", here, rows, found_in(there, elsewhere)) == "it"
    assert surviving("it", here, rows, found_in(there)) == "it, b"
    assert surviving("it", here, rows, found_in(elsewhere)) == "it, a, b"


def test_where_no_other_scenario_can_be_made_nothing_confirms_the_answer() -> None:
    here = scenario()
    assert surviving("it", here, [row("a", lowered="a")], found_in(here)) == "it, a"


def test_what_a_row_leaves_nothing_of_is_asked_of_no_further_row() -> None:
    asked: list[Scenario] = []

    def ask(answer: str, other: Scenario) -> str | None:
        asked.append(other)
        return None

    there, elsewhere = scenario(), scenario()
    assert surviving("it", scenario(), [row("a", there), row("b", elsewhere, lowered="b")], ask) is None
    assert asked == [there]


def test_a_row_is_asked_in_the_scenarios_that_the_row_before_it_was_confirmed_in() -> None:
    here, there = scenario(), scenario()
    seen: list[Scenario] = []

    def next_scenario(answer: str, one: Scenario) -> Sequence[Scenario]:
        seen.append(one)
        return (one,)

    second = WhatIf("b", lambda answer, scenario: True, lambda answer, scenario, again: answer, next_scenario)
    surviving("it", here, [row("a", there, lowered="a"), second], found_in(there))
    surviving("it", here, [row("a", there, lowered="a"), second], found_in(here))
    assert seen == [there, here]


def test_a_row_that_does_not_concern_an_answer_is_passed_over() -> None:
    other = WhatIf("b", lambda answer, scenario: answer != "it", lambda answer, scenario, again: None)
    assert surviving("it", scenario(), [other], found_in()) == "it"


# --- findings -------------------------------------------------------------------------------------------------------

PAUSED = deployment(1, name="later").replace("app: web", "app: later").replace("spec:\n", "spec:\n  paused: true\n", 1)
DEFAULTS = """apiVersion: v1
kind: LimitRange
metadata: {name: defaults, namespace: shop}
spec: {limits: [{type: Container, defaultRequest: {cpu: CPU}}]}
"""
TWICE = {"a/defaults.yaml": DEFAULTS.replace("CPU", "100"), "b/defaults.yaml": DEFAULTS.replace("CPU", "1m")}
REFUSED = deployment(1, name="wrong").replace("labels: {app: web}", "labels: {app: other}")
CHOSEN = "of the objects that are defined more than once, the definitions that cause this finding are applied"


def premises(found: Report, name: str) -> set[tuple[str, ...]]:
    return {f.evidence.assumes for f in found.findings if f.object.name == name and f.rule != "api-would-reject"}


@pytest.mark.parametrize("more", [{}, {"c/later.yaml": PAUSED}, {"c/wrong.yaml": REFUSED}])
def test_a_finding_that_hangs_on_one_definition_says_so_whatever_else_is_in_the_set(more: dict[str, str]) -> None:
    found = report({"web.yaml": deployment(4), **TWICE, **more})
    (assumed,) = premises(found, "web")
    assert CHOSEN in assumed
    assert all(f.severity < Severity.ERROR for f in found.findings if f.object.name == "web")


def test_an_error_of_one_definition_stays_one_beside_what_is_suspended_and_refused() -> None:
    files = {"a/web.yaml": deployment(4, ALONE), "b/web.yaml": deployment(2), "c.yaml": PAUSED, "d.yaml": REFUSED}
    (error,) = [f for f in report(files).findings if f.rule == "anti-affinity-exceeds-domains"]
    assert (error.location.path, error.severity) == ("a/web.yaml", Severity.ERROR)


def test_a_plain_set_needs_no_row() -> None:
    assert ManifestVariant(Inventory(), ()).rows == []
    assert len({one.name for one in OF_ERRORS}) == len(OF_ERRORS)
