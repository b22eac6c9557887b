"""Node affinity, pod affinity and pod anti-affinity.

Mirrors ``validateAffinity`` and the functions it calls in ``pkg/apis/core/validation/validation.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    complaints,
    field_of,
    forbidden,
    invalid,
    named,
    required,
)
from kubesched_lint.engine.apiserver.values.labels import (
    NEEDS_VALUES,
    NO_VALUES,
    NOT_AN_OPERATOR,
    label_name,
    label_selector,
)
from kubesched_lint.engine.apiserver.values.names import dns_label, dns_subdomain, label_value
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_IN_RANGE = "must be in the range 1-100"


def affinity(value: Value, path: Path) -> Iterator[Cause]:
    if "nodeAffinity" in value:
        yield from _node_affinity(value["nodeAffinity"], (*path, "nodeAffinity"))
    for kind in ("podAffinity", "podAntiAffinity"):
        if kind in value:
            yield from _pod_affinity(value[kind], (*path, kind))


def _node_affinity(value: Value, path: Path) -> Iterator[Cause]:
    if _REQUIRED in value:
        yield from node_selector(value[_REQUIRED], (*path, _REQUIRED))
    for i, term in enumerate(value.get(_PREFERRED, ())):
        term_path = (*path, _PREFERRED, i)
        if not 0 < term.get("weight", 0) <= 100:
            yield invalid((*term_path, "weight"), term.get("weight", 0), _IN_RANGE)
        # Label values are not checked in preferences: ValidatePreferredSchedulingTerms passes true.
        yield from _node_selector_term(term.get("preference", {}), (*term_path, "preference"), any_value=True)


def node_selector(value: Value, path: Path) -> Iterator[Cause]:
    """Yield the causes of ``ValidateNodeSelector``."""
    terms = value.get("nodeSelectorTerms")
    if not terms:
        yield required((*path, "nodeSelectorTerms"), "must have at least one node selector term")
        return
    for i, term in enumerate(terms):
        yield from _node_selector_term(term, (*path, "nodeSelectorTerms", i), any_value=False)


def _node_selector_term(term: Value, path: Path, *, any_value: bool) -> Iterator[Cause]:
    for i, requirement in enumerate(term.get("matchExpressions", ())):
        yield from _node_expression(requirement, (*path, "matchExpressions", i), any_value=any_value)
    for i, requirement in enumerate(term.get("matchFields", ())):
        yield from _node_field(requirement, (*path, "matchFields", i))


def _node_expression(requirement: Value, path: Path, *, any_value: bool) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values", ())
    match operator:
        case "In" | "NotIn":
            if not values:
                yield required((*path, "values"), NEEDS_VALUES)
        case "Exists" | "DoesNotExist":
            if values:
                yield forbidden((*path, "values"), NO_VALUES)
        case "Gt" | "Lt":
            if len(values) != 1:
                yield required((*path, "values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")
        case _:
            yield invalid((*path, "operator"), named(operator), NOT_AN_OPERATOR)
    yield from label_name(requirement.get("key", ""), (*path, "key"))
    if not any_value:
        for i, value in enumerate(values):
            yield from complaints((*path, "values", i), value, label_value(value))


def _node_field(requirement: Value, path: Path) -> Iterator[Cause]:
    key, operator, values = requirement.get("key", ""), requirement.get("operator", ""), requirement.get("values", ())
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            yield required((*path, "values"), detail)
    else:
        yield invalid((*path, "operator"), named(operator), NOT_AN_OPERATOR)
    if key != "metadata.name":
        yield invalid((*path, "key"), key, "not a valid field selector key")
        return
    for i, value in enumerate(values):
        yield from complaints((*path, "values", i), value, dns_subdomain(value))


def _pod_affinity(value: Value, path: Path) -> Iterator[Cause]:
    for i, term in enumerate(value.get(_REQUIRED, ())):
        yield from _pod_affinity_term(term, (*path, _REQUIRED, i))
    for i, weighted in enumerate(value.get(_PREFERRED, ())):
        term_path = (*path, _PREFERRED, i)
        if not 0 < weighted.get("weight", 0) <= 100:
            yield invalid((*term_path, "weight"), weighted.get("weight", 0), _IN_RANGE)
        yield from _pod_affinity_term(weighted.get("podAffinityTerm", {}), (*term_path, "podAffinityTerm"))


def _pod_affinity_term(term: Value, path: Path) -> Iterator[Cause]:
    selector = term.get("labelSelector")
    yield from label_selector(selector, (*path, "labelSelector"))
    yield from label_selector(term.get("namespaceSelector"), (*path, "namespaceSelector"))
    for i, name in enumerate(term.get("namespaces", ())):
        for detail in dns_label(name):
            yield invalid((*path, "namespaces", i), name, detail, field=f"{field_of(path)}.namespace")
    matching, mismatching = term.get("matchLabelKeys", ()), term.get("mismatchLabelKeys", ())
    if matching or mismatching:
        yield from label_keys(matching, mismatching, selector, path)
    key = term.get("topologyKey", "")
    if not key:
        yield required((*path, "topologyKey"), "can not be empty")
    yield from label_name(key, (*path, "topologyKey"))


def label_keys(
    matching: Sequence[str], mismatching: Sequence[str], selector: Value | None, path: Path
) -> Iterator[Cause]:
    """Yield the causes of ``ValidateMatchLabelKeysAndMismatchLabelKeys``; the selector already has the pod's labels."""
    yield from _listed_keys(matching, selector, (*path, "matchLabelKeys"))
    yield from _listed_keys(mismatching, selector, (*path, "mismatchLabelKeys"))
    if selector is not None:
        place = {key: i for i, key in enumerate(matching)}
        seen = set(selector.get("matchLabels", ()))
        for requirement in selector.get("matchExpressions", ()):
            key = requirement.get("key", "")
            if key in place and key in seen:
                # Upstream omits the field: the path has [0] right after the term.
                field = f"{field_of(path)}[{place[key]}]"
                detail = "exists in both matchLabelKeys and labelSelector"
                yield invalid((*path, "matchLabelKeys", place[key]), key, detail, field=field)
            seen.add(key)
    for i, key in enumerate(matching):
        if key in mismatching:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid((*path, "matchLabelKeys", i), key, detail)


