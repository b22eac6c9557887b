"""Would it still hold if …? The loop over other worlds, and the table of what findings hang on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.placing.worlds import WhatIf, surviving
from kubesched_lint.engine.scenario.world import World
from kubesched_lint.findings import Report, Severity
from kubesched_lint.linter.what_if import OF_ERRORS, ManifestVariant
from tests.linter.test_duplicate_definitions import ALONE, deployment, report

Row = WhatIf[str]


def row(name: str, *others: World, lowered: str = "") -> Row:
    """A row that is asked in ``others``, and that appends ``lowered`` to what is not found in all of them."""

    def judge(answer: str, world: World, again: Sequence[str | None]) -> str | None:
        return answer if again and None not in again else f"{answer}, {lowered}" if lowered else None

    return WhatIf(name, lambda answer, world: True, judge, lambda answer, world: others)


def found_in(*worlds: World) -> Callable[[str, World], str | None]:
    return lambda answer, world: answer if any(world is one for one in worlds) else None


def world() -> World:
    return World(Inventory())


def test_what_every_other_world_confirms_is_left_as_it_is() -> None:
    here, there, elsewhere = world(), world(), world()
    rows = [row("a", there, lowered="a"), row("b", there, elsewhere, lowered="b")]
    assert surviving("it", here, rows, found_in(there, elsewhere)) == "it"
    assert surviving("it", here, rows, found_in(there)) == "it, b"
    assert surviving("it", here, rows, found_in(elsewhere)) == "it, a, b"


def test_where_no_other_world_can_be_made_nothing_confirms_the_answer() -> None:
    here = world()
    assert surviving("it", here, [row("a", lowered="a")], found_in(here)) == "it, a"


def test_what_a_row_leaves_nothing_of_is_asked_of_no_further_row() -> None:
    asked: list[World] = []

    def ask(answer: str, other: World) -> str | None:
        asked.append(other)
        return None

    there, elsewhere = world(), world()
    assert surviving("it", world(), [row("a", there), row("b", elsewhere, lowered="b")], ask) is None
    assert asked == [there]


def test_a_row_is_asked_in_the_worlds_that_the_row_before_it_was_confirmed_in() -> None:
    here, there = world(), world()
    seen: list[World] = []

    def next_world(answer: str, one: World) -> Sequence[World]:
        seen.append(one)
        return (one,)

    second = WhatIf("b", lambda answer, world: True, lambda answer, world, again: answer, next_world)
    surviving("it", here, [row("a", there, lowered="a"), second], found_in(there))
    surviving("it", here, [row("a", there, lowered="a"), second], found_in(here))
    assert seen == [there, here]


def test_a_row_that_does_not_concern_an_answer_is_passed_over() -> None:
    other = WhatIf("b", lambda answer, world: answer != "it", lambda answer, world, again: None)
    assert surviving("it", world(), [other], found_in()) == "it"


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
