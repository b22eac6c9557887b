"""Strict decoding as in ``sigs.k8s.io/json``: report the first wrong type, else every unknown field.

Most manifests are well formed, so ``conforms`` only tests whether a value is, and allocates nothing. ``decode`` walks
an invalid value again, in the order and words of the Go decoder. It returns the value as the server would store it:
without nulls, with numbers as integers if the type is one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from kubesched_lint.engine.apiserver.values.alike import remembered
from kubesched_lint.engine.apiserver.values.causes import Cause, MapKey, as_json, quoted
from kubesched_lint.engine.apiserver.values.quantities import NotAQuantityError, literal, parse, quantity
from kubesched_lint.engine.apiserver.values.schema import fields, go_type
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import closest

Check = Callable[[Any], bool]
_WIDTH = {"i": 31, "l": 63}
_API_STRICT_ERRORS = 100


@cache
def conforms(version: str, type_name: str) -> Check:
    """Return the predicate of a struct type: no unknown field, no wrong type, no null, nothing to convert."""
    tests: dict[str, Any] = {}
    """Field → its type, if that is all, or its check; for the fields met so far."""

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        try:
            for key, item in value.items():
                test = tests[key]
                # Most fields are strings: a call for each would double the cost.
                if type(item) is not test and (test is str or test is bool or not test(item)):
                    return False
        except KeyError:
            return learns(value) and check(value)
        return True

    def learns(value: dict[Any, Any]) -> bool:
        """Return whether all fields are known; add their tests."""
        known = fields(version, type_name)
        if not known.keys() >= value.keys():
            return False
        for key in value.keys() - tests.keys():
            tests[key] = _TYPES.get(known[key][0]) or _check(version, known[key])
        return True

    return check


_TYPES = {"s": str, "b": bool}


_ALIKE = frozenset(
    (
        "*v1.Probe",
        "*v1.ResourceRequirements",
        "*v1.SecurityContext",
        "[*v1.ContainerPort",
        "[*v1.Toleration",
        "[*v1.VolumeMount",
    )
)
"""Types whose values are nearly the same in all manifests."""


@cache
def _check(version: str, code: str) -> Check:
    return remembered(_fresh(version, code)) if code in _ALIKE else _fresh(version, code)


def _fresh(version: str, code: str) -> Check:
    match code[0]:
        case "*":
            return conforms(version, code[1:])
        case "[":
            return _all_items(_check(version, code[1:]))
        case "{":
            inner = code[1:].partition(":")[0]
            return _all_strings if inner == "s" else _all_values(_check(version, inner))
    return _SCALARS[code[0]]


def _all_items(test: Check) -> Check:
    def check(value: Any) -> bool:
        return type(value) is list and all(map(test, value))

    return check


def _all_strings(value: Any) -> bool:
    if type(value) is not dict:
        return False
    for key, item in value.items():  # noqa: SIM110 - see _all_values
        if type(key) is not str or type(item) is not str:
            return False
    return True


def _all_values(test: Check) -> Check:
    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        # A loop, because all() over a generator takes three times as long on the hot path.
        for key, item in value.items():  # noqa: SIM110
            if type(key) is not str or not test(item):
                return False
        return True

    return check


def _is_quantity(value: Any) -> bool:
    if type(value) is not str:
        return type(value) is int
    try:
        parse(value)
    except NotAQuantityError:
        return False
    return True


def _is_int32(value: Any) -> bool:
    return type(value) is int and -(1 << 31) <= value < 1 << 31


def _is_int64(value: Any) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


_SCALARS: dict[str, Check] = {
    "s": lambda value: type(value) is str,
    "b": lambda value: type(value) is bool,
    "i": _is_int32,
    "l": _is_int64,
    "q": _is_quantity,
    "x": lambda value: type(value) is str or _is_int32(value),
    # The most frequent null is kubectl's ``creationTimestamp: null``, and no rule reads a time.
    "t": lambda value: value is None or (type(value) is str and _is_time(value)),
    "r": lambda value: True,
}


def _is_time(text: str) -> bool:
    """Return whether the text is RFC 3339, as ``time.Parse`` accepts it."""
    date, separator, rest = text[:10], text[10:11], text[11:]
    clock, zone = (rest[:-1], "Z") if rest[-1:] == "Z" else (rest[:-6], rest[-6:])
    numbers = (date[:4], date[5:7], date[8:10], clock[:2], clock[3:5], clock[6:8])
    return (
        separator == "T"
        and date[4:5] + date[7:8] + clock[2:3] + clock[5:6] == "--::"
        and all(n.isascii() and n.isdigit() for n in numbers)
        and (len(clock) == 8 or (clock[8] in ".," and clock[9:].isdigit()))
        and (zone == "Z" or (zone[0] in "+-" and zone[3] == ":" and (zone[1:3] + zone[4:]).isdigit()))
    )


class _AbortError(Exception):
    """A type that decodes itself failed: the decoder stops at once and drops all errors before it."""


class _State:
    __slots__ = ("unknown", "version", "wrong_type")

    def __init__(self, version: str) -> None:
        self.version = version
        self.wrong_type: Cause | None = None
        self.unknown: list[Cause] = []


def decode(value: object, version: str, type_name: str) -> tuple[Any, tuple[Cause, ...], str]:
    """Return the value as the server would store it, or the causes and the message of a 400 (without its start)."""
    state = _State(version)
    try:
        decoded = _decode(value, f"*{type_name}", (), (), "", state)
    except _AbortError as stop:
        cause: Cause = stop.args[0]
        return None, (cause,), cause.message
    if state.wrong_type is not None:
        return None, (state.wrong_type,), state.wrong_type.message
    unknown = state.unknown[:_API_STRICT_ERRORS]
    message = "strict decoding error: " + ", ".join(cause.message for cause in unknown) if unknown else ""
    return decoded, tuple(unknown), message


def _decode(value: object, code: str, path: Path, stack: tuple[str, ...], owner: str, state: _State) -> Any:
    """Return the decoded value; errors use ``stack`` (field names down to here) and ``owner`` (innermost struct)."""
    match code[0]:
        case "*" if isinstance(value, dict):
            return _struct(value, code[1:], path, stack, state)
        case "[" if isinstance(value, list):
            zero = _zero(code[1:])
            decoded = (_decode(item, code[1:], (*path, i), stack, owner, state) for i, item in enumerate(value))
            return [zero if item is None else item for item in decoded]
        case "{" if isinstance(value, dict):
            return _map(value, code, path, stack, owner, state)
        case "q" | "x" | "t":
            return _self_decoding(value, code, path, stack, owner)
        case "r":
            return value
    if value is None:
        return None
    if code[0] in _WIDTH and isinstance(value, (int, float)) and not isinstance(value, bool):
        if _fits(value, code[0]):
            return int(value)
        _note(f"number {literal(value)}", code, path, stack, owner, state)
    elif not _SCALARS.get(code[0], lambda _: False)(value):
        _note(_json_type(value), code, path, stack, owner, state)
    return value


def _struct(value: dict[Any, Any], type_name: str, path: Path, stack: tuple[str, ...], state: _State) -> dict[str, Any]:
    known = fields(state.version, type_name)
    owner = type_name.partition(".")[2]
    decoded = {}
    for key, item in value.items():
        name = key if isinstance(key, str) else literal(key)
        code = known.get(name)
        if code is None:
            at = _strict_path(path, name)
            state.unknown.append(
                Cause(at, "", f"unknown field {quoted(at)}", (*path, key), _nearest_field(name, known, value))
            )
            continue
        field_value = _decode(item, code, (*path, key), (*stack, name), owner, state)
        if field_value is not None:
            decoded[name] = field_value
    return decoded


def _map(
    value: dict[Any, Any], code: str, path: Path, stack: tuple[str, ...], owner: str, state: _State
) -> dict[str, Any]:
    inner = code[1:].partition(":")[0]
    decoded = {}
    for key, item in value.items():
        entry = _decode(item, inner, (*path, MapKey(key) if isinstance(key, str) else key), stack, owner, state)
        decoded[key if isinstance(key, str) else literal(key)] = _zero(inner) if entry is None else entry
    return decoded


def _self_decoding(value: object, code: str, path: Path, stack: tuple[str, ...], owner: str) -> Any:
    """Return a Quantity, IntOrString or Time. Raises _AbortError."""
    if value is None:
        return None
    context = f"json: cannot unmarshal {{}} into Go struct field {owner}.{'.'.join(stack)} of type {{}}"
    message = ""
    if code == "q":
        try:
            quantity(as_json(value) if isinstance(value, (dict, list)) else value)
        except NotAQuantityError as error:
            message = str(error)
            raise _AbortError(Cause("", "", message, path)) from None
        return value
    if code == "t":
        if isinstance(value, str) and _is_time(value):
            return value
        if isinstance(value, str):
            layout = "2006-01-02T15:04:05Z07:00"
            message = f'parsing time {quoted(value)} as "{layout}": cannot parse {quoted(value)} as "2006"'
            raise _AbortError(Cause("", "", message, path))
        raise _AbortError(Cause(".".join(stack), "", context.format(_json_type(value), "string"), path))
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if _fits(value, "i"):
            return int(value)
        raise _AbortError(Cause(".".join(stack), "", context.format(f"number {literal(value)}", "int32"), path))
    raise _AbortError(Cause(".".join(stack), "", context.format(_json_type(value), "int32"), path))


def _note(shown: str, code: str, path: Path, stack: tuple[str, ...], owner: str, state: _State) -> None:
    if state.wrong_type is None:
        at = ".".join(stack)
        message = f"json: cannot unmarshal {shown} into Go struct field {owner}.{at} of type {go_type(code)}"
        state.wrong_type = Cause(at, "", message, path)


def _fits(value: int | float, code: str) -> bool:
    """Return whether kubectl's JSON of the number parses as an integer of that width (it writes ``3.0`` as ``3``)."""
    limit = 1 << _WIDTH[code]
    return value == value and abs(value) != float("inf") and value == int(value) and -limit <= value < limit


def _json_type(value: object) -> str:
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
    return "number"


def _zero(code: str) -> Any:
    return {"*": {}, "s": "", "[": [], "{": {}, "b": False, "q": "0"}.get(code[0], 0)


def _strict_path(path: Path, name: str) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return f"{text}.{name}" if text else name


def _nearest_field(name: str, known: dict[str, str], siblings: dict[Any, Any]) -> str:
    """Return the field of this type with the same name in another case, or else a similar name; empty without any."""
    lowered = name.lower()
    for candidate in known:
        if candidate.lower() == lowered:
            return candidate
    return closest(name, (candidate for candidate in known if candidate not in siblings), 0.75)
