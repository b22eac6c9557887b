"""A pool: what nodes an autoscaler may add, before any of them exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kubesched_lint.findings import Path, Source
from kubesched_lint.model.labels import Labels, Requirement
from kubesched_lint.model.node import Taint
from kubesched_lint.model.pod import Resources
from kubesched_lint.record import record

KARPENTER = "karpenter"
CLUSTER_AUTOSCALER = "cluster-autoscaler"
AUTOPILOT = "gke-autopilot"


@record
class Shape:
    """A machine type. ``allocatable`` None: what its nodes offer is unknown, so rules about resources skip them."""

    name: str
    allocatable: Resources | None = None
    capacity: Resources | None = None
    """What counts against the limits of a pool, where it is known to differ from ``allocatable``."""
    labels: Labels = field(default_factory=dict)
    most: Resources | None = None
    """What no node of it exceeds, where ``allocatable`` is an estimate; None where it is exact."""


@record
class NodePool:
    """A Karpenter NodePool, a node group of cluster-autoscaler, or a pool of a sketch.

    ``zones`` None: not told. ``requirements`` limit labels that the nodes then carry: of ``team Exists``, whatever
    value a pod asks for. ``shapes`` empty: any machine type of ``cloud`` that meets the requirements.
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
    """Resource → most of it in all nodes of the pool; ``nodes`` is a number of nodes."""
    minimum: int = 0
    """So many of its nodes are always there."""
    weight: int = 0
    path: Path = field(default=(), compare=False)
    source: Source | None = field(default=None, compare=False)

    @property
    def sees_empty_zones(self) -> bool:
        """Whether the autoscaler spreads over zones that have no node yet.

        Karpenter counts every zone that its pools could serve as a domain; cluster-autoscaler asks the scheduler's
        filters, to which a zone without nodes does not exist.
        """
        return self.maker != CLUSTER_AUTOSCALER

    @property
    def separates(self) -> bool:
        """Whether a nodeSelector with its toleration makes nodes with that label and taint (GKE Autopilot)."""
        return self.maker == AUTOPILOT