def _listed_keys(keys: Sequence[str], selector: Value | None, path: Path) -> Iterator[Cause]:
    if not keys:
        return
    if selector is None:
        yield forbidden(path, "must not be specified when labelSelector is not set")
        return
    for i, key in enumerate(keys):
        yield from label_name(key, (*path, i))


def with_pod_labels(spec: Value, labels: dict[str, str]) -> Value:
    """Return the PodSpec after creation has merged ``matchLabelKeys`` and ``mismatchLabelKeys`` into the selectors.

    Mirrors ``mutatePodAffinity`` and ``mutateTopologySpreadConstraints`` of ``pkg/registry/core/pod/strategy.go``,
    which run for pods, not for templates.
    """
    changed = dict(spec)
    constraints = spec.get("topologySpreadConstraints")
    if constraints:
        changed["topologySpreadConstraints"] = [_merged(constraint, labels) for constraint in constraints]
    if "affinity" in spec:
        changed["affinity"] = dict(spec["affinity"])
        for kind in ("podAffinity", "podAntiAffinity"):
            if kind in spec["affinity"]:
                changed["affinity"][kind] = _merged_affinity(spec["affinity"][kind], labels)
    return changed


def _merged_affinity(value: Value, labels: dict[str, str]) -> Value:
    changed = dict(value)
    if value.get(_REQUIRED):
        changed[_REQUIRED] = [_merged(term, labels) for term in value[_REQUIRED]]
    if value.get(_PREFERRED):
        changed[_PREFERRED] = [
            weighted | {"podAffinityTerm": _merged(weighted.get("podAffinityTerm", {}), labels)}
            for weighted in value[_PREFERRED]
        ]
    return changed


def _merged(term: Value, labels: dict[str, str]) -> Value:
    selector = term.get("labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for keys, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(keys, ())
        if key in labels
    ]
    if selector is None or not added:
        return term
    return term | {"labelSelector": selector | {"matchExpressions": [*selector.get("matchExpressions", ()), *added]}}
