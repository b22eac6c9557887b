"""Upstream's table tests of the allocator, all of them: passed, failed and not modelled."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kubesched_lint.engine.scheduler.devices import answers
from kubesched_lint.engine.scheduler.devices.allocator import Search
from kubesched_lint.engine.scheduler.devices.answers import NOT_ALL
from kubesched_lint.engine.scheduler.devices.failures import UndecidedError
from tests.devices.retold import Value, answer, cases, expected, gives

OF_A_GATE = {
    "DRAAdminAccess": 1,
    "DRAConsumableCapacity": 2,
    "DRADeviceBindingConditions": 1,
    "DRADeviceTaints": 4,
    "DRAListTypeAttributes": 2,
    "DRAPartitionableDevices": 2,
    "DRAPrioritizedList": 1,
}
"""Cases with a gate off that is on by default, or on that is off."""


def passes(case: Value) -> bool:
    found = answer(case)
    if "error" in case:
        return case["error"] in found.reason
    return found.reason in ("", NOT_ALL) and gives(found) == expected(case)


MODELLED = {name: case for name, case in cases().items() if "unmodelled" not in case}


@pytest.mark.parametrize("name", MODELLED)
def test_case(name: str) -> None:
    assert passes(MODELLED[name])


def test_every_case_is_counted() -> None:
    reasons = Counter(case["unmodelled"] for case in cases().values() if "unmodelled" in case)
    gates = {reason.split()[2].rstrip(","): n for reason, n in reasons.items() if reason.startswith("the gate ")}
    assert (len(cases()), len(MODELLED)) == (223, 204)
    assert gates == OF_A_GATE
    assert sum(reasons.values()) - sum(gates.values()) == 6  # three timeouts, three expressions that do not compile


def test_a_case_that_is_not_modelled_differs() -> None:
    """A case leaves the list as soon as it passes."""
    for name, case in cases().items():
        if "unmodelled" in case and "classes" in case:
            try:
                assert not passes(case), name
            except UndecidedError:
                continue


class Counting(Search):
    """Counts what upstream counts: calls of allocateOne, which does the work of three of our functions."""

    steps = 0

    def _claim(self, c: int) -> bool:
        Counting.steps += c >= len(self._claims)
        return super()._claim(c)

    def _request(self, c: int, r: int) -> bool:
        Counting.steps += 1
        return super()._request(c, r)

    def _device(self, c: int, r: int, ask: Any, n: int, start: int) -> bool:
        Counting.steps += n > 0 or bool(ask.names[1])
        return super()._device(c, r, ask, n, start)


def test_the_search_takes_as_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only the result is the same, but also when the search turns back."""
    monkeypatch.setattr(answers, "Search", Counting)
    counted: dict[str, tuple[int, int]] = {}
    for name, case in MODELLED.items():
        if "steps" in case:
            Counting.steps = 0
            answer(case)
            counted[name] = Counting.steps, case["steps"]
    assert len(counted) == 9
    assert [name for name, (ours, theirs) in counted.items() if ours != theirs] == []
