"""Read running pods, up to some hundred thousand: only scheduling fields are decoded, and equal pods share one Pod."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import ValidationError
from msgspec.structs import replace

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.collecting.pod_json import NO_SIZES, PodJsonDecoder
from kubesched_lint.engine.cluster.limits import MOST_KEPT
from kubesched_lint.engine.model.decode.fields import Value, labels, mapping, text
from kubesched_lint.engine.model.decode.nodes import decode_bound_pod, decode_pod_object, decode_unscheduled, is_holding
from kubesched_lint.engine.model.decode.resizes import with_held
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod

if TYPE_CHECKING:
    from msgspec import Raw

    from kubesched_lint.engine.cluster.collecting.pod_json import (
        AffinityParts,
        MetaParts,
        Names,
        PodParts,
        Said,
        Sizes,
        SpecParts,
    )

_OVER = ("Succeeded", "Failed")


class _Sample(NamedTuple):
    """A pod of an owner, which the next one most often equals."""

    owner: Owner | None
    namespace: str | None
    labels: Raw
    spec: SpecParts
    sizes: Sizes
    pod: Pod


class PodReader:
    """Cache decoded pods, so that equal pods become one ``Pod``.

    A bound pod's spec is kept without ``nodeName``, and without the affinity by which the DaemonSet controller pins a
    pod to its node: ``BoundPod.node`` and the owner hold the same facts, and with them no two such pods would be equal.
    """

    def __init__(self) -> None:
        self.times: dict[str, str] = {}
        """When pods were created and started; equal times are one text."""
        self._nodes: dict[str, str] = {}
        self._pods: dict[tuple[str | None, bytes, Names, bytes], Pod] = {}
        """Namespace, labels, names of containers and all else as text → the pod."""
        self._unlike_in_names: dict[bytes, Pod] = {}
        """All else as text → a pod: most pods of a cluster differ from others in names and labels alone."""
        self._owners: dict[bytes, Owner | None] = {}
        """The owners of a pod as text → its controller."""
        self._samples: dict[bytes, _Sample] = {}
        self._resized: dict[tuple[Pod, bytes], Pod] = {}
        """A pod by its spec, and its sizes as text → the pod as it counts."""
        self._conditions: tuple[Raw | None, Said | None] = None, None
        """The last conditions, and what they say; many pods have the same ones."""
        self._last: dict[Owner | None, Pod] = {}
        """Controller → the last of its pods that came as plain values: the next one most often equals it."""

    def value(self, value: Value) -> BoundPod | None:
        """Return a Pod from plain values; None if it has finished. Raises DecodeError."""
        if text(mapping(value, "status", ()), "phase", ("status",)) in _OVER:
            return None
        bound = decode_bound_pod(value, decode_pod_object(_without_node(value)))
        for time in (bound.start_time, bound.created):
            self.times.setdefault(time, time)
        pod = unpinned(bound.pod, bound.node) if _is_pinned(bound) else bound.pod
        last = self._last.get(bound.owner)
        if last is None or not same_values(last, pod):
            last = self._last[bound.owner] = pod
        return bound if last is bound.pod else replace(bound, pod=last)

    def json(self, document: Any) -> BoundPod | None:
        """Return a Pod from JSON (bytes or a msgspec.Raw); None if it has finished. Raises DecodeError."""
        parts = self._wire.pod(document)
        if parts is None:  # something has an unexpected type: the slow reader handles it, or reports what and where
            return self.value(self._wire.plain(document))
        return self._bound(parts)

    def listed(self, part: bytes) -> list[BoundPod | None] | None:
        """Return the pods of a part of a list, each as ``json`` returns it; None if it may hold anything else."""
        pods = self._wire.pods(part)
        try:
            return None if pods is None else [*map(self._bound, pods)]
        except ValidationError:
            return None

    @cached_property
    def _wire(self) -> PodJsonDecoder:
        return PodJsonDecoder()

    def _bound(self, parts: PodParts) -> BoundPod | None:
        meta, spec, status = parts.metadata, parts.spec, parts.status
        if status.phase in _OVER:
            return None
        node, start, created = spec.nodeName or "", status.startTime or "", meta.creationTimestamp or ""
        conditions, said = self._conditions
        if said is None or status.conditions != conditions:
            said = self._wire.said(status.conditions)
            self._conditions = status.conditions, said
        terminating = meta.deletionTimestamp is not None
        sample = self._kind(meta, spec, node, self._wire.sizes(status, said) if node else NO_SIZES)
        return BoundPod(
            meta.name,
            self._nodes.setdefault(node, node),
            sample.pod,
            sample.owner,
            terminating,
            terminating and is_holding(meta.finalizers or ()),
            self.times.setdefault(start, start),
            self.times.setdefault(created, created),
            status.nominatedNodeName or "",
            said.is_ready,
            None if node else decode_unscheduled(self._wire.conditions_of(parts)),
        )

    def _kind(self, meta: MetaParts, spec: SpecParts, node: str, sizes: Sizes) -> _Sample:
        """Return a pod that equals one with these parts on a node, with the same controller; changes ``spec``."""
        owners = bytes(meta.ownerReferences)
        sample = self._samples.get(owners)
        owner = self._owner(owners) if sample is None else sample.owner
        affinity = spec.affinity
        pin = node if affinity and owner is not None and owner.kind == "DaemonSet" else ""
        self._wire.share(spec, pin)
        if (
            sample is None
            or spec != sample.spec
            or meta.labels != sample.labels
            or sizes != sample.sizes
            or meta.namespace != sample.namespace
        ):
            if len(self._samples) >= MOST_KEPT:
                self._samples.clear()
            pod = self._pod(meta, spec, pin, affinity)
            if sizes != NO_SIZES:
                pod = self._as_it_counts(pod, sizes)
            sample = self._samples[owners] = _Sample(owner, meta.namespace, meta.labels, spec, sizes, pod)
        return sample

    def _as_it_counts(self, pod: Pod, sizes: Sizes) -> Pod:
        said = self._wire.text_of(sizes)
        if (pod, said) not in self._resized:
            self._resized[pod, said] = with_held(pod, self._wire.plain(said))
        return self._resized[pod, said]

    def _owner(self, references: bytes) -> Owner | None:
        if references not in self._owners:
            reference = self._wire.owner(references)
            self._owners[references] = (
                None if reference is None else Owner(reference.kind, reference.name, reference.uid)
            )
        return self._owners[references]

    def _pod(self, meta: MetaParts, spec: SpecParts, pin: str, affinity: AffinityParts | None) -> Pod:
        names, rest = self._wire.apart(spec)
        key = meta.namespace, bytes(meta.labels), names, rest
        pod = self._pods.get(key)
        if pod is None:
            known = self._unlike_in_names.get(rest)
            if known is None:
                pod = decode_pod_object(self._wire.pod_of(meta, spec, affinity))
                self._unlike_in_names[rest] = pod = unpinned(pod, pin) if pin else pod
            else:
                pod = _named(known, meta.namespace, self._wire.labels_of(meta), names)
            self._pods[key] = pod
        return pod


def _named(pod: Pod, namespace: str | None, said: object, names: Names) -> Pod:
    """Return the pod under another namespace, with other labels and other names and images of its containers."""
    first, containers = len(pod.containers), pod.containers + pod.init_containers
    made = [replace(c, name=name or "", image=image or "") for c, (name, image) in zip(containers, names, strict=True)]
    return replace(
        pod,
        namespace=namespace or "default",
        labels=labels({"labels": said}, "labels", ("metadata",)),
        containers=tuple(made[:first]),
        init_containers=tuple(made[first:]),
    )


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
