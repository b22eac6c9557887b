"""The order in which the objects of a manifest set are created; it depends on the tool that applies them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from kubesched_lint.engine.model.labels import go_int
from kubesched_lint.engine.model.workloads.workload import Workload

if TYPE_CHECKING:
    from kubesched_lint.engine.base.places import ObjectRef

APPLY_ORDERS = ("kubectl", "helm", "kustomize", "argocd")

# helm v3 pkg/releaseutil/kind_sorter.go InstallOrder, the workload kinds only.
_HELM = ("DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment", "StatefulSet", "Job", "CronJob")
# The order in which `kubectl kustomize` v5.5 prints them (legacy order, also its default): three kinds are ranked, the
# rest follows by group and kind.
_KUSTOMIZE = ("Deployment", "StatefulSet", "CronJob", "DaemonSet", "ReplicaSet", "Job", "Pod", "ReplicationController")
# argo-cd gitops-engine pkg/sync/sync_tasks.go kindOrder, the workload kinds only.
_ARGOCD = ("DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment", "StatefulSet", "Job", "CronJob")
WAVE = "argocd.argoproj.io/sync-wave"
"""Annotation of Argo CD: the wave of an object; 0 without it."""


class CreationOrder:
    """The workloads of a set in the order in which a tool creates them."""

    def __init__(self, workloads: Iterable[Workload], tool: str) -> None:
        self.workloads = apply_order(workloads, tool)

    @cached_property
    def last_of_each(self) -> tuple[Workload, ...]:
        """The workloads, with the last of several definitions of one object."""
        last = {workload.ref: workload for workload in self.workloads}
        return tuple(workload for workload in self.workloads if last[workload.ref] is workload)

    def comes_before(self, workload: Workload, other: Workload) -> bool:
        """Return whether ``workload`` is created before ``other``."""
        return self.rank(workload) < self.rank(other)

    def rank(self, workload: Workload) -> int:
        """Return its position; if only another definition of it is in the set, that one's."""
        rank = self._ranks.get(workload)
        return self._ranks_by_ref[workload.ref] if rank is None else rank

    @cached_property
    def _ranks(self) -> Mapping[Workload, int]:
        return {w: rank for rank, w in enumerate(self.workloads)}

    @cached_property
    def _ranks_by_ref(self) -> Mapping[ObjectRef, int]:
        return {workload.ref: rank for rank, workload in enumerate(self.workloads)}


def apply_order(workloads: Iterable[Workload], tool: str) -> tuple[Workload, ...]:
    """Return the workloads in the order in which ``tool`` creates them.

    kubectl: files in name order, documents in file order. helm: by kind, then name. kustomize: its legacy order.
    argocd: sync waves, then kind, then name.
    """
    ordered = list(workloads)
    match tool:
        case "helm":
            ordered.sort(key=lambda w: (_rank(_HELM, w.kind), w.name))
        case "kustomize":
            ordered.sort(key=lambda w: (_rank(_KUSTOMIZE, w.kind), w.namespace, w.name))
        case "argocd":
            ordered.sort(key=lambda w: (sync_wave(w.annotations), _rank(_ARGOCD, w.kind), w.namespace, w.name))
        case "kubectl":
            ordered.sort(key=lambda w: w.order)
        case _:
            raise ValueError(f"unknown apply order {tool!r}: one of {', '.join(APPLY_ORDERS)}")
    return tuple(ordered)


def _rank(kinds: tuple[str, ...], kind: str) -> int:
    return kinds.index(kind) if kind in kinds else len(kinds)


def sync_wave(annotations: Mapping[str, str]) -> int:
    """Return Argo CD's wave: an integer annotation; 0 if absent or not a number."""
    return go_int(annotations.get(WAVE, "0")) or 0
