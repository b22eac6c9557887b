"""A bound volume with zone or region labels is usable only there.

Mirrors ``pkg/scheduler/framework/plugins/volumezone/volume_zone.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.nodes.node import REGION, ZONE
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scheduler.plugins.verdict import PreFilterRefusal, Rejection

NAME = "VolumeZone"

_GA_LABEL = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    ZONE: ZONE,
    REGION: REGION,
}


def prefilter(pod: Pod, state: ClusterState) -> PreFilterRefusal | NodeSet | None:
    for name in volume_names(pod, state):
        if name not in state.storage.volumes:
            return PreFilterRefusal(NAME, f'persistentvolume "{name}" not found', resolvable=False)
    return None


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    index, elsewhere = state.index, EMPTY
    for name in volume_names(pod, state):
        for _, nodes in _labelled(name, state):
            elsewhere |= index.all & ~nodes
    if elsewhere:
        barred = among & elsewhere & _zonal(state)
        yield Rejection(NAME, "node(s) had no available volume zone", barred, resolvable=False)


def excluding_labels(name: str, position: int, state: ClusterState) -> Iterator[str]:
    """Yield the labels of a volume, ``key=value``, that exclude the node at ``position``."""
    if _zonal(state) >> position & 1:
        yield from (label for label, nodes in _labelled(name, state) if not nodes >> position & 1)


def _labelled(name: str, state: ClusterState) -> Iterator[tuple[str, NodeSet]]:
    """Yield each label of a volume that names zones or regions, with the nodes there."""
    index, volume = state.index, state.storage.volumes.get(name)
    for key, text in volume.labels.items() if volume is not None else ():
        values = _zones(text) if key in _GA_LABEL else None
        if values is None:
            continue
        nodes = EMPTY
        for value in values:
            # A node's beta label, if it has one, takes precedence over the GA label.
            nodes |= index.with_label(key, value)
            nodes |= index.with_label(_GA_LABEL[key], value) & ~index.with_key(key)
        yield f"{key}={text}", nodes


def _zonal(state: ClusterState) -> NodeSet:
    """Return the nodes with any label of a zone or region: the plugin lets all others pass."""
    zonal = EMPTY
    for key in _GA_LABEL:
        zonal |= state.index.with_key(key)
    return zonal


def volume_names(pod: Pod, state: ClusterState) -> Iterator[str]:
    for volume in pod.volumes:
        if volume.kind == "persistentVolumeClaim":
            claim = state.storage.claim(pod.namespace, volume.claim)
            if claim is not None and claim.volume_name:
                yield claim.volume_name


def _zones(text: str) -> frozenset[str] | None:
    """Return LabelZonesToSet: the values between ``__``; None if one is empty, then the label is ignored."""
    values = [value.strip() for value in text.split("__")]
    return frozenset(values) if all(values) else None
