"""Kubernetes quantities as integers: ``250m`` CPU is 250 millicores, ``1Gi`` is 1073741824 bytes.

Mirrors ``k8s.io/apimachinery/pkg/api/resource/quantity.go`` (v1.36): fractions round up, away from zero.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kubesched_lint.engine.model.limits import LONGEST

_FORM = r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?|[eE][+-]?[0-9]+)"
_POWER_OF_TEN = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_POWER_OF_TWO = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_INT64 = (1 << 63) - 1


class QuantityError(ValueError):
    """The text is not a quantity."""


def digits_and_letters(text: str) -> tuple[str, str]:
    """Return ``("250", "m")`` of ``250m``, and ``("", "?")`` of all but ASCII digits with letters of units behind them.

    Nearly all quantities are of this form: compiling the pattern for the others takes half a millisecond.
    """
    digits = text.rstrip("KMGTPEimunke")
    return (digits, text[len(digits) :]) if digits.isdigit() and digits.isascii() else ("", "?")


@lru_cache(maxsize=4096)
def nanos(text: str) -> tuple[int, int]:
    """Return a quantity as an exact fraction ``(numerator, denominator)``.

    Raises QuantityError if the API server's parser refuses the text, and if the text is too long for ours.
    """
    if len(text) > LONGEST:
        raise QuantityError(f"a quantity of {len(text):,} characters: no more than {LONGEST:,} are read")
    sign, digits, suffix = "", *digits_and_letters(text)
    if suffix not in _POWER_OF_TWO and suffix not in _POWER_OF_TEN:
        match = re.fullmatch(_FORM, text)
        if match is None:
            raise QuantityError(
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            )
        sign, digits, suffix = match.groups()
    whole, _, fraction = digits.partition(".")
    numerator = int(f"{whole}{fraction}" or "0")
    denominator = 10 ** len(fraction)
    if suffix in _POWER_OF_TWO:
        numerator <<= _POWER_OF_TWO[suffix]
    else:
        power = _POWER_OF_TEN[suffix] if suffix in _POWER_OF_TEN else int(suffix[1:])
        if abs(power) > 1000:  # hostile exponents must not use up memory; every real one is far smaller
            power = 1000 if power > 0 else -1000
        if power >= 0:
            numerator *= 10**power
        else:
            denominator *= 10**-power
    return (-numerator if sign == "-" else numerator), denominator


def value(text: str | int | float) -> int:
    """Return ``Quantity.Value()``: the number in whole units, rounded up. Raises QuantityError."""
    return _scaled(text, 1)


def milli_value(text: str | int | float) -> int:
    """Return ``Quantity.MilliValue()``: the number in thousandths, rounded up; for CPU, millicores.

    Raises QuantityError.
    """
    return _scaled(text, 1000)


def _scaled(text: str | int | float, factor: int) -> int:
    numerator, denominator = nanos(text if isinstance(text, str) else str(text))
    magnitude = -(-abs(numerator) * factor // denominator)
    magnitude = min(magnitude, _INT64)
    return -magnitude if numerator < 0 else magnitude


_CPU = ("cpu", "requests.cpu", "limits.cpu")
"""Names in a container, and in a ResourceQuota."""


@lru_cache(maxsize=4096)
def resource_value(name: str, text: str | int | float) -> int:
    """Return the scheduler's integer for a resource: millicores for ``cpu``, whole units for all else."""
    return milli_value(text) if name in _CPU else value(text)


def show(name: str, amount: int) -> str:
    """Return an amount for people: ``3920m`` or ``4`` for cpu, ``14.36Gi`` for bytes.

    Bytes are rounded down, so that a message never claims more free space than there is.
    """
    if name == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if name in ("memory", "ephemeral-storage") or name.startswith("hugepages-"):
        for suffix, power in (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)):
            if amount >= 1 << power:
                hundredths = amount * 100 >> power
                return f"{hundredths / 100:.2f}".rstrip("0").rstrip(".") + suffix
    return str(amount)
