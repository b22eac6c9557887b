"""Labels, annotations and label selectors.

Mirrors ``pkg/apis/meta/v1/validation/validation.go`` and ``pkg/api/validation/objectmeta.go`` of
``k8s.io/apimachinery`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    MapKey,
    complaints,
    field_of,
    forbidden,
    invalid,
    named,
    required,
    too_long,
)
from kubesched_lint.engine.apiserver.values.names import label_key, label_value, size
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.labels import Requirement, Selector

Value = dict[str, Any]
_ANNOTATION_BYTES = 256 * 1024
NEEDS_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
NO_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
NOT_AN_OPERATOR = "not a valid selector operator"


def label_map(labels: Mapping[str, str], path: Path, *, field: str | None = None) -> Iterable[Cause]:
    """Return the causes of ``ValidateLabels``: upstream names the map, not the entry."""
    return () if are_sound(labels) else _label_map(labels, path, field_of(path) if field is None else field)


def are_sound(labels: Mapping[str, str]) -> bool:
    """Return whether ``label_map`` finds nothing."""
    return not any(label_key(key) or label_value(value) for key, value in labels.items())


def _label_map(labels: Mapping[str, str], path: Path, field: str) -> Iterator[Cause]:
    for key, value in labels.items():
        for detail in label_key(key):
            yield invalid((*path, MapKey(key)), key, detail, field=field)
        for detail in label_value(value):
            yield invalid((*path, MapKey(key)), value, detail, field=field)


def label_name(name: str, path: Path) -> Sequence[Cause]:
    return complaints(path, name, label_key(name))


def annotation_map(annotations: Mapping[str, str], path: Path, *, field: str | None = None) -> Iterator[Cause]:
    total = 0
    for key, value in annotations.items():
        for detail in label_key(key.lower()):
            yield invalid((*path, MapKey(key)), key, detail, field=field_of(path) if field is None else field)
        total += size(key) + size(value)
    if total > _ANNOTATION_BYTES:
        yield too_long(path, _ANNOTATION_BYTES, field=field)


def label_selector(selector: Value | None, path: Path) -> Iterator[Cause]:
    """Yield the causes of ``ValidateLabelSelector``; None, an absent selector, is valid."""
    if not selector:
        return
    if "matchLabels" in selector:
        yield from label_map(selector["matchLabels"], (*path, "matchLabels"))
    for i, requirement in enumerate(selector.get("matchExpressions", ())):
        yield from _requirement(requirement, (*path, "matchExpressions", i))


def _requirement(requirement: Value, path: Path) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values", ())
    if operator in ("In", "NotIn"):
        if not values:
            yield required((*path, "values"), NEEDS_VALUES)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden((*path, "values"), NO_VALUES)
    else:
        yield invalid((*path, "operator"), named(operator), NOT_AN_OPERATOR)
    yield from label_name(requirement.get("key", ""), (*path, "key"))
    for i, value in enumerate(values):
        yield from complaints((*path, "values", i), value, label_value(value))


class UnusableSelectorError(ValueError):
    """``LabelSelectorAsSelector`` fails: the selector cannot select anything."""


def _selector_of(selector: Value) -> Selector:
    """Return ``metav1.LabelSelectorAsSelector(selector)``. Raises UnusableSelectorError."""
    requirements = []
    for key, value in selector.get("matchLabels", {}).items():
        if label_key(key) or label_value(value):
            raise UnusableSelectorError
        requirements.append(Requirement(key, "In", (value,)))
    for requirement in selector.get("matchExpressions", ()):
        key, values = requirement.get("key", ""), tuple(requirement.get("values", ()))
        operator = requirement.get("operator", "")
        wants_values = operator in ("In", "NotIn")
        if not wants_values and operator not in ("Exists", "DoesNotExist"):
            raise UnusableSelectorError
        if bool(values) != wants_values or label_key(key) or any(map(label_value, values)):
            raise UnusableSelectorError
        requirements.append(Requirement(key, operator, values))
    return Selector(tuple(requirements))


def selects(selector: Value | None, labels: Mapping[str, str]) -> bool:
    """Return whether a written selector selects the labels; an absent one selects nothing.

    Raises UnusableSelectorError.
    """
    if selector is None:
        return False
    wanted = selector.get("matchLabels")
    if wanted and len(selector) == 1 and wanted.items() <= labels.items() and are_sound(wanted):
        return True  # nearly all cases
    return _selector_of(selector).matches(labels)


def selector_value(selector: Value) -> Value:
    """Return a LabelSelector in the order in which Go writes its fields, without empty ones."""
    written: Value = {}
    if selector.get("matchLabels"):
        written["matchLabels"] = dict(sorted(selector["matchLabels"].items()))
    if selector.get("matchExpressions"):
        written["matchExpressions"] = [
            {"key": requirement.get("key", ""), "operator": requirement.get("operator", "")}
            | ({"values": requirement["values"]} if requirement.get("values") else {})
            for requirement in selector["matchExpressions"]
        ]
    return written
