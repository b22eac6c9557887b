"""Disruption budgets, priority and runtime classes, and namespaces.

Mirrors ``pkg/apis/{policy,scheduling,node,core}/validation/validation.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.class_plugins import SYSTEM_PREFIX, SYSTEM_PRIORITIES
from kubesched_lint.engine.apiserver.objects.workloads import at_most_all, positive_int_or_percent
from kubesched_lint.engine.apiserver.pods.podspec import overhead, preemption_policy, tolerations
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    duplicate,
    field_of,
    forbidden,
    invalid,
    named,
    not_supported,
    required_name,
)
from kubesched_lint.engine.apiserver.values.labels import label_map, label_selector, selector_value
from kubesched_lint.engine.apiserver.values.metadata import kube_finalizer, object_meta
from kubesched_lint.engine.apiserver.values.names import dns_label, path_segment, qualified_name
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_SPEC: Path = ("spec",)
_HIGHEST = 1000000000


def disruption_budget(value: Value) -> Iterator[Cause]:
    spec = value.get("spec", {})
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        selector = spec.get("selector")
        shown = {
            "MinAvailable": least,
            "Selector": None if selector is None else selector_value(selector),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        yield invalid(
            (*_SPEC, "maxUnavailable"), shown, "minAvailable and maxUnavailable cannot be both set", field="spec"
        )
    for name, bound in (("minAvailable", least), ("maxUnavailable", most)):
        if bound is not None:
            yield from positive_int_or_percent(bound, (*_SPEC, name))
            yield from at_most_all(bound, (*_SPEC, name))
    yield from label_selector(spec.get("selector"), (*_SPEC, "selector"))
    policy = spec.get("unhealthyPodEvictionPolicy", "IfHealthyBudget")
    if policy not in ("AlwaysAllow", "IfHealthyBudget"):
        at = (*_SPEC, "unhealthyPodEvictionPolicy")
        yield not_supported(at, named(policy), ("AlwaysAllow", "IfHealthyBudget"))
    # Checks common to all objects come last: upstream leaves the metadata to BeforeCreate.
    yield from object_meta(value.get("metadata", {}), path_segment)


def priority_class(value: Value) -> Iterator[Cause]:
    meta, number = value.get("metadata", {}), value.get("value", 0)
    name = meta.get("name", "")
    yield from object_meta(meta, namespaced=False)
    if name.startswith(SYSTEM_PREFIX):
        trouble = _system_class_trouble(name, number, value.get("globalDefault", False))
        if trouble:
            reserved = "priority class names with 'system-' prefix are reserved for system use only. error: "
            yield forbidden(("metadata", "name"), reserved + trouble)
    elif number > _HIGHEST:
        yield forbidden(("value",), f"maximum allowed value of a user defined priority is {_HIGHEST}")
    if "preemptionPolicy" in value:
        yield from preemption_policy(value["preemptionPolicy"], ("preemptionPolicy",))


def _system_class_trouble(name: str, number: int, default: bool) -> str:
    if name not in SYSTEM_PRIORITIES:
        return f"{name} is not a known system priority class"
    if number != SYSTEM_PRIORITIES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_PRIORITIES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if default else ""


def runtime_class(value: Value) -> Iterator[Cause]:
    yield from object_meta(value.get("metadata", {}), namespaced=False)
    handler = value.get("handler", "")
    yield from required_name(("handler",), handler, dns_label)
    if value.get("overhead", {}).get("podFixed"):
        for cause in overhead(value["overhead"]["podFixed"], ("overhead",)):
            yield Cause(cause.field, cause.reason, cause.message, ("overhead", "podFixed", *cause.path[1:]))
    scheduling, path = value.get("scheduling", {}), ("scheduling",)
    if "nodeSelector" in scheduling:
        yield from label_map(scheduling["nodeSelector"], (*path, "nodeSelector"))
    if "tolerations" in scheduling:
        yield from tolerations(scheduling["tolerations"], (*path, "tolerations"))
        yield from _distinct(scheduling["tolerations"], (*path, "tolerations"))


def _distinct(values: Sequence[Value], path: Path) -> Iterator[Cause]:
    seen = set()
    for i, value in enumerate(values):
        key = tuple(value.get(part, "") for part in ("key", "operator", "value", "effect"))
        if key in seen:
            shown = dict(zip(("Key", "Operator", "Value", "Effect"), key, strict=True))
            yield duplicate((*path, i), shown | {"TolerationSeconds": value.get("tolerationSeconds")})
        seen.add(key)


def namespace(value: Value) -> Iterator[Cause]:
    yield from object_meta(value.get("metadata", {}), dns_label, namespaced=False)
    for i, finalizer in enumerate(value.get("spec", {}).get("finalizers", ())):
        at = (*_SPEC, "finalizers", i)
        for detail in qualified_name(finalizer):
            yield invalid(at, finalizer, detail, field=field_of(at[:-1]))
        yield from kube_finalizer(finalizer, at, field=field_of(at[:-1]))
