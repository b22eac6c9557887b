"""Quantities as the API server parses, compares and prints them.

Mirrors ``k8s.io/apimachinery/pkg/api/resource/quantity.go`` (v1.36): ``parseQuantityString``, ``ParseQuantity`` and
``CanonicalizeBytes``. ``engine.model.quantity`` has the scheduler's integers; here the exact value and its spelling in
messages matter.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from kubesched_lint.engine.model.limits import LONGEST
from kubesched_lint.engine.model.quantity import digits_and_letters

_FORM = r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)"
_WRONG_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WRONG_SUFFIX = "unable to parse quantity's suffix"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()}
_GIGA = 10**9


class NotAQuantityError(ValueError):
    """The text is refused; the argument is the message of ``ParseQuantity``."""


class Quantity(Struct, frozen=True):
    """The value in units of 10⁻⁹ (finer parts are rounded away from zero) and the form in which it was written."""

    nanos: int
    form: str = "DecimalSI"
    """``DecimalSI``, ``BinarySI`` or ``DecimalExponent``."""
    written: str = ""
    """The text, if upstream takes it as canonical already."""

    @property
    def is_whole(self) -> bool:
        """Whether ``MilliValue() % 1000 == 0``; thousandths are rounded away from zero."""
        return -(-abs(self.nanos) // 10**6) % 1000 == 0

    @property
    def value(self) -> int:
        """``Value()``: whole units, rounded away from zero."""
        whole = -(-abs(self.nanos) // _GIGA)
        return -whole if self.nanos < 0 else whole

    def __str__(self) -> str:
        if self.written or not self.nanos:
            return self.written or "0"
        sign, size = ("-", -self.nanos) if self.nanos < 0 else ("", self.nanos)
        if self.form == "BinarySI" and size >= 1024 * _GIGA and size % _GIGA == 0:
            whole, power = size // _GIGA, 0
            while whole % 1024 == 0 and power < 60:
                whole, power = whole // 1024, power + 10
            return f"{sign}{whole}{_BINARY_SUFFIX.get(power, '')}"
        power = -9
        while size % 1000 == 0:
            size, power = size // 1000, power + 3
        if self.form == "DecimalExponent":
            return f"{sign}{size}e{power}" if power else f"{sign}{size}"
        return f"{sign}{size}{_DECIMAL_SUFFIX.get(power, '')}"


def quantity(value: object) -> Quantity:
    """Return the quantity of a decoded YAML or JSON scalar. Raises NotAQuantityError."""
    return parse(value if isinstance(value, str) else literal(value))


def in_resource_list(value: object) -> Quantity:
    """Return the same after defaulting, which rounds the entries of a ResourceList up to thousandths."""
    parsed = quantity(value)
    if parsed.nanos % 10**6 == 0:
        return parsed
    size = -(-abs(parsed.nanos) // 10**6) * 10**6
    return Quantity(-size if parsed.nanos < 0 else size, parsed.form)


def literal(value: object) -> str:
    """Return a YAML scalar as kubectl writes it into JSON: a float from 1e-6 to below 1e21 has no exponent."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float) or value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    mantissa, e, exponent = repr(value).partition("e")
    if not e:
        return mantissa
    if abs(value) < 1e-6 or abs(value) >= 1e21:
        return f"{mantissa}e-{exponent[1:].lstrip('0')}" if exponent[0] == "-" else f"{mantissa}e{exponent}"
    places = -int(exponent)
    digits = mantissa.lstrip("-").replace(".", "")
    return ("-" if value < 0 else "") + "0." + "0" * (places - 1) + digits


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    """Return the quantity of a text. Raises NotAQuantityError with the API server's message."""
    text = text.strip()
    if text == "0":
        return Quantity(0, written="0")
    sign, fraction = "", ""
    number, suffix = digits_and_letters(text)
    if not number:
        quantity_match = re.fullmatch(_FORM, text) if text else None
        if quantity_match is None:
            raise NotAQuantityError(_WRONG_FORM)
        sign, number, fraction, suffix = quantity_match.groups("")
    number, fraction = _bounded(number.lstrip("0") or "0", fraction)
    mantissa = int(number + fraction)
    binary = _BINARY.get(suffix)
    if binary is not None:
        size = min(-(-(mantissa * _GIGA << binary) // 10 ** len(fraction)), ((1 << 63) - 1) * _GIGA)
        # A short whole number not divisible by 8 counts as canonical: ``value&0x07 != 0`` in ParseQuantity.
        kept = not fraction and len(number) + binary * 3 // 10 <= 14 and mantissa & 7
        form = "BinarySI" if size >= _GIGA or not size else "DecimalSI"
        return Quantity(-size if sign == "-" else size, form, text if kept else "")
    power = _power_of_ten(suffix)
    scale = power - len(fraction)
    size = mantissa * 10 ** (scale + 9) if scale >= -9 else -(-mantissa // 10 ** -(scale + 9))
    digits = number + fraction
    kept = len(digits) <= 18 and scale >= -9 and scale % 3 == 0 and digits[-3:] != "000" and digits[0] != "0"
    form = "DecimalSI" if suffix in _DECIMAL else "DecimalExponent"
    return Quantity(-size if sign == "-" else size, form, text if kept else "")


def _bounded(number: str, fraction: str) -> tuple[str, str]:
    """Return the digits cut to LONGEST, so that hostile input costs little; the rounding stays the same."""
    if len(number) > LONGEST:
        number = "9" * LONGEST
    if len(fraction) > LONGEST:
        fraction = fraction[:LONGEST] + ("1" if fraction[LONGEST:].strip("0") else "")
    return number, fraction


def _power_of_ten(suffix: str) -> int:
    power = _DECIMAL.get(suffix)
    if power is not None:
        return power
    if len(suffix) > 1 and suffix[0] in "eE":
        try:
            # Hostile exponents must not use up memory; every real one is far smaller.
            return max(-1000, min(1000, int(suffix[1:])))
        except ValueError:
            pass
    raise NotAQuantityError(_WRONG_SUFFIX)
