"""The value of a scalar for kubectl: YAML 1.1 of go-yaml v2, with its octals, booleans, dates and JSON numbers.

``kubectl annotate --local -o json`` (v1.32) confirmed each row of tests/manifests/test_scalars.py. The resolver is
``goyaml.v2/resolve.go`` of sigs.k8s.io/yaml; the keys follow its ``convertToJSONableObject``.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from struct import pack, unpack

Scalar = str | int | float | bool | None

_YES, _NO = "y Y yes Yes YES true True TRUE on On ON", "n N no No NO false False FALSE off Off OFF"
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(_YES.split(), True),
    **dict.fromkeys(_NO.split(), False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
}
_ENDLESS = frozenset(
    [".nan", ".NaN", ".NAN", *(sign + word for word in (".inf", ".Inf", ".INF") for sign in ("", "+", "-"))]
)
# First characters of all text that may be other than a string.
_TELLING = frozenset("yYnNtTfFoO~+-.0123456789")
_LAST_OF_NUMBERS = frozenset("0123456789abcdefABCDEF._")
_INTEGER = r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)|0b[-+][01]+"
_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_BASES = {"0x": 16, "0X": 16, "0b": 2, "0B": 2, "0o": 8, "0O": 8}
_TAGS = {"int": int, "float": float, "bool": bool, "null": type(None)}
_TAG_PREFIX = "tag:yaml.org,2002:"


class ScalarError(ValueError):
    """kubectl refuses the scalar."""


def shown(text: str) -> str:
    """Return the text for a message: quoted, and at most 60 characters."""
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


def resolved(text: str) -> Scalar:
    """Return the value of an untagged plain scalar.

    Raises ScalarError for infinities and NaN, which JSON does not have.
    """
    if not text:
        return None
    first = text[0]
    if first not in _TELLING:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if first in "+-.0123456789":
        number = _number(text)
        if number is not None:
            return _as_json(number)
        if text in _ENDLESS:
            raise ScalarError(f"{text} cannot be written in JSON: kubectl refuses it")
    return text


def _number(text: str) -> int | float | None:
    # go-yaml reads text with a leading dot directly as a float, with underscores: "._1" is a string, ".1_0" is 0.1.
    if text[0] == "." and "_" in text and not re.fullmatch(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+)?", text):
        return None
    if text[-1] not in _LAST_OF_NUMBERS:
        return None  # 250m, 1.36.2-alpine and 10Gi: no need to compile a pattern for them
    digits = text.replace("_", "")
    if len(digits) < 19 and digits.isdigit() and digits.isascii() and digits[0] != "0":
        return int(digits)
    if len(digits) < 100 and re.fullmatch(_INTEGER, digits):
        number = _integer(digits)
        # ParseUint, the second attempt, accepts neither a sign nor go-yaml's own binary prefix.
        if -(1 << 63) <= number < 1 << 63 or (number < 1 << 64 and digits[0] not in "+-"):
            return number
    if re.fullmatch(_FLOAT, digits):
        value = float(digits)
        return value if value - value == 0 else None  # beyond the range of a double it stays a string
    return None


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    bare = digits.lstrip("+-")
    base = _BASES.get(bare[:2])
    if base:
        return sign * int(bare[2:], base)
    return sign * int(bare, 8 if bare[0] == "0" else 10)


def _as_json(number: int | float) -> int | float:
    """Return the number as JSON has it:

    ``1e3`` and ``1000.0`` reach the API server as 1000, ``1 << 63`` as a double.
    """
    if isinstance(number, int):
        return number if number < 1 << 63 else float(number)
    return int(number) if number == number // 1 and -(1 << 63) <= number < 1 << 63 else number


def tagged(tag: str, text: str) -> Scalar:
    """Return the value of a scalar with an explicit tag; an application's own tag leaves the text unchanged.

    Raises ScalarError if the text is not of the tag's type.
    """
    name = tag.removeprefix(_TAG_PREFIX)
    if name == "binary":
        return _binary(text)
    if name not in _TAGS or not tag.startswith(_TAG_PREFIX):
        return text
    number = _number(text) if text and text[0] in "+-.0123456789" else None
    if name == "float" and number is not None:
        return _as_json(number)
    value = resolved(text)
    if name == "int" and isinstance(number, float):
        value = number
    if type(value) is not _TAGS[name]:
        raise ScalarError(f"{shown(text)} is no {name}: kubectl refuses the tag !!{name}")
    return value


def _binary(text: str) -> str:
    try:
        return a2b_base64("".join(text.split()), strict_mode=True).decode("utf-8", "replace")
    except ValueError:
        raise ScalarError("!!binary without valid base64: kubectl refuses it") from None


def key_of(text: str) -> str:
    """Return an untagged plain key as JSON has it.

    Raises ScalarError for null, and for integers beyond 64 signed bits.
    """
    first = text[:1]
    if first not in _TELLING and text:
        return text
    if text in _WORDS:
        return key_text(_WORDS[text])
    number = _number(text) if first in "+-.0123456789" else None
    if number is None:
        return text
    if isinstance(number, float):
        return _short_float(number)
    if number >= 1 << 63:
        raise ScalarError(f"the key {shown(text)} is beyond 64 bits: kubectl refuses it")
    return str(number)


def key_text(value: Scalar) -> str:
    """Return a resolved key as JSON has it. Raises ScalarError for null."""
    if isinstance(value, str):
        return value
    if value is None:
        raise ScalarError("null is no key: kubectl refuses it")
    if isinstance(value, bool):
        return "true" if value else "false"
    return _short_float(value) if isinstance(value, float) else str(value)


def _short_float(value: float) -> str:
    """Return Go's ``FormatFloat(value, 'g', -1, 32)``: the shortest digits of the same single-precision number."""
    single = _single(value)
    if single - single != 0:
        return "-.inf" if single < 0 else ".inf"
    digits = next(d for n in range(9) if _single(float(d := f"{single:.{n}e}")) == single)
    mantissa, _, exponent = digits.partition("e")
    mantissa, power = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa, int(exponent)
    if power < -4 or power >= 6:
        return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"
    places = max(0, len(mantissa.replace(".", "").lstrip("-")) - 1 - power)
    return f"{float(digits):.{places}f}"


def _single(value: float) -> float:
    """Return the nearest single-precision number."""
    try:
        return float(unpack("f", pack("f", value))[0])
    except OverflowError:
        return float("-inf" if value < 0 else "inf")
