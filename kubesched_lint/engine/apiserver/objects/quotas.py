"""LimitRanges and ResourceQuotas.

Mirrors ``ValidateLimitRange`` and ``ValidateResourceQuota`` in ``pkg/apis/core/validation/validation.go`` and
``SetDefaults_LimitRangeItem`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.pods.resources import (
    allows_overcommit,
    amount,
    container_resource_name,
    is_standard_for_quota,
    resource_name,
)
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    MapKey,
    duplicate,
    field_of,
    forbidden,
    invalid,
    named,
    required,
)
from kubesched_lint.engine.apiserver.values.metadata import object_meta
from kubesched_lint.engine.apiserver.values.names import qualified_name
from kubesched_lint.engine.apiserver.values.quantities import Quantity, in_resource_list
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
Amounts = dict[str, Quantity]
_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_SCOPES = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
)
_EXISTS_ONLY = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_EXISTS_TEXT = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_COMPUTE = ("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
_RIVALS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


def limit_range(value: Value) -> Iterator[Cause]:
    yield from object_meta(value.get("metadata", {}))
    seen = set()
    for i, limit in enumerate(value.get("spec", {}).get("limits", ())):
        path: Path = ("spec", "limits", i)
        kind = limit.get("type", "")
        bad = qualified_name(kind)
        for detail in bad:
            yield invalid((*path, "type"), named(kind), detail)
        if not bad and "/" not in kind and kind not in _TYPES:
            yield invalid((*path, "type"), named(kind), "must be a standard limit type or fully qualified")
        if kind in seen:
            yield duplicate((*path, "type"), named(kind))
        seen.add(kind)
        yield from _limit(limit, kind, path)


def _limit(limit: Value, kind: str, path: Path) -> Iterator[Cause]:
    check = container_resource_name if kind in ("Pod", "Container") else resource_name
    amounts: dict[str, Amounts] = {}
    for part in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        if kind == "Pod" and part.startswith("default"):
            amounts[part] = {}
            if limit.get(part):
                yield forbidden((*path, part), "may not be specified when `type` is 'Pod'")
            continue
        for name in limit.get(part, ()):
            yield from check(name, (*path, part, MapKey(name)))
        amounts[part] = {name: in_resource_list(amount_text) for name, amount_text in limit.get(part, {}).items()}
        sized = any("storage" in amounts.get(bound, ()) for bound in ("min", "max"))
        if part == "defaultRequest" and kind == "PersistentVolumeClaim" and not sized:
            detail = "either minimum or maximum storage value is required, but neither was provided"
            yield required((*path, "limits"), detail)
    if kind == "Container":
        # A missing default is taken from max, a missing defaultRequest from the default, then from min.
        amounts["default"] = amounts["max"] | amounts["default"]
        amounts["defaultRequest"] = amounts["min"] | amounts["default"] | amounts["defaultRequest"]
    for name in dict.fromkeys(name for part in amounts.values() for name in part):
        yield from _bounds(name, {part: of_part[name] for part, of_part in amounts.items() if name in of_part}, path)


_ORDERED = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)
"""(lower, upper): lower must not exceed upper.

