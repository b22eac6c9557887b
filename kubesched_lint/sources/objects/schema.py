"""Explain in words what is wrong with a sketch or a snapshot file; used only after decoding has failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

from kubesched_lint.engine.base.data import shipped
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import closest, plural
from kubesched_lint.engine.model.decode.fields import DecodeError, Value, describe, words
from kubesched_lint.sources.sketches.fields import UnknownFieldError

if TYPE_CHECKING:
    from jsonschema import ValidationError

_TYPES = {
    "array": "a list",
    "object": "a mapping",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
}


def schema() -> Value:
    """Return the JSON Schema of sketches and snapshots."""
    cluster_schema: Value = json.loads(shipped(__file__, "../../schemas/cluster.schema.json"))
    return cluster_schema


def explain(value: Value, error: DecodeError) -> DecodeError:
    """Return the error in better words, with the number of others; ``error`` itself if the schema finds none."""
    errors = list(_errors(value))
    if not errors:
        return error
    first = min(
        errors,
        key=lambda problem: (problem.path[: len(error.path)] != error.path, [str(step) for step in problem.path]),
    )
    more = len(errors) - 1
    if more:
        first.message += f" (and {more} more {plural(more, 'error')})"
    return first


def _errors(value: Value) -> Iterator[DecodeError]:
    whole = schema()
    part = {"$ref": f"#/$defs/{value.get('kind')}", "$defs": whole["$defs"]}
    for error in Draft202012Validator(part).iter_errors(value):
        yield from _worded(error)


def _worded(error: ValidationError) -> Iterator[DecodeError]:
    path: Path = tuple(error.absolute_path)
    at = words(path) or "the document"
    rule: Any = error.schema
    instance: Any = error.instance
    wanted: Any = error.validator_value
    hint = f"; {rule['description']}" if "description" in rule else ""
    if error.validator == "additionalProperties" and wanted is False:
        fields = list(rule["properties"])
        for key in instance:
            if key not in fields:
                yield UnknownFieldError((*path, key), f"{words((*path, key))}: unknown field{_near(key, fields)}")
    elif error.validator == "type":
        names = [_TYPES[name] for name in ([wanted] if isinstance(wanted, str) else wanted) if name != "null"]
        quotes = " (put it in quotes)" if names == ["a string"] and not isinstance(instance, (dict, list)) else ""
        yield DecodeError(path, f"{at}: expected {' or '.join(names)}{quotes}, found {describe(instance)}")
    elif error.validator == "required":
        missing = next(key for key in wanted if key not in instance)
        yield DecodeError(path, f"{at}: {missing} is missing{hint}")
    elif error.validator in ("enum", "const"):
        allowed = filter(None, wanted) if error.validator == "enum" else (wanted,)
        choices = ["true" if choice is True else choice for choice in allowed]
        near = _near(instance, choices)
        yield DecodeError(path, f"{at}: expected {' or '.join(choices)}, found {describe(instance)}{near}")
    else:
        yield DecodeError(path, f"{at}: {describe(instance)} will not do{hint or f': {error.message}'}")


def _near(written: object, known: list[str]) -> str:
    near = closest(str(written), known)
    return f": did you mean {near}?" if near else f" (known are {', '.join(sorted(known))})"
