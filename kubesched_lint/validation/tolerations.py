"""Tolerations.

Mirrors ``ValidateTolerations`` in ``pkg/apis/core/validation/validation.go`` (v1.36), with the gate
TaintTolerationComparisonOperators off, as it is by default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.findings import Path
from kubesched_lint.validation.causes import Cause, invalid, named, not_supported
from kubesched_lint.validation.labels import label_name
from kubesched_lint.validation.names import label_value

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def tolerations(values: Sequence[dict[str, Any]], path: Path) -> Iterator[Cause]:
    for i, value in enumerate(values):
        yield from _toleration(value, (*path, i))


def _toleration(value: dict[str, Any], path: Path) -> Iterator[Cause]:
    key, operator, effect = value.get("key", ""), value.get("operator", ""), value.get("effect", "")
    if key:
        yield from label_name(key, (*path, "key"))
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid((*path, "operator"), named(operator), detail)
    if "tolerationSeconds" in value and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid((*path, "effect"), named(effect), detail)
    written = value.get("value", "")
    match operator:
        case "" | "Equal":
            details = label_value(written)
            if details:
                yield invalid((*path, "operator"), written, ";".join(details))
        case "Exists":
            if written:
                yield invalid((*path, "operator"), written, "value must be empty when `operator` is 'Exists'")
        case "Lt" | "Gt":
            yield not_supported((*path, "operator"), named(operator), ("Equal", "Exists", "Lt", "Gt"))
        case _:
            yield not_supported((*path, "operator"), named(operator), ("Equal", "Exists"))
    if effect and effect not in _EFFECTS:
        yield not_supported((*path, "effect"), named(effect), _EFFECTS)
