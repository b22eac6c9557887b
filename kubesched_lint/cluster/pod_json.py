"""The parts of a Pod that scheduling reads, decoded from JSON by msgspec; all else is skipped.

Parts that are only compared stay raw bytes: pods with equal raw parts are equal, and only one of them is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from kubesched_lint.model.pod_fields import CONTAINER, POD, VOLUME

_NULL = Raw(b"null")


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
    conditions: list[ConditionParts] | None = None


class PodParts(Struct, gc=False):
    metadata: MetaParts
    spec: SpecParts
    status: StatusParts = StatusParts()


class PodJsonDecoder:
    """Decoders that are built once."""

    def __init__(self) -> None:
        self._pod = msgspec.json.Decoder(PodParts)
        self._encode = msgspec.json.Encoder().encode

    def pod(self, document: bytes | Raw) -> PodParts | None:
        """Return the parts of a Pod; None if a value has a type that no API server prints, or there is no spec."""
        try:
            return self._pod.decode(document)
        except msgspec.ValidationError:
            return None

    def plain(self, document: bytes | Raw) -> dict[str, Any]:
        """Return the whole object as plain values."""
        found = msgspec.json.decode(document)
        return found if isinstance(found, dict) else {}

    def key(self, parts: PodParts, pinned_to: str) -> bytes:
        """Return a key equal for pods that scheduling cannot distinguish, except for their node ``pinned_to``.

        Changes ``parts``.
        """
        spec = parts.spec
        spec.nodeName = None
        if spec.volumes:
            spec.volumes = [v for v in spec.volumes if _is_read(v)]
        if pinned_to and spec.affinity:
            terms = bytes(spec.affinity.nodeAffinity)
            spec.affinity.nodeAffinity = Raw(terms.replace(f'"{pinned_to}"'.encode(), b'""'))
        return self._encode((parts.metadata.namespace, parts.metadata.labels, spec))


def _is_read(volume: VolumeParts) -> bool:
    name, volume.name = volume.name, None
    if volume == _NO_VOLUME:
        return False
    volume.name = name
    return True
