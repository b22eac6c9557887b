"""Selectors of devices that no API server compiles, and those that one may compile."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.apiserver import selectors
from kubesched_lint.engine.apiserver.selectors import refusal
from kubesched_lint.engine.apiserver.validate import validate
from tests.apiserver.test_device_rules import cel, claim, device_class, exactly

MODEL = 'device.attributes["gpu.example.com"].model'
NO_OVERLOAD = "compilation failed: found no matching overload for "
REFUSED = [
    ("", "compilation failed: Syntax error: mismatched input '<EOF>'"),
    ("?!", "compilation failed: Syntax error: extraneous input '?'"),
    ('device.driver = "a"', "compilation failed: Syntax error: token recognition error at: '= '"),
    (f'{MODEL} == "a" and true', "compilation failed: Syntax error: mismatched input 'and' expecting <EOF>"),
    ('device.drivr == "a"', "compilation failed: undefined field 'drivr'"),
    ('"a" in device.labels.x', "compilation failed: undefined field 'labels'"),
    ("foo == 1", "compilation failed: undeclared reference to 'foo'"),
    ('device.attributes[gpu.example.com].model == "a"', "compilation failed: undeclared reference to 'gpu'"),
    (f'{MODEL}.startWith("a")', "compilation failed: undeclared reference to 'startWith'"),
    ("device.driver == 1", f"{NO_OVERLOAD}'_==_' applied to '(string, int)'"),
    (
        'device.capacity["d"].memory >= quantity("1Gi")',
        f"{NO_OVERLOAD}'_>=_' applied to '(kubernetes.Quantity, kubernetes.Quantity)'",
    ),
    ("!device.driver", f"{NO_OVERLOAD}'!_' applied to '(string)'"),
    ("1", "must evaluate to bool or the unknown type, not int"),
    ("device.driver", "must evaluate to bool or the unknown type, not string"),
]
OPEN = [
    "true",
    MODEL,
    'device.driver == "a" || device.allowMultipleAllocations',
    'device.attributes["d"].?model.orValue("x") == "a"',
    'cel.bind(own, device.attributes["d"], own.model == "a")',
    'device.capacity["d"].memory.compareTo(quantity("10Gi")) >= 0',
    'device.attributes["d"].exists_one(name, name == "a")',
    # functions and operands that only Kubernetes has
    f'{MODEL}.includes("a")',
    'ip("1.1.1.1").isCanonical() && isURL("a") && "a".find("[0-9]+") == ""',
    'device.attributes["d"].all(k, v, k != "a" || v == 1)',
    'device.attributes["d"].transformList(k, v, k).size() > 0',
    "optional.of(1).optMap(x, x + 1).hasValue()",
    'format.named("dns1123Label").hasValue()',
    # what our environment takes for another expression
    "has(device.driver) && true",
    'device["driver"] == "a"',
    "dyn(device).driver == 1",
    f"{MODEL} == `a`",
]


@pytest.mark.parametrize(("expression", "why"), REFUSED)
def test_what_no_server_compiles_is_refused(expression: str, why: str) -> None:
    assert refusal(expression) == why


@pytest.mark.parametrize("expression", OPEN)
def test_what_a_server_may_compile_is_not_refused(expression: str) -> None:
    assert refusal(expression) == ""


def test_the_cause_names_the_expression() -> None:
    (found,) = validate(claim(exactly(selectors=[cel("true"), cel("foo")]))).causes
    at = "spec.devices.requests[0].exactly.selectors[1].cel.expression"
    assert str(found) == f"{at}: Invalid value: \"foo\": compilation failed: undeclared reference to 'foo'"
    assert not validate(device_class(selectors=[cel("device.drivr")])).accepted


def test_without_the_library_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "has_cel", lambda: False)
    refusal.cache_clear()
    assert refusal("?!") == ""
    refusal.cache_clear()
