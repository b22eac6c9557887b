"""The workloads that run in a cluster as a manifest set, so that rules and simulations judge them like manifests.

Pods of these workloads are theirs by owner; bare pods and pods of other controllers stay running pods. The set has no
documents: nothing is written anywhere, so no rule about text, waivers or what the API server refuses speaks about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef, Path, Source, Span
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.revisions import running_pods_of
from kubesched_lint.engine.model.decode.fields import words
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.policy import Autoscaler, DisruptionBudget, PodGroup, ResourceQuota
from kubesched_lint.engine.model.workloads.vertical import VerticalAutoscaler
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.sources.manifests.document import Skipped

T = TypeVar("T", Autoscaler, DisruptionBudget, PodGroup, ResourceQuota, VerticalAutoscaler)

_MAKERS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")


class Running(Struct, frozen=True, eq=False):
    """The source of an object that runs and that no file holds: its places are words, without a line.

    ``spec.template.spec.affinity of Deployment shop/web``
    """

    ref: ObjectRef
    template: object = None
    """The pod template as plain values, as far as the snapshot holds it."""
    template_path: Path = ()

    @property
    def path(self) -> str:
        return str(self.ref)

    def location(self, path: Path, *, key: bool = False) -> Location:
        return Location(f"{words(path)} of {self.ref}" if path else self.path, _NOWHERE)

    def span(self, path: Path, *, key: bool = False) -> Span:
        """Return an empty span without a line, equal to that of the parent if the value is absent."""
        within = path[len(self.template_path) :] if path[: len(self.template_path)] == self.template_path else ()
        node_at, absent = self.template, 0
        for number, step in enumerate(within):
            inside = isinstance(node_at, list if isinstance(step, int) else dict)
            try:
                node_at = node_at[step] if inside else None  # type: ignore[index]
            except LookupError:
                node_at = None
            if node_at is None:
                absent = len(within) - number
                break
        depth = len(path) - absent
        return Span(0, depth, 0, depth)


_NOWHERE = Span(0, 0, 0, 0)


def running_set(cluster: Cluster) -> ManifestSet:
    """Return the workloads that run in a cluster, with what governs them: budgets, autoscalers, quotas and pod groups.

    Storage, devices, classes, nodes and their pools stay objects of the cluster alone.
    """
    live = cluster.inventory
    inventory = Inventory(
        workloads=tuple(_as_it_runs(workload, cluster) for workload in live.workloads),
        autoscalers=tuple(_placed(autoscaler, autoscaler.ref) for autoscaler in live.autoscalers),
        vertical_autoscalers=tuple(_placed(autoscaler, autoscaler.ref) for autoscaler in live.vertical_autoscalers),
        budgets=tuple(_named(live.budgets, "PodDisruptionBudget")),
        quotas=tuple(_named(live.quotas, "ResourceQuota")),
        pod_groups=tuple(_named(live.pod_groups, "PodGroup")),
    )
    return ManifestSet(inventory, skipped=tuple(_not_captured(cluster)))


def _as_it_runs(workload: Workload, cluster: Cluster) -> Workload:
    source = workload.source or Running(workload.ref, workload.template, workload.pod.path[:-1])
    if workload.kind != "Job":
        return replace(workload, source=source)
    active = sum(not bound.terminating for bound in running_pods_of(workload, cluster))
    # Pods that have succeeded are not made again, and a snapshot does not count them.
    return replace(workload, source=source, replicas=active or workload.replicas)


def _named(objects: tuple[T, ...], kind: str) -> Iterator[T]:
    return (
        _placed(named_object, ObjectRef(kind, named_object.namespace, named_object.name)) for named_object in objects
    )


def _placed(record: T, ref: ObjectRef) -> T:
    source: Source = record.source or Running(ref)
    return replace(record, source=source)


def _not_captured(cluster: Cluster) -> Iterator[Skipped]:
    """Yield the kinds of controllers whose objects the snapshot lacks although they may make pods."""
    # Equal pods of one owner have the same controllers; a pod without an owner may show one by its name.
    distinct = {(b.pod, b.owner, "" if b.owner else b.name): b for b in cluster.inventory.pods}
    owners = {owner for bound in distinct.values() for owner, _, _ in cluster.running.owners_of(bound)}
    for kind in _MAKERS:
        if not cluster.has(kind) and (cluster.origin == "snapshot" or kind in owners):
            yield Skipped(cluster.path, 0, f"holds no {kind}s, so their pods count as running pods of others")
