"""What is known of a scenario besides manifests and cluster: what the user says, and what was before a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.apiserver.values.removed import removed_in
from kubesched_lint.engine.base.releases import judged_by
from kubesched_lint.engine.scenario.settings.not_read import NotRead

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubesched_lint.engine.cluster.cluster import Cluster
    from kubesched_lint.engine.model.inventory import Inventory
    from kubesched_lint.engine.model.policy import DisruptionBudget


class Premises(Struct, frozen=True):
    """The user's settings besides manifests and snapshot, and the workloads before the change."""

    apply_order: str = "kubectl"
    """The tool that applies the manifests: it decides the order in which they are created."""

    kubernetes_version: str = ""
    """Empty: that of the cluster. A Scenario's is never empty."""

    not_read: NotRead = NotRead()
    """What of the set was not read."""

    feature_gates: str = ""
    """``Name=true,Other=false``, over what the cluster's file states."""

    before: Inventory | None = None
    """The manifests before the change that is judged; None if nobody compares. See ``engine.scenario.former``."""

    survive: tuple[str, ...] = ()
    """Events that every workload must survive."""

    @property
    def set_is_complete(self) -> bool:
        """False if some documents create pods that we cannot see: Helm sources, patches, custom resources."""
        return self.not_read.is_nothing

    def settled(self, cluster: Cluster | None) -> Premises:
        """Return the premises with the version that a scenario of this cluster is judged by."""
        version = judged_by(self.kubernetes_version, cluster.server_version if cluster else "")
        return self if version == self.kubernetes_version else replace(self, kubernetes_version=version)

    def unserved(self, budgets: Iterable[DisruptionBudget]) -> tuple[DisruptionBudget, ...]:
        """Return the budgets of an API version that is gone: the API server refuses them."""
        return tuple(filter(self._is_gone, budgets))

    def _is_gone(self, budget: DisruptionBudget) -> bool:
        served_as = getattr(budget.source, "api_version", "")
        return bool(removed_in(served_as, "PodDisruptionBudget", self.kubernetes_version))
