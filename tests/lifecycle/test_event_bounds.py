"""The least pods of an event are counted only where somebody asks for them."""

from __future__ import annotations

import pytest

from kubesched_lint.lifecycle.event_bounds import Counted, EventBounds


def _never() -> Counted:
    raise AssertionError("nobody needs the least pods here")


def test_too_few_pods_at_most_are_bad_without_the_least() -> None:
    bounds = EventBounds(3, _never, Counted(2, "room for 2"))
    assert bounds.is_bad
    assert not bounds.is_fine
    bounds.leave_least_out()
    assert bounds.is_bad
    assert (bounds.least.pods, bounds.never_stuck) == (0, False)


def test_a_stuck_rollout_is_bad_without_the_least() -> None:
    bounds = EventBounds(3, _never, Counted(3, "all that are wanted"))
    bounds.always_stuck, bounds.never_stuck = True, False
    assert bounds.is_bad


@pytest.mark.parametrize(("least", "is_fine"), [(3, True), (1, False)])
def test_enough_pods_at_most_ask_for_the_least_once(least: int, is_fine: bool) -> None:
    asked = []

    def count() -> Counted:
        asked.append(least)
        return Counted(least, "counted")

    bounds = EventBounds(3, count, Counted(3, "all that are wanted"))
    assert bounds.is_fine is is_fine
    assert bounds.never_stuck is is_fine
    bounds.leave_least_out()
    assert bounds.least == Counted(least, "counted")
    assert asked == [least]
