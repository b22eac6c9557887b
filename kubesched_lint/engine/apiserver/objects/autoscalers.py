"""HorizontalPodAutoscalers of both versions.

Mirrors ``pkg/apis/autoscaling/validation/validation.go`` with the defaults of ``pkg/apis/autoscaling/v2/defaults.go``
(v1.36). The gate HPAScaleToZero decides the least ``minReplicas``: 1 while it is off, else 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.pods.resources import container_resource_name
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    forbidden,
    invalid,
    named,
    not_supported,
    one_of,
    required,
    required_name,
)
from kubesched_lint.engine.apiserver.values.metadata import object_meta
from kubesched_lint.engine.apiserver.values.names import dns_label, path_segment
from kubesched_lint.engine.apiserver.values.quantities import quantity
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_SPEC: Path = ("spec",)
_SOURCES = ("object", "external", "pods", "resource", "containerResource")
_FIELD = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_TARGETS = ("Utilization", "Value", "AverageValue")
_API_WINDOW, _API_PERIOD = 3600, 1800


def autoscaler(value: Value, floor: int = 1) -> Iterator[Cause]:
    spec = value.get("spec", {})
    yield from object_meta(value.get("metadata", {}))
    least, most = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    if least < floor:
        yield invalid((*_SPEC, "minReplicas"), least, f"must be greater than or equal to {floor}")
    if most == 0:
        yield required((*_SPEC, "maxReplicas"), "must be set and greater than 0")
    elif most < 0:
        yield invalid((*_SPEC, "maxReplicas"), most, "must be greater than or equal to 1")
    if most < least:
        yield invalid((*_SPEC, "maxReplicas"), most, "must be greater than or equal to `minReplicas`")
    yield from _reference(spec.get("scaleTargetRef", {}), (*_SPEC, "scaleTargetRef"), needs_group=True)
    yield from _metrics(spec.get("metrics", ()), least)
    if spec.get("targetCPUUtilizationPercentage", 1) < 1:
        # autoscaling/v1 is converted first, so the reported field is one of v2.
        number = spec["targetCPUUtilizationPercentage"]
        field = "spec.metrics[0].resource.target.averageUtilization"
        yield invalid((*_SPEC, "targetCPUUtilizationPercentage"), number, "must be greater than 0", field=field)
    for direction in ("scaleUp", "scaleDown"):
        if direction in spec.get("behavior", ()):
            yield from _behavior(spec["behavior"][direction], (*_SPEC, "behavior", direction))


def _reference(reference: Value, path: Path, *, needs_group: bool) -> Iterator[Cause]:
    for part in ("kind", "name"):
        text = reference.get(part, "")
        yield from required_name((*path, part), text, path_segment)
    version, at = reference.get("apiVersion", ""), (*path, "apiVersion")
    if version.count("/") > 1:
        yield invalid(at, version, f"unexpected GroupVersion string: {version}")
    elif needs_group and "/" not in version and reference.get("kind") != "ReplicationController":
        yield invalid(at, version, "apiVersion must specify API group")


def _metrics(metrics: Sequence[Value], least: int) -> Iterator[Cause]:
    path = (*_SPEC, "metrics")
    for i, metric in enumerate(metrics):
        yield from _metric(metric, (*path, i))
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        yield forbidden(path, "must specify at least one Object or External metric to support scaling to zero replicas")


def _metric(metric: Value, path: Path) -> Iterator[Cause]:
    kind = metric.get("type", "")
    if not kind:
        yield required((*path, "type"), "must specify a metric source type")
    if kind not in _FIELD:
        yield not_supported((*path, "type"), named(kind), sorted(_FIELD))
    present = [source for source in _SOURCES if source in metric]
    for source in present[:1]:
        yield from _source(source, metric[source], (*path, source))
    expected = _FIELD.get(kind)
    if expected is None:
        yield not_supported((*path, "type"), named(kind), sorted(_FIELD))
    elif expected not in metric:
        yield required((*path, expected), "must populate information for the given metric source")
    if len(present) != 1:
        for source in present:
            if source != expected:
                yield forbidden((*path, source), "must populate the given metric source only")


def _source(kind: str, source: Value, path: Path) -> Iterator[Cause]:
    if kind == "object":
        yield from _reference(source.get("describedObject", {}), (*path, "describedObject"), needs_group=False)
    if kind in ("object", "external", "pods"):
        name = source.get("metric", {}).get("name", "")
        yield from required_name((*path, "metric", "name"), name, path_segment, "must specify a metric name")
    else:
        yield from _resource(kind, source, path)
    target, at = source.get("target", {}), (*path, "target")
    yield from _target(target, at)
    yield from _amounts(kind, target, at)


def _resource(kind: str, source: Value, path: Path) -> Iterator[Cause]:
    name = source.get("name", "")
    if not name:
        yield required((*path, "name"), "must specify a resource name")
    elif kind == "containerResource":
        yield from container_resource_name(name, (*path, "name"))
    if kind == "containerResource":
        container = source.get("container", "")
        yield from required_name((*path, "container"), container, dns_label, "must specify a container")


def _target(target: Value, path: Path) -> Iterator[Cause]:
    kind = target.get("type", "")
    if not kind:
        yield required((*path, "type"), "must specify a metric target type")
    if kind not in _TARGETS:
        yield invalid((*path, "type"), named(kind), "must be either Utilization, Value, or AverageValue")
    for part in ("value", "averageValue"):
        if part in target and quantity(target[part]).nanos <= 0:
            yield invalid((*path, part), named(str(quantity(target[part]))), "must be positive")
    if target.get("averageUtilization", 1) < 1:
        yield invalid((*path, "averageUtilization"), target["averageUtilization"], "must be greater than 0")


def _amounts(kind: str, target: Value, path: Path) -> Iterator[Cause]:
    value, average = "value" in target, "averageValue" in target
    utilization = "averageUtilization" in target
    match kind:
        case "object" if not value and not average:
            yield required((*path, "averageValue"), "must set either a target value or averageValue")
        case "external" if not value and not average:
            detail = "must set either a target value for metric or a per-pod target"
            yield required((*path, "averageValue"), detail)
        case "external" if value and average:
            detail = "may not set both a target value for metric and a per-pod target"
            yield forbidden((*path, "value"), detail)
        case "pods" if not average:
            yield required((*path, "averageValue"), "must specify a positive target averageValue")
        case "resource" | "containerResource" if not utilization and not average:
            detail = "must set either a target raw value or a target utilization"
            yield required((*path, "averageUtilization"), detail)
        case "resource" | "containerResource" if utilization and average:
            detail = "may not set both a target raw value and a target utilization"
            yield forbidden((*path, "averageValue"), detail)


def _behavior(rules: Value, path: Path) -> Iterator[Cause]:
    window, at = rules.get("stabilizationWindowSeconds", 0), (*path, "stabilizationWindowSeconds")
    if window < 0:
        yield invalid(at, window, "must be greater than or equal to zero")
    if window > _API_WINDOW:
        yield invalid(at, window, f"must be less than or equal to {_API_WINDOW}")
    select, choices = rules.get("selectPolicy", "Max"), ("Disabled", "Max", "Min")
    yield from one_of((*path, "selectPolicy"), select, choices)
    if "policies" in rules and not rules["policies"]:
        yield required((*path, "policies"), "must specify at least one Policy")
    for i, policy in enumerate(rules.get("policies", ())):
        policy_path = (*path, "policies", i)
        if policy.get("type") not in ("Pods", "Percent"):
            yield not_supported((*policy_path, "type"), named(policy.get("type", "")), ("Percent", "Pods"))
        for part in ("value", "periodSeconds"):
            if policy.get(part, 0) <= 0:
                yield invalid((*policy_path, part), policy.get(part, 0), "must be greater than zero")
        if policy.get("periodSeconds", 0) > _API_PERIOD:
            yield invalid(
                (*policy_path, "periodSeconds"), policy["periodSeconds"], f"must be less than or equal to {_API_PERIOD}"
            )
    if "tolerance" in rules and quantity(rules["tolerance"]).nanos < 0:
        at = (*path, "tolerance")
        yield invalid(at, str(quantity(rules["tolerance"])), "must be greater than or equal to 0")
