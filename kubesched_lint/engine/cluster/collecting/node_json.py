"""The parts of a Node that ``Collector`` reads, decoded from JSON by msgspec; all else is skipped.

Equal lists of images, the longest part of a Node, are decoded once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypedDict

import msgspec
from msgspec import Raw, Struct

from kubesched_lint.engine.cluster.collecting.pod_json import Part, items_of
from kubesched_lint.engine.model.decode.fields import Value
from kubesched_lint.engine.model.decode.nodes import images_of


class _Meta(TypedDict, total=False):
    name: Any
    labels: Any
    annotations: Any
    creationTimestamp: Any


class _Spec(TypedDict, total=False):
    taints: Any
    unschedulable: Any


class _Status(TypedDict, total=False):
    allocatable: Any
    conditions: Any
    declaredFeatures: Any
    nodeInfo: Any
    images: Raw


class _Node(Struct, gc=False):
    apiVersion: Literal["v1"]  # noqa: N815 - the API's name
    kind: Literal["Node"]
    metadata: _Meta
    spec: _Spec = {}
    status: _Status = {}


class NodeJsonDecoder:
    """Decoders that are built once."""

    def __init__(self) -> None:
        self._nodes = msgspec.json.Decoder(Part[_Node])
        self._images: dict[bytes, dict[str, int]] = {}
        self._last: tuple[Raw, dict[str, int]] = Raw(b"null"), {}

    def nodes(self, part: bytes) -> Iterator[tuple[Value, dict[str, int]]] | None:
        """Return the nodes of a part of a ``kind: List``, each with its images; None if it may hold anything else."""
        nodes = items_of(self._nodes, part)
        return None if nodes is None else map(self._plain, nodes)

    def _plain(self, node: _Node) -> tuple[Value, dict[str, int]]:
        return {"metadata": node.metadata, "spec": node.spec, "status": node.status}, self._known(node)

    def _known(self, node: _Node) -> dict[str, int]:
        said = node.status.pop("images", Raw(b"null"))
        if said == self._last[0]:  # as on most nodes of a group: to compare costs less than a hash
            return self._last[1]
        images = bytes(said)
        known = self._images.get(images)
        if known is None:
            known = self._images[images] = images_of({"images": msgspec.json.decode(images)})
        self._last = said, known
        return known
