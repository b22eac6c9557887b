"""One field error in the API server's own words, with its position in the manifest.

Mirrors ``k8s.io/apimachinery/pkg/util/validation/field/errors.go`` (v1.36).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from kubesched_lint.engine.base.places import Path


class MapKey(str):
    """A step into a map: ``requests[cpu]``; as a field it would read ``requests.cpu``."""

    __slots__ = ()


class Raw(str):
    """A value already written as the message shows it."""

    __slots__ = ()


class Cause(Struct, frozen=True):
    """``field`` and ``message`` as the API server sends them; ``path`` is the position in the manifest.

    ``field`` is empty if the server names none. It differs from ``path`` if upstream names another place than it means
    (template labels, ``matchLabelKeys``). ``suggestion`` is ours: the field that was probably meant.
    """

    field: str
    reason: str
    message: str
    path: Path
    suggestion: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def field_of(path: Path) -> str:
    """Return a path as field.Path prints it: ``spec.containers[0].resources.requests[cpu]``."""
    text = ""
    for step in path:
        if isinstance(step, (int, MapKey)):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def required(path: Path, detail: str = "", *, field: str | None = None) -> Cause:
    return _cause(path, "FieldValueRequired", "Required value", detail, field)


def forbidden(path: Path, detail: str, *, field: str | None = None) -> Cause:
    return _cause(path, "FieldValueForbidden", "Forbidden", detail, field)


def invalid(path: Path, value: object, detail: str, *, field: str | None = None) -> Cause:
    return _cause(path, "FieldValueInvalid", f"Invalid value: {shown(value)}", detail, field)


def duplicate(path: Path, value: object, *, field: str | None = None) -> Cause:
    return _cause(path, "FieldValueDuplicate", f"Duplicate value: {shown(value)}", "", field)


def not_found(path: Path, value: object, detail: str = "", *, field: str | None = None) -> Cause:
    return _cause(path, "FieldValueNotFound", f"Not found: {shown(value)}", detail, field)


def not_supported(path: Path, value: object, supported: Iterable[str], *, field: str | None = None) -> Cause:
    """Return a cause; ``supported`` is in the order of the message: sorted if upstream keeps a set."""
    listed = "supported values: " + ", ".join(map(quoted, supported))
    return _cause(path, "FieldValueNotSupported", f"Unsupported value: {shown(value)}", listed, field)


def too_long(path: Path, limit: int, *, field: str | None = None) -> Cause:
    return _cause(path, "FieldValueTooLong", "Too long", f"may not be more than {limit} bytes", field)


def too_many(path: Path, count: int, limit: int, *, field: str | None = None) -> Cause:
    return _cause(
        path,
        "FieldValueTooMany",
        f"Too many: {count}",
        f"must have at most {limit} item{'' if limit == 1 else 's'}",
        field,
    )


def one_of(path: Path, value: str, supported: Sequence[str], *, field: str | None = None) -> Sequence[Cause]:
    """Return the refusal of an enumerated value that is not among ``supported``, which is in the message's order."""
    return () if value in supported else (not_supported(path, named(value), supported, field=field),)


def complaints(path: Path, value: object, details: Iterable[str], *, field: str | None = None) -> Sequence[Cause]:
    """Return one refusal of a value for each complaint of a rule for names (``engine.apiserver.values.names``).

    ``path`` and ``value`` are computed for valid values too: where that is costly, callers loop themselves.
    """
    return [invalid(path, value, detail, field=field) for detail in details] if details else ()


def required_name(path: Path, name: str, rule: Callable[[str], Iterable[str]], detail: str = "") -> Sequence[Cause]:
    """Return the refusal of an empty name, with ``detail``, or what ``rule`` says against a given one."""
    return complaints(path, name, rule(name)) if name else (required(path, detail),)


def _cause(path: Path, reason: str, body: str, detail: str, field: str | None) -> Cause:
    return Cause(field_of(path) if field is None else field, reason, f"{body}: {detail}" if detail else body, path)


def shown(value: object) -> str:
    """Return a bad value as ``Error.ErrorBody`` shows it."""
    if isinstance(value, Raw):
        return value
    return quoted(value) if isinstance(value, str) else as_json(value)


def named(value: str) -> Raw:
    """Return a string whose Go type is not plain ``string`` (an enumeration, or a pointer): shown as JSON."""
    return Raw(as_json(value))


def as_json(value: object) -> str:
    """Return ``json.Marshal(value)``: no spaces, keys in the given order, and ``<``, ``>`` and ``&`` escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        if char in text:
            text = text.replace(char, f"\\u{ord(char):04x}")
    return text


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def quoted(text: str) -> str:
    """Return ``strconv.Quote(text)``."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    written = (_ESCAPES.get(char) or _escaped(char) for char in text)
    return '"' + "".join(written) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# Paths inside a container. Upstream: validateLocalDescendingPath and similar, pkg/apis/core/validation/validation.go.


def without_backsteps(text: str, path: Path, *, field: str | None = None) -> Iterator[Cause]:
    if ".." in text.split("/"):
        yield invalid(path, text, "must not contain '..'", field=field)


def descending(text: str, path: Path, *, field: str | None = None) -> Iterator[Cause]:
    if text.startswith("/"):
        yield invalid(path, text, "must be a relative path", field=field)
    yield from without_backsteps(text, path, field=field)


def descending_and_free(text: str, path: Path, *, field: str | None = None) -> Iterator[Cause]:
    """Yield causes like ``descending``, and for names that begin with two dots, which atomic writers reserve."""
    yield from descending(text, path, field=field)
    if text.startswith("..") and not text.startswith("../"):
        yield invalid(path, text, "must not start with '..'", field=field)
