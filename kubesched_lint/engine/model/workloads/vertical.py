"""A VerticalPodAutoscaler: what it may set the requests of a workload's containers to.

Mirrors kubernetes/autoscaler (main after release 1.5.1), ``vertical-pod-autoscaler/pkg/utils/vpa/api.go`` and
``capping.go``: the container's own policy wins over ``*``, a target is raised to minAllowed and then cut to maxAllowed,
and a bound of zero is none.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from kubesched_lint.engine.base.partly_compared import PartlyCompared
from kubesched_lint.engine.base.places import ObjectRef, Path, Source
from kubesched_lint.engine.model.pod import Container, Resources

ALL_OTHERS = "*"
"""The container name of the policy for containers without one of their own."""
EVICTING = ("Recreate", "Auto", "InPlaceOrRecreate")
"""The modes in which the updater evicts (``pkg/updater/logic/updater.go``).

InPlaceOrRecreate evicts where the kubelet cannot resize the pod, so where the node is too small.
"""


class ContainerPolicy(PartlyCompared, frozen=True):
    container: str = ALL_OTHERS
    is_on: bool = True
    least: Resources = field(default_factory=dict)
    """minAllowed, without zeros."""
    most: Resources = field(default_factory=dict)
    """maxAllowed, without zeros."""
    controlled: tuple[str, ...] = ("cpu", "memory")
    is_cut_by_limits: bool = False
    """controlledValues is RequestsOnly: limits stay, and a target is cut to them."""
    path: Path = ()

    def allowed(self, container: Container, targets: Resources) -> dict[str, int]:
        """Return targets of a container within its bounds: millicores of cpu, bytes of memory."""
        amounts = {}
        for name in self.controlled if self.is_on else ():
            if name in targets:
                amount = max(targets[name], self.least.get(name, 0))
                amount = min(amount, self.most.get(name, amount))
                amounts[name] = min(amount, container.limits.get(name, amount)) if self.is_cut_by_limits else amount
        return amounts


_NO_POLICY = ContainerPolicy()


class Recommendation(PartlyCompared, frozen=True):
    """The target of a container in the status. ``path`` is empty if only the cluster's object has the status."""

    target: Resources = field(default_factory=dict)
    path: Path = ()


class VerticalAutoscaler(PartlyCompared, frozen=True):
    namespace: str
    name: str
    target: ObjectRef
    mode: str = "Recreate"
    min_replicas: int = 2
    """Its updater evicts no pod of a workload with fewer live pods; 2 is the default of ``--min-replicas``."""
    policies: tuple[ContainerPolicy, ...] = ()
    recommended: Mapping[str, Recommendation] = field(default_factory=dict)
    """By container; empty if the object has no status."""
    source: Source | None = None
    """None: of the cluster only."""

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("VerticalPodAutoscaler", self.namespace, self.name)

    def policy_of(self, container: str) -> ContainerPolicy:
        named = {policy.container: policy for policy in self.policies}
        return named.get(container) or named.get(ALL_OTHERS) or _NO_POLICY

    def evicts_from(self, replicas: int) -> bool:
        """Return whether its updater may evict a running pod of a workload with this many."""
        return self.mode in EVICTING and replicas >= self.min_replicas
