"""Decode nodes and running pods from plain values."""

from __future__ import annotations

from collections.abc import Iterable

from kubesched_lint.engine.base.places import Source
from kubesched_lint.engine.model.decode.fields import (
    Value,
    boolean,
    integer,
    items,
    labels,
    mapping,
    resources,
    shared,
    text,
    texts,
)
from kubesched_lint.engine.model.decode.pods import decode_pod
from kubesched_lint.engine.model.decode.resizes import with_held
from kubesched_lint.engine.model.nodes.node import Node, Taint, with_kept_labels
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod, Unscheduled

JOB_TRACKING = "batch.kubernetes.io/job-tracking"


def decode_node(value: Value, source: Source | None = None, images: dict[str, int] | None = None) -> Node:
    """Return a Node; ``images`` are its images if they have been decoded before. Raises DecodeError.

    Long lists of nodes are cut down to the fields of ``engine.cluster.collecting.node_json`` before.
    """
    meta, spec, status = mapping(value, "metadata", ()), mapping(value, "spec", ()), mapping(value, "status", ())
    return Node(
        name=text(meta, "name", ("metadata",)),
        labels=with_kept_labels(labels(meta, "labels", ("metadata",))),
        taints=tuple(
            Taint(text(t, "key", at), text(t, "value", at), text(t, "effect", at))
            for t, at in items(spec, "taints", ("spec",))
        ),
        unschedulable=boolean(spec, "unschedulable", ("spec",)),
        allocatable=resources(status, "allocatable", ("status",)) if "allocatable" in status else None,
        ready=all(
            c.get("status") == "True" for c, _ in items(status, "conditions", ("status",)) if c.get("type") == "Ready"
        ),
        images=images_of(status) if images is None else images,
        declared_features=texts(status, "declaredFeatures", ("status",)),
        kubelet_version=text(mapping(status, "nodeInfo", ("status",)), "kubeletVersion", ("status", "nodeInfo")),
    )


def images_of(status: Value) -> dict[str, int]:
    """Return image name → size. A large cluster has 200,000 images: paths are made only if something is odd."""
    sizes: dict[str, int] = {}
    try:
        for image in status.get("images") or ():
            names, size = image["names"], image["sizeBytes"]
            "".join(names)
            if type(names) is not list or type(size) is not int:
                raise TypeError
            for name in names:
                sizes[name] = size
    except (KeyError, TypeError):
        sizes.clear()
        for image, at in items(status, "images", ("status",)):
            sizes.update(dict.fromkeys(texts(image, "names", at), integer(image, "sizeBytes", at) or 0))
    return shared(sizes)


def decode_pod_object(value: Value, namespace: str = "default") -> Pod:
    """Return the scheduling part of a stored Pod. Raises DecodeError."""
    meta = mapping(value, "metadata", ())
    return decode_pod(
        mapping(value, "spec", ()),
        text(meta, "namespace", ("metadata",)) or namespace,
        labels(meta, "labels", ("metadata",)),
        ("spec",),
        ("metadata", "labels"),
    )


def is_holding(finalizers: Iterable[str]) -> bool:
    """Return whether a finalizer delays the pod's deletion; the Job controller removes its own finalizer."""
    return any(name != JOB_TRACKING for name in finalizers)


def decode_bound_pod(value: Value, pod: Pod | None = None) -> BoundPod:
    """Return a Pod of a snapshot, bound or waiting; ``pod`` is an equal Pod decoded before. Raises DecodeError."""
    meta, status = mapping(value, "metadata", ()), mapping(value, "status", ())
    owner = next((o for o, _ in items(meta, "ownerReferences", ("metadata",)) if o.get("controller") is True), None)
    conditions = {text(c, "type", at): text(c, "status", at) for c, at in items(status, "conditions", ("status",))}
    node, pod = text(mapping(value, "spec", ()), "nodeName", ("spec",)), pod or decode_pod_object(value)
    return BoundPod(
        name=text(meta, "name", ("metadata",)),
        node=node,
        pod=with_held(pod, status) if node else pod,
        owner=None
        if owner is None
        else Owner(str(owner.get("kind", "")), str(owner.get("name", "")), str(owner.get("uid", ""))),
        terminating=meta.get("deletionTimestamp") is not None,
        kept_by_finalizers=meta.get("deletionTimestamp") is not None
        and is_holding(texts(meta, "finalizers", ("metadata",))),
        start_time=text(status, "startTime", ("status",)),
        created=text(meta, "creationTimestamp", ("metadata",)),
        nominated_node=text(status, "nominatedNodeName", ("status",)),
        ready=conditions.get("Ready", "True") == "True",
        unscheduled=decode_unscheduled(value),
    )


def decode_unscheduled(value: Value) -> Unscheduled | None:
    """Return what the scheduler says of a waiting Pod; None for a bound one, or if it has not tried the pod."""
    if text(mapping(value, "spec", ()), "nodeName", ("spec",)):
        return None
    for condition, at in items(mapping(value, "status", ()), "conditions", ("status",)):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return Unscheduled(*(text(condition, field, at) for field in ("reason", "message", "lastTransitionTime")))
    return None
