"""Read running pods, up to some hundred thousand: only scheduling fields are decoded, and equal pods share one Pod."""

from __future__ import annotations

from functools import cached_property

from kubesched_lint.hints import TYPE_CHECKING, Any
from kubesched_lint.model.decode.fields import Value, mapping, text
from kubesched_lint.model.decode.nodes import decode_bound_pod, decode_pod_object, decode_unscheduled, is_holding
from kubesched_lint.model.pod import BoundPod, Owner, Pod
from kubesched_lint.record import replace

if TYPE_CHECKING:
    from kubesched_lint.cluster.pod_json import AffinityParts, PodJsonDecoder, PodParts, SharedParts

_OVER = ("Succeeded", "Failed")
_MOST_SAMPLES = 16
"""Of so many owners one pod is compared with the next: in a list sorted by name, the pods of an owner are close."""


class PodReader:
    """Cache decoded pods, so that equal pods become one ``Pod``.

    A bound pod's spec is kept without ``nodeName``, and without the affinity by which the DaemonSet controller pins a
    pod to its node: ``BoundPod.node`` and the owner hold the same facts, and with them no two such pods would be equal.
    """

    def __init__(self) -> None:
        self._pods: dict[bytes, Pod] = {}
        self._owners: dict[bytes, Owner] = {}
        self._samples: dict[bytes, tuple[SharedParts, Pod]] = {}
        """The owners of a pod as text → a pod of theirs, which the next one most often equals."""
        self._texts: dict[str, str] = {}

    def value(self, value: Value) -> BoundPod | None:
        """Return a Pod from plain values; None if it has finished. Raises DecodeError."""
        if text(mapping(value, "status", ()), "phase", ("status",)) in _OVER:
            return None
        bound = decode_bound_pod(value, decode_pod_object(_without_node(value)))
        return replace(bound, pod=unpinned(bound.pod, bound.node)) if _is_pinned(bound) else bound

    def json(self, document: Any) -> BoundPod | None:
        """Return a Pod from JSON (bytes or a msgspec.Raw); None if it has finished. Raises DecodeError."""
        parts = self._wire.pod(document)
        if parts is None:  # something has an unexpected type: the slow reader handles it, or reports what and where
            return self.value(self._wire.plain(document))
        return self._bound(parts)

    def listed(self, part: bytes) -> list[BoundPod | None] | None:
        """Return the pods of a part of a list, each as ``json`` returns it; None if it may hold anything else."""
        from msgspec import ValidationError

        found = self._wire.pods(part)
        try:
            return None if found is None else [*map(self._bound, found)]
        except ValidationError:
            return None

    @cached_property
    def _wire(self) -> PodJsonDecoder:
        from kubesched_lint.cluster.pod_json import PodJsonDecoder

        return PodJsonDecoder()

    def _bound(self, parts: PodParts) -> BoundPod | None:
        meta, status = parts.metadata, parts.status
        if status.phase in _OVER:
            return None
        node, affinity, owners = parts.spec.nodeName or "", parts.spec.affinity, bytes(meta.ownerReferences)
        owner = self._owners.get(owners)
        if owner is None and (found := self._wire.owner(owners)) is not None:
            owner = self._owners[owners] = Owner(found.kind, found.name, found.uid)
        pin = node if owner is not None and owner.kind == "DaemonSet" else ""
        shared, sample = self._wire.shared(parts, pin), self._samples.get(owners)
        if sample is not None and sample[0] == shared:
            pod = sample[1]
        else:
            pod = self._pod(shared, pin, affinity)
            if len(self._samples) >= _MOST_SAMPLES:
                self._samples.clear()
            self._samples[owners] = shared, pod
        start, created, one = status.startTime or "", meta.creationTimestamp or "", self._texts.setdefault
        terminating = meta.deletionTimestamp is not None
        return BoundPod(
            meta.name,
            one(node, node),
            pod,
            owner,
            terminating,
            terminating and is_holding(meta.finalizers or ()),
            one(start, start),
            one(created, created),
            status.nominatedNodeName or "",
            self._wire.is_ready(parts),
            None if node else decode_unscheduled(self._wire.conditions_of(parts)),
        )

    def _pod(self, shared: SharedParts, pin: str, affinity: AffinityParts | None) -> Pod:
        key = self._wire.key(shared)
        pod = self._pods.get(key)
        if pod is None:
            pod = decode_pod_object(self._wire.pod_of(shared, affinity))
            self._pods[key] = pod = unpinned(pod, pin) if pin else pod
        return pod


def _is_pinned(bound: BoundPod) -> bool:
    return bool(bound.node) and bound.owner is not None and bound.owner.kind == "DaemonSet"


def unpinned(pod: Pod, node: str) -> Pod:
    """Return the pod without the terms by which a DaemonSet's controller pins it to ``node``.

    Mirrors ``pkg/controller/daemon/util/daemonset_util.go`` ReplaceDaemonSetPodNodeNameNodeAffinity: it replaces all
    required terms by a single one on metadata.name.
    """
    terms = pod.required_node_terms
    if terms is None or len(terms) != 1 or terms[0].expressions or len(terms[0].fields) != 1:
        return pod
    pin = terms[0].fields[0]
    if (pin.key, pin.operator, pin.values) != ("metadata.name", "In", (node,)):
        return pod
    return replace(pod, required_node_terms=None)


def _without_node(value: Value) -> Value:
    spec = mapping(value, "spec", ())
    if "nodeName" not in spec:
        return value
    return {**value, "spec": {k: v for k, v in spec.items() if k != "nodeName"}}
