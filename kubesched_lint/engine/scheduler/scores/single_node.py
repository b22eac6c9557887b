"""The short scores, which judge each node by itself: its labels, taints and images."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.quirks import IMAGE_VOLUMES_AMONG_IMAGES, has
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.cluster.topology import NodeCounter
from kubesched_lint.engine.model.pod import Pod, profile_of
from kubesched_lint.engine.scheduler.scores.levels import MAX_NODE_SCORE, Levels, among, level, of_tally, raised, scaled
from kubesched_lint.engine.scheduler.tolerance import tolerates_any


class NodeAffinity:
    """A node scores the sum of the weights of the preferred node terms, the pod's and its profile's, that it matches.

    Mirrors ``pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go`` (v1.36) and PreferredSchedulingTerms of
    ``component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go``, where an empty term matches nothing.
    """

    name = "NodeAffinity"

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        terms = (*profile_of(pod).added_preferred_node_terms, *pod.preferred_node_terms)
        self._is_skipped = not terms
        self._raw = level(0, state.index.all)
        for preferred in terms:
            self._raw = raised(self._raw, state.index.matching_term(preferred.term), preferred.weight)

    def levels(self, feasible: NodeSet) -> Levels | None:
        return None if self._is_skipped else scaled(among(self._raw, feasible))


class TaintToleration:
    """Nodes with fewer PreferNoSchedule taints that the pod does not tolerate score higher.

    Mirrors ``pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go`` (v1.36).
    """

    name = "TaintToleration"

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        disliked = NodeCounter()
        for taint in state.index.disliked:
            if not tolerates_any(pod.tolerations, taint):
                disliked.add(state.index.taints[taint])
        self._raw = of_tally(disliked, state.index.all)

    def levels(self, feasible: NodeSet) -> Levels:
        return scaled(among(self._raw, feasible), reverse=True)


_MB = 1 << 20
_THRESHOLD = 23 * _MB
_THRESHOLD_PER_CONTAINER = 1000 * _MB


class ImageLocality:
    """Nodes that already have the pod's images score higher: by the images' size and by how many nodes have them.

    Mirrors ``pkg/scheduler/framework/plugins/imagelocality/image_locality.go`` and, for an image's size,
    addNodeImageStates of ``pkg/scheduler/backend/cache/cache.go`` (v1.36): the size on the first node that lists the
    image.
    """

    name = "ImageLocality"

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        count = len(state.index)
        sums = level(0, state.index.all)
        for image in _images(pod):
            size, holders = state.index.image(normalized_image_name(image))
            if holders:
                sums = raised(sums, holders, int(size * (holders.bit_count() / count)))
        images = len(pod.init_containers) + len(pod.containers)
        if has(state.kubernetes_version, IMAGE_VOLUMES_AMONG_IMAGES):
            images = sum(1 for _ in _images(pod))
        self._levels: dict[int, NodeSet] = {}
        for value, members in sums.items():
            score = priority(value, images)
            self._levels[score] = self._levels.get(score, EMPTY) | members

    def levels(self, feasible: NodeSet) -> Levels:
        return among(self._levels, feasible)


def priority(total: int, images: int) -> int:
    """Return 0 for up to 23 MB of images on the node, 100 from 1000 MB per image on, else in between."""
    most = _THRESHOLD_PER_CONTAINER * images
    if most <= _THRESHOLD:
        return 0
    return MAX_NODE_SCORE * (min(max(total, _THRESHOLD), most) - _THRESHOLD) // (most - _THRESHOLD)


def normalized_image_name(name: str) -> str:
    """Return the name with ``:latest`` if it has no tag."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def _images(pod: Pod) -> Iterator[str]:
    for container in (*pod.init_containers, *pod.containers):
        yield container.image
    for volume in pod.volumes:
        if volume.kind == "image":
            yield str(volume.disk.get("reference", ""))
