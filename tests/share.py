"""Many drawn or enumerated cases: CI tries a share with each kind in it, ``just test-all`` tries all.

``python -m pytest`` tries what CI does; ``python -m pytest -m ''`` tries all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

LEFT = pytest.StashKey[list[pytest.Item]]()
"""The tests that a run leaves out."""
is_part = False
"""Whether this run leaves out what is thorough; tests/conftest.py sets it before it collects."""
_STEP = 6


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """Cases for ``parametrize``, of which CI tries the first ``count``; a tuple has the values of several names."""
    return [_left(case) if number >= count else case for number, case in enumerate(cases)]


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """Cases for ``parametrize``, of which CI tries the first and then every so many."""
    return [_left(case) if number % step else case for number, case in enumerate(cases)]


def _left(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.thorough)


def examples(count: int) -> int:
    """Return how many examples a test draws: in CI a sixth of them; ``EXAMPLES=3000 pytest FILE`` draws so many."""
    return int(os.environ.get("EXAMPLES", -(-count // _STEP) if is_part else count))


def some(cases: Iterable[Any], step: int = _STEP) -> list[Any]:
    """Return the cases of a loop: in CI every sixth, or every so many."""
    return list(cases)[:: step if is_part else 1]
