"""A node as the scheduler sees it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct, field

from kubesched_lint.engine.base.partly_compared import PartlyCompared
from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.model.labels import Labels, Requirement
from kubesched_lint.engine.model.pod import Resources

if TYPE_CHECKING:
    from kubesched_lint.engine.model.devices.devices import DeviceOffer

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
_DOMAINS = {HOSTNAME: ("node", "nodes"), ZONE: ("zone", "zones")}
OS = "kubernetes.io/os"
ARCH = "kubernetes.io/arch"
KEPT_LIKE = {"beta.kubernetes.io/os": OS, "beta.kubernetes.io/arch": ARCH}
"""Labels that a controller keeps equal to other labels → those other labels."""

CSI_ZONES = ("topology.ebs.csi.aws.com/zone", "topology.gke.io/zone", "topology.disk.csi.azure.com/zone")
"""Label keys under which the clouds' CSI drivers publish a node's zone when they register on it.

Mirrors the topology keys of ``csi-translation-lib/plugins`` (aws_ebs.go, gce_pd.go, azure_disk.go, v1.36), and what
Karpenter's providers add to NormalizedLabels of ``sigs.k8s.io/karpenter/pkg/apis/v1/labels.go``.
"""
PLACE_LIKE = {
    **dict.fromkeys(CSI_ZONES, ZONE),
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
}
"""Other names of zone and region → the stable names (NormalizedLabels of Karpenter)."""

SET_LIKE = {**PLACE_LIKE, "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type"}
"""Other names of labels that a cloud sets on its nodes → the stable names."""

SET_BY_KUBELETS = (
    ARCH,
    "beta.kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    REGION,
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    *CSI_ZONES,
)
"""Labels that kubelets, cloud providers and CSI drivers put on real nodes and that a sketch need not write.

Mirrors labelReconcileInfo of ``cloud-provider/controllers/node/node_controller.go`` (v1.36) for zone, region and type.
"""

_PLACES = frozenset(["zone", "region", "rack", "row", "room", "host", "datacenter", "topology", "id"])
"""Words in keys of labels that say where a node is, or which one it is."""


def is_of_csi_driver(key: str) -> bool:
    """Return whether a CSI driver sets the label when it registers.

    Its key begins with the driver's domain, as in ``topology.ebs.csi.aws.com/zone`` and ``topology.linode.com/region``.
    """
    parts = key.rpartition("/")[0].split(".")
    return "csi" in parts or (parts[0] == "topology" and parts[-2:] != ["kubernetes", "io"])


def names_place(key: str) -> bool:
    """Return whether a label says where a node is, as far as its key tells: a node like it may be elsewhere."""
    domain, _, name = key.rpartition("/")
    return domain.startswith(("topology.", "failure-domain.")) or not _PLACES.isdisjoint(re.split("[-._]", name))


def stable_key(key: str) -> str:
    """Return the stable name of a label that has several names."""
    return SET_LIKE.get(key) or KEPT_LIKE.get(key, key)


def zone_of(labels: Labels) -> str:
    """Return a node's zone by any of the names of its label; empty if it has none."""
    names = (ZONE, *(other for other, stable in PLACE_LIKE.items() if stable == ZONE))
    return next((labels[name] for name in names if name in labels), "")


def with_place_names(labels: Labels) -> Labels:
    """Return the labels of a cloud pool's future node, with zone, region and machine type under all their names."""
    return {**{other: labels[stable] for other, stable in SET_LIKE.items() if stable in labels}, **labels}


def with_kept_labels(labels: Labels) -> Labels:
    """Return the labels of a node after a controller has set those that it keeps equal to others.

    Mirrors labelReconcileInfo of ``pkg/controller/nodelifecycle/node_lifecycle_controller.go`` (v1.36): the stable
    label is the source of truth; its beta name exists if the stable one does.
    """
    kept = {beta: labels[stable] for beta, stable in KEPT_LIKE.items() if stable in labels}
    return {**labels, **kept} if kept else labels


