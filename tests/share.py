"""Many drawn or enumerated cases: CI tries a share with each kind in it, ``just test-all`` tries all.

``python -m pytest`` tries what CI does; ``python -m pytest -m ''`` tries all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """Values of one parameter of which CI tries the first ``count``."""
    return [_left(case, number >= count) for number, case in enumerate(cases)]


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """Values of one parameter of which CI tries every so many."""
    return [_left(case, number % step > 0) for number, case in enumerate(cases)]


def _left(case: Any, is_left: bool) -> Any:
    return pytest.param(case, marks=pytest.mark.thorough) if is_left else case
