"""The parts of a Pod that scheduling reads, decoded from JSON by msgspec; all else is skipped.

Parts that are only compared stay raw bytes: pods with equal raw parts are equal, and only one of them is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct

from kubesched_lint.engine.model.decode.resizes import PENDING
from kubesched_lint.engine.model.pod_fields import CONTAINER, POD, VOLUME

T = TypeVar("T")
_NULL = Raw(b"null")
Names = tuple[tuple[str | None, str | None], ...]
"""Name and image of each container."""


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
    ownerReferences: Raw = _NULL  # noqa: N815 - the API's name
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
    reason: str | None = None


class ContainerStatusParts(Struct, gc=False, omit_defaults=True):
    name: str | None = None
    allocatedResources: Raw = _NULL  # noqa: N815
    resources: Raw = _NULL


class StatusParts(Struct, frozen=True, gc=False):
    phase: str | None = None
    startTime: str | None = None  # noqa: N815
    nominatedNodeName: str | None = None  # noqa: N815
    conditions: Raw = _NULL
    containerStatuses: list[ContainerStatusParts] | None = None  # noqa: N815
    initContainerStatuses: list[ContainerStatusParts] | None = None  # noqa: N815
    allocatedResources: Raw = _NULL  # noqa: N815
    resources: Raw = _NULL


class Sizes(Struct, frozen=True, gc=False, omit_defaults=True):
    """What the status of a bound pod says of its resources; ``conditions`` has only what tells a resize apart."""

    containerStatuses: list[ContainerStatusParts] | None = None  # noqa: N815
    initContainerStatuses: list[ContainerStatusParts] | None = None  # noqa: N815
    allocatedResources: Raw = _NULL  # noqa: N815
    resources: Raw = _NULL
    conditions: tuple[ConditionParts, ...] = ()


NO_SIZES = Sizes()


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
        list_part = decoder.decode(part)
    except msgspec.ValidationError:
        return None
    return list_part.items if list_part.kind in (None, "List") else None


class Said(NamedTuple):
    """What the conditions of a pod say."""

    is_ready: bool
    """So far as they say."""
    resize: tuple[ConditionParts, ...]
    """The condition of a resize that waits, if there is one."""


class PodJsonDecoder:
    """Decoders that are built once."""

    def __init__(self) -> None:
        self._pod = msgspec.json.Decoder(PodParts)
        self._pods = msgspec.json.Decoder(Part[ListedPod])
        self._owners = msgspec.json.Decoder(list[OwnerParts] | None)
        self._conditions = msgspec.json.Decoder(list[ConditionParts] | None)
        self._encode = msgspec.json.Encoder().encode

    def pod(self, document: bytes | Raw) -> PodParts | None:
        """Return the parts of a Pod; None if a value has a type that no API server prints, or there is no spec."""
        try:
            parts = self._pod.decode(document)
            self.said(parts.status.conditions)
            self.owner(parts.metadata.ownerReferences)
        except msgspec.ValidationError:
            return None
        return parts

    def pods(self, part: bytes) -> Sequence[PodParts] | None:
        """Return the pods of a part of a ``kind: List``; None if it may hold anything else."""
        return items_of(self._pods, part)

    def plain(self, document: bytes | Raw) -> dict[str, Any]:
        """Return the whole object as plain values."""
        decoded = msgspec.json.decode(document)
        return decoded if isinstance(decoded, dict) else {}

    def share(self, spec: SpecParts, pinned_to: str) -> None:
        """Leave in a spec what other pods may share, without the node, to which a DaemonSet may pin the pod."""
        spec.nodeName = None
        if spec.volumes:
            spec.volumes = [v for v in spec.volumes if _is_read(v)]
        affinity = spec.affinity
        if pinned_to and affinity:
            terms = bytes(affinity.nodeAffinity).replace(f'"{pinned_to}"'.encode(), b'""')
            spec.affinity = AffinityParts(Raw(terms), affinity.podAffinity, affinity.podAntiAffinity)

    def apart(self, spec: SpecParts) -> tuple[Names, bytes]:
        """Return names and images of the containers of a spec, and all else as text."""
        containers = (*(spec.containers or ()), *(spec.initContainers or ()))
        names = tuple([(container.name, container.image) for container in containers])
        for container in containers:
            container.name = container.image = None
        rest = self._encode(spec)
        for container, (name, image) in zip(containers, names, strict=True):
            container.name, container.image = name, image
        return names, rest

    def labels_of(self, meta: MetaParts) -> Any:
        """Return the labels as plain values."""
        return msgspec.json.decode(meta.labels)

    def pod_of(self, meta: MetaParts, spec: SpecParts, affinity: AffinityParts | None) -> dict[str, Any]:
        """Return the object as plain values, with what equal pods share and the affinity of this one."""
        named = {"namespace": meta.namespace, "labels": meta.labels}
        whole = msgspec.structs.replace(spec, affinity=affinity)
        return self.plain(self._encode({"metadata": named, "spec": whole}))

    def conditions_of(self, parts: PodParts) -> dict[str, Any]:
        """Return the object as plain values, with the conditions of its status alone."""
        return {"status": {"conditions": msgspec.json.decode(parts.status.conditions)}}

    def owner(self, references: bytes | Raw) -> OwnerParts | None:
        """Return the controller among the owners of a pod.

        Raises ValidationError for owners that no API server prints.
        """
        return next((owner for owner in self._owners.decode(references) or () if owner.controller), None)

    def said(self, conditions: Raw) -> Said:
        """Return what the conditions of a pod say.

        Raises ValidationError for conditions that no API server prints.
        """
        said = self._conditions.decode(conditions) or ()
        ready = next((c.status for c in said if c.type == "Ready"), "True")
        pending = next((c for c in said if c.type == PENDING), None)
        return Said(ready == "True", () if pending is None else (ConditionParts(PENDING, reason=pending.reason),))

    def sizes(self, status: StatusParts, said: Said) -> Sizes:
        """Return what the status of a bound pod says of its resources."""
        return Sizes(
            status.containerStatuses,
            status.initContainerStatuses,
            status.allocatedResources,
            status.resources,
            said.resize,
        )

    def text_of(self, sizes: Sizes) -> bytes:
        """Return sizes as text that is equal for equal ones."""
        return self._encode(sizes)


def _is_read(volume: VolumeParts) -> bool:
    name, volume.name = volume.name, None
    is_read = volume != _NO_VOLUME
    volume.name = name
    return is_read
