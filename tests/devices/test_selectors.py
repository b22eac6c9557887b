"""Selectors with Kubernetes' functions, and without the library."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kubesched_lint.engine.model.devices.devices import Capacity, Device
from kubesched_lint.engine.scheduler.devices.failures import SelectorError, UndecidedError
from kubesched_lint.engine.scheduler.devices.selectors import selectors
from kubesched_lint.engine.scheduler.devices.selectors.selectors import Selectors

DEVICE = Device(
    "gpu-0",
    {
        "model": ("string", "a100"),
        "healthy": ("bool", True),
        "index": ("int", 3),
        "version": ("version", "1.10.0+build"),
        "other.example.com/x": ("int", 1),
    },
    {"memory": Capacity(Fraction(40 << 30))},
)


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "d"',
        'device.attributes["d"].model in ["a100", "h100"]',
        'device.attributes["d"].version.isGreaterThan(semver("1.9.3"))',
        'device.attributes["d"].version == semver("1.10.0")',
        'device.attributes["d"].version.compareTo(semver("1.10.0-rc.1")) == 1',
        'semver("v1.2", true).minor() == 2 && isSemver("1.0.0") && !isSemver("1.0")',
        'device.capacity["d"].memory.compareTo(quantity("40Gi")) == 0',
        'device.capacity["d"].memory == quantity("40960Mi")',
        'device.capacity["d"].memory.sub(quantity("39Gi")).asInteger() == 1073741824',
        'device.capacity["d"].?disk.orValue(quantity("0")).sign() == 0',
        'device.attributes["other.example.com"].x == 1',
        'has(device.attributes["d"].index) && device.attributes["d"].index < 4',
        '!has(device.attributes["nobody"].x)',
        '!("nobody" in device.attributes)',
        'device.attributes["nobody"].?x.orValue(true)',
        'cel.bind(own, device.attributes["d"], own.healthy && own.index == 3)',
        "!device.allowMultipleAllocations",
    ],
)
def test_true_of_the_device(expression: str) -> None:
    assert Selectors().matches(expression, "d", DEVICE)
    assert not Selectors().matches(f"!({expression})", "d", DEVICE)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('device.attributes["d"].slices == 1', "no such key: slices"),
        ('device.attributes["nobody"].slices == 1', "no such key: slices"),
        ('device.capacity["d"].disk.isLessThan(quantity("1"))', "no such key: disk"),
        ('device.attributes["d"].index / 0 == 1', "division by zero"),
    ],
)
def test_a_failure_has_the_words_of_cel_go(expression: str, message: str) -> None:
    with pytest.raises(SelectorError) as error:
        Selectors().matches(expression, "d", DEVICE)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes["d"].model',
        "device.nothing",
        "ip('::1').family() == 6",
        'device.attributes["d"].model > 3',
        "(",
        '"x" in device.attributes ? true : device.attributes["x"].y',
        'device.attributes["x"].?y.orValue(false) || "x" in device.attributes',
    ],
)
def test_what_we_cannot_say_is_undecided(expression: str) -> None:
    with pytest.raises(UndecidedError):
        Selectors().matches(expression, "d", DEVICE)


def test_without_the_library_the_usual_class_selector_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "has_cel", lambda: False)
    assert Selectors().matches(" device.driver == 'd'", "d", DEVICE)
    assert not Selectors().matches('device.driver == "e"', "d", DEVICE)
    with pytest.raises(UndecidedError, match="needs the extra"):
        Selectors().matches('device.attributes["d"].healthy', "d", DEVICE)


@pytest.mark.parametrize("expression", ['device.driver == "d"', 'device.attributes["d"].model == "a100"'])
def test_an_attribute_that_cannot_be_read_fails_every_expression(expression: str) -> None:
    """Upstream converts all attributes before it evaluates."""
    empty = Device("x", {"model": ("string", "a100"), "odd": ("unknown", "")})
    with pytest.raises(SelectorError, match=r"^attribute odd: unsupported attribute value$"):
        Selectors().matches(expression, "d", empty)


LISTED = Device(
    "gpu-0",
    {
        "names": ("strings", ("fish", "bird")),
        "numbers": ("ints", (1, 2)),
        "flags": ("bools", (True,)),
        "versions": ("versions", ("1.0.0", "2.0.0+build")),
        "name": ("string", "fish"),
        "flag": ("bool", True),
        "number": ("int", 1),
    },
)


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ('names.exists(x, x == "fish") && size(device.attributes["d"].names) == 2', True),
        ("numbers.all(x, x > 0)", True),
        ('names == ["fish", "bird"]', True),
        ('names.includes("bird")', True),
        ('names.includes("cat")', False),
        ("numbers.includes(2)", True),
        ("numbers.includes(true)", False),
        ("flags.includes(true)", True),
        ("flags.includes(1)", False),
        ('versions.includes(semver("2.0.0"))', True),
        ('versions.includes(semver("3.0.0"))', False),
        ('versions.exists(v, v.isGreaterThan(semver("1.9.0")))', True),
        ('name.includes("fish")', True),
        ("flag.includes(true)", True),
        ("number.includes(true)", False),
    ],
)
def test_lists_of_values(expression: str, holds: bool) -> None:
    """As the cases about lists and ``includes`` of cel/compile_test.go (v1.36)."""
    assert Selectors().matches(f'device.attributes["d"].{expression}', "d", LISTED) is holds


def test_a_selector_of_too_many_steps_is_undecided_and_shown_in_part() -> None:
    ten = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    text = "true"
    for name in "abcdefg":
        text = f"{ten}.all({name}, {text})"
    with pytest.raises(UndecidedError) as found:
        Selectors().matches(text, "d", DEVICE)
    assert len(str(found.value)) < 200
