"""Nodes that already have the pod's images score higher: by the images' size and by how many nodes have them.

Mirrors ``pkg/scheduler/framework/plugins/imagelocality/image_locality.go`` and, for an image's size, addNodeImageStates
of ``pkg/scheduler/backend/cache/cache.go`` (v1.36): the size on the first node that lists the image.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.scores.levels import MAX_NODE_SCORE, Levels, among, level, raised

NAME = "ImageLocality"
WEIGHT = 1
_MB = 1 << 20
_LEAST = 23 * _MB
_MOST_PER_CONTAINER = 1000 * _MB


class ImageLocality:
    name = NAME
    weight = WEIGHT

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        count = len(state.index)
        sums = level(0, state.index.all)
        for image in _images(pod):
            size, holders = state.index.image(normalized_image_name(image))
            if holders:
                sums = raised(sums, holders, int(size * (holders.bit_count() / count)))
        containers = len(pod.init_containers) + len(pod.containers)
        self._levels: dict[int, NodeSet] = {}
        for value, members in sums.items():
            score = priority(value, containers)
            self._levels[score] = self._levels.get(score, EMPTY) | members

    def levels(self, feasible: NodeSet) -> Levels:
        return among(self._levels, feasible)


def priority(total: int, containers: int) -> int:
    """Return 0 for up to 23 MB of images on the node, 100 from 1000 MB per container on, else in between."""
    most = _MOST_PER_CONTAINER * containers
    if most <= _LEAST:
        return 0
    return MAX_NODE_SCORE * (min(max(total, _LEAST), most) - _LEAST) // (most - _LEAST)


def normalized_image_name(name: str) -> str:
    """Return the name with ``:latest`` if it has no tag."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def _images(pod: Pod) -> Iterator[str]:
    for container in (*pod.init_containers, *pod.containers):
        yield container.image
    for volume in pod.volumes:
        if volume.kind == "image":
            yield str(volume.disk.get("reference", ""))
