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
from kubesched_lint.engine.model.workloads.vertical import (
    ALL_OTHERS,
    ContainerPolicy,
    Recommendation,
    VerticalAutoscaler,
)

_SPEC = ("spec",)


def decode_vertical_autoscaler(value: Value, namespace: str, source: Source | None) -> VerticalAutoscaler:
    """Return a VerticalPodAutoscaler; one of v1beta1, which has a selector, targets an object without kind and name.

    Raises DecodeError.
    """
    meta, spec = mapping(value, "metadata", ()), mapping(value, "spec", ())
    target, at = mapping(spec, "targetRef", _SPEC), (*_SPEC, "targetRef")
    update, policy_path = mapping(spec, "updatePolicy", _SPEC), (*_SPEC, "updatePolicy")
    policies, where = mapping(spec, "resourcePolicy", _SPEC), (*_SPEC, "resourcePolicy")
    namespace = text(meta, "namespace", ("metadata",)) or namespace
    return VerticalAutoscaler(
        namespace,
        text(meta, "name", ("metadata",)),
        ObjectRef(text(target, "kind", at), namespace, text(target, "name", at)),
        text(update, "updateMode", policy_path) or "Recreate",
        integer(update, "minReplicas", policy_path) or 2,
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
    recommendation = optional_mapping(status, "recommendation", ("status",)) if status else None
    listed = items(recommendation, "containerRecommendations", at) if recommendation else ()
    return {
        text(item, "containerName", item_path): Recommendation(
            resources(item, "target", item_path), (*item_path, "target")
        )
        for item, item_path in listed
    }