class Taint(Struct, frozen=True):
    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Node(PartlyCompared, frozen=True):
    """A node. ``allocatable`` None: the sketch gives no resources, so every rule about resources skips this node."""

    uncompared: ClassVar[tuple[str, ...]] = ("path", "kubelet_version", "devices")

    name: str
    labels: Labels = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    allocatable: Resources | None = None
    ready: bool = True
    elastic: bool = False
    """An autoscaler creates and removes it."""
    images: Mapping[str, int] = field(default_factory=dict)
    """Image name → size in bytes, from ``status.images``."""
    declared_features: tuple[str, ...] = ()
    path: Path = ()
    group: str = ""
    """The node group that could add nodes like it, as ``eks.amazonaws.com/nodegroup=general``; empty if none."""
    kubelet_version: str = ""
    """As in ``status.nodeInfo``, such as ``v1.36.2``; empty if unknown."""
    devices: tuple[DeviceOffer, ...] | None = None
    """What a sketch or a pool says about its devices; None: nothing. A real node has ResourceSlices instead."""


# --- A pool: the nodes that an autoscaler may add, before any of them exists
# ---------------------------------------------

KARPENTER = "karpenter"
CLUSTER_AUTOSCALER = "cluster-autoscaler"
AUTOPILOT = "gke-autopilot"


class Shape(Struct, frozen=True):
    """A machine type. ``allocatable`` None: its nodes' resources are unknown, so rules about resources skip them."""

    name: str
    allocatable: Resources | None = None
    capacity: Resources | None = None
    """What counts against the limits of a pool, if it is known to differ from ``allocatable``."""
    labels: Labels = field(default_factory=dict)
    most: Resources | None = None
    """Upper bound for every node of the type if ``allocatable`` is an estimate; None if it is exact."""


class NodeOverlay(PartlyCompared, frozen=True):
    """Extended resources that Karpenter expects of machine types; the table of a cloud does not list them."""

    name: str
    requirements: tuple[Requirement, ...] = ()
    """The labels of the nodes that it applies to."""
    capacity: Resources = field(default_factory=dict)
    source: Source | None = None


class NodePool(PartlyCompared, frozen=True):
    """A Karpenter NodePool, a node group of cluster-autoscaler, or a pool of a sketch.

    ``zones`` None: unknown. ``requirements`` restrict labels that the nodes then carry; for ``team Exists``, the nodes
    carry the value that a pod asks for. ``shapes`` empty: any machine type of ``cloud`` that meets the requirements.
    """

    name: str
    maker: str = KARPENTER
    zones: tuple[str, ...] | None = None
    labels: Labels = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    shapes: tuple[Shape, ...] = ()
    cloud: str = ""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Resource → maximum over all nodes of the pool; ``nodes`` is a number of nodes."""
    inferred: bool = False
    """Only its nodes show it: nobody wrote it down."""
    minimum: int = 0
    """The number of its nodes that always exist."""
    weight: int = 0
    devices: tuple[DeviceOffer, ...] | None = None
    """The devices of each node; None: unknown."""
    expires_after: str = ""
    """When Karpenter begins to drain a node, as ``720h``; empty: never, or nobody knows."""
    drain_limit: str = ""
    """How long it waits for the pods of a node that it drains, as ``1h``; empty: for ever."""
    path: Path = ()
    source: Source | None = None

    @property
    def sees_empty_zones(self) -> bool:
        """Whether the autoscaler spreads over zones that have no node yet.

        Karpenter counts every zone that its pools could serve as a domain. cluster-autoscaler runs the scheduler's
        filters, in which a zone without nodes does not exist.
        """
        return self.maker != CLUSTER_AUTOSCALER

    @property
    def separates(self) -> bool:
        """Whether a nodeSelector with its toleration creates nodes with that label and taint (GKE Autopilot)."""
        return self.maker == AUTOPILOT


def domain_word(key: str, count: int = 1) -> str:
    """Return ``zone`` or ``nodes`` for the usual topology keys, ``value of rack`` for another."""
    singular, more = _DOMAINS.get(key, (f"value of {key}", f"values of {key}"))
    return singular if count == 1 else more


def domains_in_words(key: str, names: Sequence[str]) -> str:
    """Return ``3 zones (a, b, c)``, a long list cut."""
    return f"{len(names)} {domain_word(key, len(names))} ({first_few(names)})"
