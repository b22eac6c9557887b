"""The parts of a Pod that scheduling reads, decoded from JSON by msgspec; all else is skipped.

Parts that are only compared stay raw bytes: pods with equal raw parts are equal, and only one of them is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Raw, Struct

from kubesched_lint.model.pod_fields import CONTAINER, POD, VOLUME

T = TypeVar("T")
_NULL = Raw(b"null")
_MOST_CONDITIONS = 1 << 10
"""Of so many different ones it is remembered whether they say that the pod is ready."""


def _with_raw(base: type[Struct], fields: Iterable[str]) -> type[Struct]:
    """Return ``base`` with a raw field for each of ``fields`` that it lacks."""
    more = [(name, Raw, _NULL) for name in fields if name not in base.__struct_fields__]
    return msgspec.defstruct(base.__name__, more, bases=(base,), module=__name__, gc=False, omit_defaults=True)


class OwnerParts(Struct, gc=False):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class MetaParts(Struct, gc=False):
    name: str
    namespace: str | None = None
    labels: Raw = _NULL
    ownerReferences: list[OwnerParts] | None = None  # noqa: N815 - the API's name
    creationTimestamp: str | None = None  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    finalizers: list[str] | None = None


class ContainerParts(Struct, gc=False, omit_defaults=True):
    name: str | None = None
    image: str | None = None
    restartPolicy: str | None = None  # noqa: N815


class VolumeParts(Struct, gc=False, omit_defaults=True):
    """Only sources that scheduling reads: each pod's token volume has a random name that would make it unique."""

    name: str | None = None


if not TYPE_CHECKING:
    ContainerParts = _with_raw(ContainerParts, CONTAINER)
    VolumeParts = _with_raw(VolumeParts, VOLUME)

_NO_VOLUME = VolumeParts()


class AffinityParts(Struct, gc=False, omit_defaults=True):
    nodeAffinity: Raw = _NULL  # noqa: N815
    podAffinity: Raw = _NULL  # noqa: N815
    podAntiAffinity: Raw = _NULL  # noqa: N815


class SpecParts(Struct, gc=False, omit_defaults=True):
    """The fields used here; the other fields that decoding reads are raw: see ``_with_raw``."""

    nodeName: str | None = None  # noqa: N815
    containers: list[ContainerParts] | None = None
    initContainers: list[ContainerParts] | None = None  # noqa: N815
    affinity: AffinityParts | None = None
    volumes: list[VolumeParts] | None = None


if not TYPE_CHECKING:
    SpecParts = _with_raw(SpecParts, POD)


class ConditionParts(Struct, gc=False):
    type: str = ""
    status: str = ""


class StatusParts(Struct, frozen=True, gc=False):
    phase: str | None = None
    startTime: str | None = None  # noqa: N815
    nominatedNodeName: str | None = None  # noqa: N815
    conditions: Raw = _NULL


class PodParts(Struct, gc=False):
    metadata: MetaParts
    spec: SpecParts
    status: StatusParts = StatusParts()


class ListedPod(PodParts, gc=False, kw_only=True):
    apiVersion: Literal["v1"]  # noqa: N815
    kind: Literal["Pod"]


class Part(Struct, Generic[T], gc=False):
    """A part of a list that holds nothing but objects of one kind."""

    items: list[T]
    kind: Any = None


def items_of(decoder: msgspec.json.Decoder[Part[T]], part: bytes) -> list[T] | None:
    """Return the objects of a part of a ``kind: List``; None if it may hold anything else."""
    try:
        found = decoder.decode(part)
    except msgspec.ValidationError:
        return None
    return found.items if found.kind in (None, "List") else None


class PodJsonDecoder:
    """Decoders that are built once."""

    def __init__(self) -> None:
        self._pod = msgspec.json.Decoder(PodParts)
        self._pods = msgspec.json.Decoder(Part[ListedPod])
        self._conditions = msgspec.json.Decoder(list[ConditionParts] | None)
        self._encode = msgspec.json.Encoder().encode
        self._ready: dict[bytes, bool] = {}

    def pod(self, document: bytes | Raw) -> PodParts | None:
        """Return the parts of a Pod; None if a value has a type that no API server prints, or there is no spec."""
        try:
            parts = self._pod.decode(document)
            self.is_ready(parts)
        except msgspec.ValidationError:
            return None
        return parts

    def pods(self, part: bytes) -> Sequence[PodParts] | None:
        """Return the pods of a part of a ``kind: List``; None if it may hold anything else."""
        return items_of(self._pods, part)

    def plain(self, document: bytes | Raw) -> dict[str, Any]:
        """Return the whole object as plain values."""
        found = msgspec.json.decode(document)
        return found if isinstance(found, dict) else {}

    def pod_of(self, parts: PodParts) -> dict[str, Any]:
        """Return the object as plain values, with what equal pods share."""
        parts.spec.nodeName = None
        meta = {"namespace": parts.metadata.namespace, "labels": parts.metadata.labels}
        return self.plain(self._encode({"metadata": meta, "spec": parts.spec}))

    def conditions_of(self, parts: PodParts) -> dict[str, Any]:
        """Return the object as plain values, with the conditions of its status alone."""
        return {"status": {"conditions": msgspec.json.decode(parts.status.conditions)}}

    def is_ready(self, parts: PodParts) -> bool:
        """Return whether a pod is ready, so far as its conditions say; many pods have the same ones.

        Raises ValidationError for conditions that no API server prints.
        """
        conditions = bytes(parts.status.conditions)
        found = self._ready.get(conditions)
        if found is None:
            if len(self._ready) >= _MOST_CONDITIONS:
                self._ready.clear()
            said = (c.status for c in self._conditions.decode(conditions) or () if c.type == "Ready")
            found = self._ready[conditions] = next(said, "True") == "True"
        return found

    def key(self, parts: PodParts, pinned_to: str) -> bytes:
        """Return a key equal for pods that scheduling cannot distinguish, except for their node ``pinned_to``."""
        spec = parts.spec
        node, volumes, affinity = spec.nodeName, spec.volumes, spec.affinity
        spec.nodeName = None
        if volumes:
            spec.volumes = [v for v in volumes if _is_read(v)]
        if pinned_to and affinity:
            terms = bytes(affinity.nodeAffinity).replace(f'"{pinned_to}"'.encode(), b'""')
            spec.affinity = AffinityParts(Raw(terms), affinity.podAffinity, affinity.podAntiAffinity)
        key = self._encode((parts.metadata.namespace, parts.metadata.labels, spec))
        spec.nodeName, spec.volumes, spec.affinity = node, volumes, affinity
        return key


def _is_read(volume: VolumeParts) -> bool:
    name, volume.name = volume.name, None
    is_read = volume != _NO_VOLUME
    volume.name = name
    return is_read
