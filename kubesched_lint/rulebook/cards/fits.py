"""Whether a value fits a JSON Schema, for the keywords that card.schema.json uses.

jsonschema explains what does not fit, but takes 80 ms to import; cards that fit need no explanation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]

_SAYS_NOTHING = frozenset({"$schema", "$id", "$defs", "title", "description", "default", "then", "else"})


class UnknownKeywordError(Exception):
    """The schema uses a keyword that is not supported here."""


def fits(value: Any, schema: Schema, root: Schema) -> bool:
    """Whether jsonschema would accept the value. Raises UnknownKeywordError for an unsupported keyword."""
    for keyword, wanted in schema.items():
        if keyword in _SAYS_NOTHING:
            continue
        if keyword == "$ref":
            held = fits(value, _target(wanted, root), root)
        elif keyword == "if":
            branch = schema.get("then" if fits(value, wanted, root) else "else", {})
            held = fits(value, branch, root)
        elif keyword in _COMBINED:
            held = _COMBINED[keyword](fits(value, branch_schema, root) for branch_schema in wanted)
        elif keyword == "not":
            held = not fits(value, wanted, root)
        elif keyword in _PLAIN:
            held = _PLAIN[keyword](value, wanted)
        elif keyword in _INNER:
            held = _INNER[keyword](value, wanted, schema, root)
        else:
            raise UnknownKeywordError(keyword)
        if not held:
            return False
    return True


def _target(reference: str, root: Schema) -> Schema:
    schema: Any = root
    for step in reference.removeprefix("#/").split("/"):
        schema = schema[step]
    return dict(schema)


def _is_type(value: Any, wanted: str | list[str]) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    return any(_TYPES[name](value) for name in names)


def _same(first: Any, other: Any) -> bool:
    """Whether two values are equal in JSON, where 1 and true differ."""
    if isinstance(first, list) and isinstance(other, list):
        return len(first) == len(other) and all(map(_same, first, other))
    return bool(first == other) and isinstance(first, bool) == isinstance(other, bool)


def _is_unique(value: Any, wanted: bool) -> bool:
    if not (wanted and isinstance(value, list)):
        return True
    return not any(_same(a, b) for n, a in enumerate(value) for b in value[:n])


def _has_dependents(value: Any, wanted: Mapping[str, list[str]]) -> bool:
    return not isinstance(value, dict) or all(
        name in value for key, names in wanted.items() if key in value for name in names
    )


def _are_properties(value: Any, wanted: Mapping[str, Schema], schema: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(fits(value[k], s, root) for k, s in wanted.items() if k in value)


def _are_additional(value: Any, wanted: Any, schema: Schema, root: Schema) -> bool:
    extra = [v for k, v in value.items() if k not in schema.get("properties", {})] if isinstance(value, dict) else []
    return not extra if wanted is False else all(fits(v, wanted, root) for v in extra)


def _are_names(value: Any, wanted: Schema, schema: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(fits(key, wanted, root) for key in value)


def _are_items(value: Any, wanted: Schema, schema: Schema, root: Schema) -> bool:
    return not isinstance(value, list) or all(fits(item, wanted, root) for item in value)


def _contains(value: Any, wanted: Schema, schema: Schema, root: Schema) -> bool:
    return not isinstance(value, list) or any(fits(item, wanted, root) for item in value)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "integer": lambda v: (isinstance(v, int) and not isinstance(v, bool)) or (isinstance(v, float) and v.is_integer()),
}
_COMBINED: Mapping[str, Callable[[Any], bool]] = {"allOf": all, "anyOf": any, "oneOf": lambda held: sum(held) == 1}
_PLAIN: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": _is_type,
    "enum": lambda v, wanted: any(_same(v, allowed) for allowed in wanted),
    "const": _same,
    "required": lambda v, wanted: not isinstance(v, dict) or all(name in v for name in wanted),
    "dependentRequired": _has_dependents,
    "minLength": lambda v, wanted: not isinstance(v, str) or len(v) >= wanted,
    "maxLength": lambda v, wanted: not isinstance(v, str) or len(v) <= wanted,
    "pattern": lambda v, wanted: not isinstance(v, str) or re.search(wanted, v) is not None,
    "minItems": lambda v, wanted: not isinstance(v, list) or len(v) >= wanted,
    "uniqueItems": _is_unique,
    "minProperties": lambda v, wanted: not isinstance(v, dict) or len(v) >= wanted,
}
_INNER: Mapping[str, Callable[[Any, Any, Schema, Schema], bool]] = {
    "properties": _are_properties,
    "additionalProperties": _are_additional,
    "propertyNames": _are_names,
    "items": _are_items,
    "contains": _contains,
}
