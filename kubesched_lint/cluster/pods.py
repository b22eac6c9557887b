"""Read running pods, up to some hundred thousand: only scheduling fields are decoded, and equal pods share one Pod."""

from __future__ import annotations

from kubesched_lint.hints import TYPE_CHECKING, Any
from kubesched_lint.model.decode.fields import Value, mapping, text
from kubesched_lint.model.decode.nodes import decode_bound_pod, decode_pod_object, decode_unscheduled, is_holding
from kubesched_lint.model.pod import BoundPod, Owner, Pod
from kubesched_lint.record import replace

if TYPE_CHECKING:
    from kubesched_lint.cluster.pod_json import PodJsonDecoder, PodParts

_OVER = ("Succeeded", "Failed")


class PodReader:
    """Cache decoded pods, so that equal pods become one ``Pod``.

    A bound pod's spec is kept without ``nodeName``, and without the affinity by which the DaemonSet controller pins a
    pod to its node: ``BoundPod.node`` and the owner hold the same facts, and with them no two such pods would be equal.
    """

    def __init__(self) -> None:
        self._pods: dict[bytes, Pod] = {}
        self._owners: dict[tuple[str, str, str], Owner] = {}
        self._texts: dict[str, str] = {}
        self._wire: PodJsonDecoder | None = None

    def value(self, value: Value) -> BoundPod | None:
        """Return a Pod from plain values; None if it has finished. Raises DecodeError."""
        if text(mapping(value, "status", ()), "phase", ("status",)) in _OVER:
            return None
        bound = decode_bound_pod(value, decode_pod_object(_without_node(value)))
        return replace(bound, pod=unpinned(bound.pod, bound.node)) if _is_pinned(bound) else bound

    def json(self, document: Any) -> BoundPod | None:
        """Return a Pod from JSON (bytes or a msgspec.Raw); None if it has finished. Raises DecodeError."""
        if self._wire is None:
            from kubesched_lint.cluster.pod_json import PodJsonDecoder

            self._wire = PodJsonDecoder()
        parts = self._wire.pod(document)
        if parts is None:  # something has an unexpected type: the slow reader handles it, or reports what and where
            return self.value(self._wire.plain(document))
        if parts.status.phase in _OVER:
            return None
        return self._bound(parts, document)

    def _bound(self, parts: PodParts, document: Any) -> BoundPod:
        assert self._wire is not None
        meta, spec, status = parts.metadata, parts.spec, parts.status
        node = spec.nodeName or ""
        owner = self._owner(parts)
        pinned = bool(node) and owner is not None and owner.kind == "DaemonSet"
        key = self._wire.key(parts, node if pinned else "")
        pod = self._pods.get(key)
        if pod is None:
            pod = decode_pod_object(_without_node(self._wire.plain(document)))
            if pinned:
                pod = unpinned(pod, node)
            self._pods[key] = pod
        ready = next((c.status for c in status.conditions or () if c.type == "Ready"), "True")
        return BoundPod(
            name=meta.name,
            node=self._shared(node),
            pod=pod,
            owner=owner,
            terminating=meta.deletionTimestamp is not None,
            kept_by_finalizers=meta.deletionTimestamp is not None and is_holding(meta.finalizers or ()),
            start_time=self._shared(status.startTime or ""),
            created=self._shared(meta.creationTimestamp or ""),
            nominated_node=status.nominatedNodeName or "",
            ready=ready == "True",
            unscheduled=None if node else decode_unscheduled(self._wire.plain(document)),
        )

    def _owner(self, parts: PodParts) -> Owner | None:
        for owner in parts.metadata.ownerReferences or ():
            if owner.controller:
                key = (owner.kind, owner.name, owner.uid)
                found = self._owners.get(key)
                if found is None:
                    found = self._owners[key] = Owner(*key)
                return found
        return None

    def _shared(self, written: str) -> str:
        return self._texts.setdefault(written, written)


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
