"""Decode VerticalPodAutoscalers from plain values."""

from __future__ import annotations

from kubesched_lint.engine.base.places import ObjectRef, Path, Source
from kubesched_lint.engine.model.decode.fields import (
    Value,
    integer,
    items,
    mapping,
    optional_mapping,
    resources,
    text,
    texts,
)
from kubesched_lint.engine.model.vertical import ALL_OTHERS, ContainerPolicy, Recommendation, VerticalAutoscaler

_SPEC = ("spec",)


def decode_vertical_autoscaler(value: Value, namespace: str, source: Source | None) -> VerticalAutoscaler:
    """Return a VerticalPodAutoscaler; one of v1beta1, which has a selector, targets an object without kind and name.

    Raises DecodeError.
    """
    meta, spec = mapping(value, "metadata", ()), mapping(value, "spec", ())
    target, at = mapping(spec, "targetRef", _SPEC), (*_SPEC, "targetRef")
    update, here = mapping(spec, "updatePolicy", _SPEC), (*_SPEC, "updatePolicy")
    policies, where = mapping(spec, "resourcePolicy", _SPEC), (*_SPEC, "resourcePolicy")
    namespace = text(meta, "namespace", ("metadata",)) or namespace
    return VerticalAutoscaler(
        namespace,
        text(meta, "name", ("metadata",)),
        ObjectRef(text(target, "kind", at), namespace, text(target, "name", at)),
        text(update, "updateMode", here) or "Recreate",
        integer(update, "minReplicas", here) or 2,
        tuple(_policy(item, path) for item, path in items(policies, "containerPolicies", where)),
        _recommended(value),
        source,
    )


def _policy(value: Value, path: Path) -> ContainerPolicy:
    controlled = texts(value, "controlledResources", path) if "controlledResources" in value else ("cpu", "memory")
    return ContainerPolicy(
        container=text(value, "containerName", path) or ALL_OTHERS,
        is_on=text(value, "mode", path) != "Off",
        least=_bounds(value, "minAllowed", path),
        most=_bounds(value, "maxAllowed", path),
        controlled=controlled,
        is_cut_by_limits=text(value, "controlledValues", path) == "RequestsOnly",
        path=path,
    )


def _bounds(value: Value, key: str, path: Path) -> dict[str, int]:
    return {name: amount for name, amount in resources(value, key, path).items() if amount}


def _recommended(value: Value) -> dict[str, Recommendation]:
    at = ("status", "recommendation")
    status = optional_mapping(value, "status", ())
    found = optional_mapping(status, "recommendation", ("status",)) if status else None
    listed = items(found, "containerRecommendations", at) if found else ()
    return {
        text(item, "containerName", here): Recommendation(resources(item, "target", here), (*here, "target"))
        for item, here in listed
    }
