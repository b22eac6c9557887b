"""Labels that follow from others: what clouds and Karpenter set on every node of a zone, machine type or pool."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesched_lint.engine.cluster.nodes.elastic import NODE_POOL
from kubesched_lint.engine.cluster.nodes.shapes import INSTANCE_TYPE, cloud_of, shape_named
from kubesched_lint.engine.model.labels import Labels
from kubesched_lint.engine.model.nodes.node import CSI_ZONES, PLACE_LIKE, REGION, ZONE, Shape

_OLD_TYPE = "beta.kubernetes.io/instance-type"
_AKS_POOL = "kubernetes.azure.com/agentpool"
_GKE_POOL = "cloud.google.com/gke-nodepool"
_MAKERS = {"karpenter.": NODE_POOL, "cloud.google.com/": _GKE_POOL}
"""Prefix of a machine type's labels → label of the nodes whose maker sets them."""
_EKS_KIND = "eks.amazonaws.com/compute-type"
_AUTO_MODE = ("karpenter.k8s.aws/", "eks.amazonaws.com/")
"""Karpenter's domain, and the one of EKS Auto Mode in its place."""
_MARKS = {
    "eks.amazonaws.com/nodegroup": "aws",
    _EKS_KIND: "aws",
    "alpha.eksctl.io/nodegroup-name": "aws",
    _GKE_POOL: "gcp",
    _AKS_POOL: "azure",
}
"""Label that only nodes of one cloud have → the cloud."""
_CSI_CLOUDS = dict(zip(CSI_ZONES, ("aws", "gcp", "azure"), strict=True))
_REGIONS = {
    "aws": r"([a-z]{2}(?:-[a-z]+)+-\d+)",  # eu-west-1a, and the local zone us-west-2-lax-1a
    "gcp": r"(.+)-[a-z]$",
    "azure": r"(.+)-\d$",
}


def following(labels: Labels) -> Labels:
    """Return what follows for a node with these labels; nothing for one of no known cloud and machine type.

    Mirrors the labels of ``cloud-provider/controllers/node/node_controller.go`` (v1.36: zone, region and machine type
    under their old and their stable names), of the CSI drivers that each cloud installs, and Karpenter's own.
    """
    machine = _machine(labels)
    cloud = next((cloud for key, cloud in _MARKS.items() if key in labels), "")
    if machine is not None:
        cloud = cloud or cloud_of([machine.name])
    implied = dict(_of_machine(machine, labels)) if machine is not None else {}
    if NODE_POOL in labels:
        implied |= {"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
    if cloud:
        implied |= dict(_of_cloud(cloud, labels))
    return implied


def _machine(labels: Labels) -> Shape | None:
    kind = labels.get(INSTANCE_TYPE)
    return None if kind is None else shape_named(kind)


def _of_machine(machine: Shape, labels: Labels) -> Iterator[tuple[str, str]]:
    """Yield the labels of a machine type, without those of makers that did not make the node."""
    for key, value in machine.labels.items():
        maker = next((mark for prefix, mark in _MAKERS.items() if key.startswith(prefix)), None)
        if key != INSTANCE_TYPE and (maker is None or maker in labels):
            yield key.replace(*_AUTO_MODE) if _is_auto_mode(labels) else key, value


def _is_auto_mode(labels: Labels) -> bool:
    return labels.get(_EKS_KIND) == "auto"


def _of_cloud(cloud: str, labels: Labels) -> Iterator[tuple[str, str]]:
    if INSTANCE_TYPE in labels:
        yield _OLD_TYPE, labels[INSTANCE_TYPE]
    if _AKS_POOL in labels:
        yield "agentpool", labels[_AKS_POOL]
    places = {key: labels[key] for key in (ZONE, REGION) if key in labels}
    region = re.match(_REGIONS[cloud], places.get(ZONE, ""))
    if region is not None:
        places.setdefault(REGION, region[1])
        yield REGION, places[REGION]
    for other, stable in PLACE_LIKE.items():
        if other in CSI_ZONES and _is_auto_mode(labels):
            continue  # its own driver uses the stable label
        if stable in places and _CSI_CLOUDS.get(other, cloud) == cloud:
            yield other, places[stable]
