"""Validation skips some checks unless an object has one of their fields: without these, they find nothing."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest

from kubesched_lint.engine.apiserver.objects import services
from kubesched_lint.engine.apiserver.pods import podspec
from kubesched_lint.engine.apiserver.values.causes import Cause

Check = Callable[[dict[str, Any]], Iterable[Cause]]
SKIPPED: list[tuple[Check, Callable[..., object], Collection[str]]] = [
    (lambda spec: podspec._names(spec, ()), podspec._names, podspec._NAMES),
    (lambda spec: podspec._choices(spec, ()), podspec._choices, ("restartPolicy", "dnsPolicy")),
    (lambda spec: services._session_affinity(spec), services._session_affinity, ("sessionAffinity",)),
    (lambda spec: services._addresses(spec, ()), services._addresses, services._ADDRESSES),
    (lambda spec: services._load_balancer(spec, "LoadBalancer"), services._load_balancer, services._BALANCED),
    (lambda spec: services._load_balancer(spec, "ClusterIP"), services._load_balancer, services._BALANCED),
    (lambda spec: services._traffic(spec, "NodePort"), services._traffic, services._TRAFFIC),
    (lambda spec: services._traffic(spec, "ClusterIP"), services._traffic, services._TRAFFIC),
]
WORST: list[Any] = ["", "no choice", -1, 0, True, False, [], ["x", "x"], [{"name": "?"}], {}, {"x": "?"}]
"""What a field holds when it is most likely to be refused; a check may stop at a type that decoding refuses before."""


@pytest.mark.parametrize(("check", "function", "fields"), SKIPPED)
def test_without_its_fields_a_check_finds_nothing(
    check: Check, function: Callable[..., object], fields: Collection[str]
) -> None:
    named = {
        node.value
        for node in ast.walk(ast.parse(inspect.getsource(function)))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()
    }
    assert named & set(fields), "the check reads none of its fields"
    assert list(check({})) == []
    for other in named - set(fields):
        for value in WORST:
            try:
                found = list(check({other: value}))
            except (AttributeError, TypeError, KeyError):
                continue
            assert found == [], (other, value)


@pytest.mark.parametrize(("check", "function", "fields"), SKIPPED)
def test_with_its_fields_a_check_finds_something(
    check: Check, function: Callable[..., object], fields: Collection[str]
) -> None:
    """Otherwise the test above would prove nothing."""

    def finds(spec: dict[str, Any]) -> bool:
        try:
            return bool(list(check(spec)))
        except (AttributeError, TypeError, KeyError):
            return False

    assert any(finds({field: value}) for field in fields for value in WORST)