Then the field that upstream names, the amount it shows, and its text.
"""


def _bounds(name: str, amounts: Amounts, path: Path) -> Iterator[Cause]:
    for lower, upper, field, shown, text in _ORDERED:
        if lower in amounts and upper in amounts and amounts[lower].nanos > amounts[upper].nanos:
            at = (*path, field, MapKey(name))
            yield invalid(at, named(str(amounts[shown])), text.format(amounts[lower], amounts[upper]))
    if "maxLimitRequestRatio" in amounts:
        yield from _ratio(amounts["maxLimitRequestRatio"], amounts, (*path, "maxLimitRequestRatio", MapKey(name)))
    default, request = amounts.get("default"), amounts.get("defaultRequest")
    if default is not None and request is not None and default.nanos != request.nanos and not allows_overcommit(name):
        at = (*path, "defaultRequest", MapKey(name))
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        yield invalid(at, named(str(request)), detail)


def _ratio(ratio: Quantity, amounts: Amounts, path: Path) -> Iterator[Cause]:
    if ratio.nanos < 10**9:
        yield invalid(path, named(str(ratio)), f"ratio {ratio} is less than 1")
    least, most = amounts.get("min"), amounts.get("max")
    if least is not None and most is not None and least.nanos and ratio.nanos * least.nanos > most.nanos * 10**9:
        limit = f"{most.nanos / least.nanos:f}"
        yield invalid(path, named(str(ratio)), f"ratio {ratio} is greater than max/min = {limit}")


def resource_quota(value: Value) -> Iterator[Cause]:
    spec, path = value.get("spec", {}), ("spec",)
    yield from object_meta(value.get("metadata", {}))
    hard = spec.get("hard", {})
    for name, written in hard.items():
        hard_path: Path = (*path, "hard", MapKey(name))
        yield from resource_name(name, hard_path)
        if "/" not in name and not is_standard_for_quota(name):
            yield invalid(hard_path, named(name), "must be a standard resource for quota")
        yield from amount(name, written, hard_path)
    if spec.get("scopes"):
        yield from _scopes(spec["scopes"], hard, (*path, "scopes"))
    if "scopeSelector" in spec:
        yield from _scope_selector(spec, hard, (*path, "scopeSelector", "matchExpressions"))


def _scopes(scopes: Sequence[str], hard: Value, path: Path) -> Iterator[Cause]:
    """Yield causes; upstream names the list, not the entry."""
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid(path, scopes, "unsupported scope")
        for name in sorted(hard):
            if is_standard_for_quota(name) and not _may_scope(scope, name):
                yield invalid(path, scopes, "unsupported scope applied to resource")
    yield from _rivals(scopes, scopes, path)


def _rivals(scopes: Sequence[str], shown: object, path: Path) -> Iterator[Cause]:
    for scope, other in _RIVALS:
        if scope in scopes and other in scopes:
            yield invalid(path, shown, "conflicting scopes")


def _may_scope(scope: str, name: str) -> bool:
    if scope == "BestEffort":
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name in ("persistentvolumeclaims", "requests.storage")
    return scope not in _SCOPES or name in _COMPUTE


def _scope_selector(spec: Value, hard: Value, path: Path) -> Iterator[Cause]:
    """Yield causes; upstream omits the index."""
    field = field_of(path)
    requirements = spec["scopeSelector"].get("matchExpressions", ())
    shown = {
        "MatchExpressions": [
            {
                "ScopeName": entry.get("scopeName", ""),
                "Operator": entry.get("operator", ""),
                "Values": entry.get("values"),
            }
            for entry in requirements
        ]
    }
    for i, requirement in enumerate(requirements):
        requirement_path = (*path, i)
        scope, operator = requirement.get("scopeName", ""), requirement.get("operator", "")
        values = requirement.get("values", ())
        if scope not in _SCOPES:
            yield invalid(
                (*requirement_path, "scopeName"), named(scope), "unsupported scope", field=f"{field}.scopeName"
            )
        for name in sorted(hard):
            if is_standard_for_quota(name) and not _may_scope(scope, name):
                yield invalid(
                    (*requirement_path, "scopeName"), shown, "unsupported scope applied to resource", field=field
                )
        if scope in _EXISTS_ONLY and operator != "Exists":
            yield invalid((*requirement_path, "operator"), named(operator), _EXISTS_TEXT, field=f"{field}.operator")
        if operator in ("In", "NotIn"):
            if not values:
                detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield required((*requirement_path, "values"), detail, field=f"{field}.values")
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield invalid((*requirement_path, "values"), list(values), detail, field=f"{field}.values")
        else:
            yield invalid(
                (*requirement_path, "operator"),
                named(operator),
                "not a valid selector operator",
                field=f"{field}.operator",
            )
    yield from _rivals([entry.get("scopeName", "") for entry in requirements], spec.get("scopes"), path)
