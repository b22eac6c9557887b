"""Values are shared between documents, so what is set aside is set aside in a copy."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kubesched_lint.engine.apiserver.refusals import set_aside
from kubesched_lint.engine.base.places import Path

VALUE: dict[str, Any] = {"a": {"b": [1, {"c": 2}]}, "d": {"e": 3}}


@pytest.mark.parametrize(
    ("path", "instead", "times", "left"),
    [
        (("a", "b"), None, 0, {"a": {}, "d": {"e": 3}}),
        (("a", "b", 0), None, 0, {"a": {"b": [None, {"c": 2}]}, "d": {"e": 3}}),
        (("a", "b", 0), None, 1, {"a": {"b": ["", {"c": 2}]}, "d": {"e": 3}}),
        (("a", "b", 1, "c"), "2", 0, {"a": {"b": [1, {"c": "2"}]}, "d": {"e": 3}}),
    ],
)
def test_only_what_is_on_the_way_is_copied(path: Path, instead: str | None, times: int, left: object) -> None:
    before = deepcopy(VALUE)
    found = set_aside(VALUE, path, instead, times)
    assert found == left
    assert before == VALUE
    assert found["d"] is VALUE["d"]


@pytest.mark.parametrize("path", [(), ("x",), ("a", "b", 2), ("a", "b", "c"), ("d", "e", "f"), ("d", 0)])
def test_what_is_not_there_cannot_be_set_aside(path: Path) -> None:
    assert set_aside(VALUE, path) is VALUE


def test_nothing_is_set_aside_a_third_time() -> None:
    assert set_aside(VALUE, ("a",), times=2) is VALUE
