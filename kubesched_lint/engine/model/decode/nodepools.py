"""Decode Karpenter's NodePool (karpenter.sh/v1), the Provisioner that it replaced, and NodeOverlay, from plain values.

The fields follow ``pkg/apis/v1/nodepool.go`` of kubernetes-sigs/karpenter (v1). A pool with ``replicas`` is static: it
has that many nodes and adds none for a pod. Startup taints are removed before pods are bound, so they are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.model.decode.fields import (
    DecodeError,
    Value,
    integer,
    items,
    labels,
    mapping,
    resources,
    text,
    words,
)
from kubesched_lint.engine.model.decode.fields import requirement as decode_requirement
from kubesched_lint.engine.model.labels import Requirement, go_int
from kubesched_lint.engine.model.nodes.node import KARPENTER, KEPT_LIKE, SET_LIKE, ZONE, NodeOverlay, NodePool, Taint

_CLOUDS = {
    "karpenter.k8s.aws": "aws",
    "eks.amazonaws.com": "aws",
    "karpenter.azure.com": "azure",
    "karpenter.k8s.gcp": "gcp",
}
_V1 = "karpenter.sh/v1"
_NODE_CLASSES = {"EC2NodeClass": "aws", "AKSNodeClass": "azure", "GCENodeClass": "gcp"}
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
# Karpenter replaces these labels by their stable names (NormalizedLabels).
_RENAMED = {**SET_LIKE, **KEPT_LIKE}


def decode_node_pool(value: Value, source: Source | None = None) -> NodePool:
    """Return a NodePool. Raises DecodeError."""
    meta, spec = mapping(value, "metadata", ()), mapping(value, "spec", ())
    template_at: Path = ("spec", "template")
    template = mapping(spec, "template", ("spec",))
    template_meta = mapping(template, "metadata", template_at)
    at: Path = (*template_at, "spec")
    inner = mapping(template, "spec", template_at)
    wanted = tuple(decode_requirements(inner, "requirements", at))
    limits = resources(spec, "limits", ("spec",))
    if integer(spec, "replicas", ("spec",)) is not None:
        limits = {"nodes": 0}
    name = text(meta, "name", ("metadata",))
    written = labels(template_meta, "labels", (*template_at, "metadata"))
    own = {
        "karpenter.sh/nodepool": name,
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
        **{_RENAMED.get(key, key): value for key, value in written.items()},
    }
    zone = own.pop(ZONE, None)
    return NodePool(
        name=name,
        maker=KARPENTER,
        zones=zones_of(wanted) if zone is None else (zone,),
        labels=own,
        taints=tuple(_taints(inner, at)),
        requirements=wanted,
        cloud=_cloud(mapping(inner, "nodeClassRef", at), (*at, "nodeClassRef")) or cloud_of_keys(wanted),
        limits=limits,
        weight=integer(spec, "weight", ("spec",)) or 0,
        expires_after=_expires_after(value, inner, at),
        drain_limit=text(inner, "terminationGracePeriod", at),
        source=source,
    )


def _expires_after(value: Value, inner: Value, at: Path) -> str:
    """Return when a node expires. Before v1, a node with pods that must not be disrupted did not."""
    if value.get("apiVersion", _V1) != _V1:
        return ""
    written = text(inner, "expireAfter", at) or "720h"
    return "" if written == "Never" else written


def _cloud(node_class: Value, at: Path) -> str:
    """Return the cloud of a node class; empty if unknown. Older versions of the API have no group."""
    by_group = _CLOUDS.get(text(node_class, "group", at), "")
    return by_group or _NODE_CLASSES.get(text(node_class, "kind", at), "")


def cloud_of_keys(requirements: Iterable[Requirement]) -> str:
    """Return the cloud whose labels the requirements name; empty if there is none."""
    return next((cloud for r in requirements if (cloud := _CLOUDS.get(r.key.partition("/")[0], ""))), "")


def decode_provisioner(value: Value, source: Source | None = None) -> NodePool:
    """Return a Provisioner (karpenter.sh/v1alpha5), which NodePool replaced. Raises DecodeError."""
    meta, spec = mapping(value, "metadata", ()), mapping(value, "spec", ())
    own = {"karpenter.sh/provisioner-name": text(meta, "name", ("metadata",)), **labels(spec, "labels", ("spec",))}
    own = {_RENAMED.get(key, key): label for key, label in own.items()}
    wanted = tuple(decode_requirements(spec, "requirements", ("spec",)))
    zone = own.pop(ZONE, None)
    return NodePool(
        name=text(meta, "name", ("metadata",)),
        maker=KARPENTER,
        zones=zones_of(wanted) if zone is None else (zone,),
        labels=own,
        taints=tuple(_taints(spec, ("spec",))),
        requirements=wanted,
        cloud=cloud_of_keys(wanted),
        limits=resources(mapping(spec, "limits", ("spec",)), "resources", ("spec", "limits")),
        weight=integer(spec, "weight", ("spec",)) or 0,
        source=source,
    )


def decode_node_overlay(value: Value, source: Source | None = None) -> NodeOverlay:
    """Return a NodeOverlay (karpenter.sh/v1alpha1). Raises DecodeError."""
    spec = mapping(value, "spec", ())
    return NodeOverlay(
        text(mapping(value, "metadata", ()), "name", ("metadata",)),
        tuple(decode_requirements(spec, "requirements", ("spec",))),
        resources(spec, "capacity", ("spec",)),
        source,
    )


def _taints(value: Value, path: Path) -> Iterator[Taint]:
    for item, taint_path in items(value, "taints", path):
        yield Taint(text(item, "key", taint_path), text(item, "value", taint_path), text(item, "effect", taint_path))


def decode_requirements(value: Value, key: str, path: Path) -> Iterator[Requirement]:
    """Yield the requirements of a pool, with Gte and Lte as the equivalent Gt and Lt. Raises DecodeError."""
    for item, item_path in items(value, key, path):
        asked = decode_requirement(item, item_path)
        if asked.operator not in _OPERATORS:
            raise DecodeError(
                (*item_path, "operator"),
                f"{words((*item_path, 'operator'))}: expected one of {', '.join(_OPERATORS)}, found {asked.operator!r}",
            )
        operator, values = asked.operator, asked.values
        bound = go_int(values[0]) if len(values) == 1 else None
        if bound is None and operator in ("Gt", "Lt", "Gte", "Lte"):
            at = (*item_path, "values")
            raise DecodeError(at, f"{words(at)}: {operator} compares with one whole number, found {list(values)}")
        if bound is not None and operator in ("Gte", "Lte"):
            step = -1 if operator == "Gte" else 1
            operator, values = operator[:2], (str(bound + step),)
        yield Requirement(_RENAMED.get(asked.key, asked.key), operator, values, item_path)


def zones_of(requirements: tuple[Requirement, ...]) -> tuple[str, ...] | None:
    """Return the zones that the requirements list; None if they do not restrict the zone."""
    listed = next((r.values for r in requirements if r.key == ZONE and r.operator == "In"), None)
    if listed is None:
        return None
    return tuple(z for z in listed if all(r.matches({ZONE: z}) for r in requirements if r.key == ZONE))
