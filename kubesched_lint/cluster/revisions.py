"""A workload that already runs in the snapshot is its own previous revision: its pods are replaced, never added to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.cluster.template import difference, written_template
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.labels import go_int
from kubesched_lint.model.pod import BoundPod
from kubesched_lint.model.policy import Autoscaler, ReplicaSet
from kubesched_lint.model.workload import Workload

HASH = "pod-template-hash"

_ADOPTING = ("DaemonSet", "ReplicaSet", "ReplicationController", "StatefulSet")

Identity = tuple[str, str, str]
"""kind, namespace, name."""


class Running:
    """Who owns the running pods of an inventory; indexes are made when first asked for."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    def pods_of(self, workload: Workload) -> tuple[BoundPod, ...]:
        found = self._pods.get((workload.kind, workload.namespace, workload.name), ())
        if workload.kind in _ADOPTING and workload.namespace in self._orphans:
            return (*found, *self._adopted(workload))
        if workload.kind != "Deployment" or workload.selector is None:
            return tuple(found)
        known = self._replica_sets
        selector = workload.selector
        # An owner that the snapshot shows is certain; one told by names alone must also be selected.
        return tuple(
            bound
            for bound in found
            if (bound.owner is not None and (bound.namespace, bound.owner.name) in known)
            or selector.matches(bound.pod.labels)
        )

    def replica_sets_of(self, workload: Workload) -> tuple[ReplicaSet, ...]:
        """The revisions of a Deployment, newest first."""
        return self._revisions.get((workload.namespace, workload.name), ())

    def live(self, workload: Workload) -> Workload | None:
        """The workload itself as the snapshot holds it."""
        return self._workloads.get((workload.kind, workload.namespace, workload.name))

    def _adopted(self, workload: Workload) -> Iterator[BoundPod]:
        """Pods without a controller that this one takes over (``controller_ref_manager.go``, ClaimObject).

        A StatefulSet takes those that have one of its names besides. The ReplicaSets of a Deployment select a hash
        that no other pod has, and Jobs the uid of the Job.
        """
        selector = workload.selector
        for bound in self._orphans[workload.namespace] if selector is not None else ():
            if selector is not None and selector.matches(bound.pod.labels):
                name, _, ordinal = bound.name.rpartition("-")
                if workload.kind != "StatefulSet" or (name == workload.name and ordinal.isdigit()):
                    yield bound

    @cached_property
    def _orphans(self) -> dict[str, list[BoundPod]]:
        """By namespace, pods that stay and have no controller; a sketch tells a Deployment's pods by their hash."""
        found: dict[str, list[BoundPod]] = {}
        for bound in self._inventory.pods:
            if bound.owner is None and not bound.terminating and HASH not in bound.pod.labels:
                found.setdefault(bound.namespace, []).append(bound)
        return found

    @cached_property
    def _workloads(self) -> dict[Identity, Workload]:
        return {(w.kind, w.namespace, w.name): w for w in self._inventory.workloads}

    @cached_property
    def _replica_sets(self) -> dict[tuple[str, str], ReplicaSet]:
        return {(r.namespace, r.name): r for r in self._inventory.replica_sets}

    @cached_property
    def _revisions(self) -> dict[tuple[str, str], tuple[ReplicaSet, ...]]:
        found: dict[tuple[str, str], list[ReplicaSet]] = {}
        for revision in sorted(self._inventory.replica_sets, key=lambda r: -r.revision):
            if revision.owner_kind == "Deployment":
                found.setdefault((revision.namespace, revision.owner), []).append(revision)
        return {key: tuple(revisions) for key, revisions in found.items()}

    @cached_property
    def _pods(self) -> dict[Identity, list[BoundPod]]:
        found: dict[Identity, list[BoundPod]] = {}
        for bound in self._inventory.pods:
            for identity in self.owners_of(bound):
                found.setdefault(identity, []).append(bound)
        return found

    def owners_of(self, bound: BoundPod) -> Iterator[Identity]:
        """Its controller, and for a ReplicaSet the Deployment behind it."""
        namespace, owner = bound.namespace, bound.owner
        template_hash = bound.pod.labels.get(HASH)
        if owner is None:
            yield "Pod", namespace, bound.name
            if template_hash:
                # A pod of a sketch: the ReplicaSet controller names pods deployment-hash-random.
                deployment, found, _ = bound.name.rpartition(f"-{template_hash}-")
                if found:
                    yield "Deployment", namespace, deployment
            return
        yield owner.kind, namespace, owner.name
        if owner.kind != "ReplicaSet":
            return
        known = self._replica_sets.get((namespace, owner.name))
        if known is not None:
            if known.owner_kind == "Deployment":
                yield "Deployment", namespace, known.owner
        elif template_hash and owner.name.endswith(f"-{template_hash}"):
            # The Deployment controller names a ReplicaSet deployment-hash (deployment/sync.go, getNewReplicaSet).
            yield "Deployment", namespace, owner.name[: -len(template_hash) - 1]


def running_pods_of(workload: Workload, cluster: Cluster) -> tuple[BoundPod, ...]:
    """Its pods in the snapshot, of whichever revision; none for a CronJob, whose jobs run on beside new ones."""
    return cluster.running.pods_of(workload)


def by_revision(workload: Workload, running: Sequence[BoundPod], cluster: Cluster) -> tuple[BoundPod, ...]:
    """The running pods of a workload, those of the newest revision last; the others by their age or how many they are.

    The newest revision of a Deployment is its newest ReplicaSet, that of a StatefulSet has the highest ordinal (updates
    go from there down). Where nobody knows it is the largest.
    """
    groups: dict[str, list[BoundPod]] = {}
    for bound in running:
        groups.setdefault(_hash_of(workload, bound), []).append(bound)
    if len(groups) < 2:
        return tuple(running)
    newest = _newest(workload, running, cluster)
    ages = {r.template_hash: r.revision for r in cluster.running.replica_sets_of(workload)}
    ordered = sorted(groups, key=lambda h: (h == newest, ages.get(h, 0), len(groups[h]), h))
    return tuple(bound for template_hash in ordered for bound in groups[template_hash])


def runs_newest(workload: Workload, running: Sequence[BoundPod], cluster: Cluster | None) -> bool:
    """Whether some of the running pods are of the newest revision, as far as it is known."""
    newest = "" if cluster is None else _newest(workload, running, cluster)
    return not newest or any(_hash_of(workload, bound) == newest for bound in running)


def _newest(workload: Workload, running: Sequence[BoundPod], cluster: Cluster) -> str:
    """The hash of the newest revision; empty where nobody knows."""
    if workload.kind == "Deployment":
        return next((r.template_hash for r in cluster.running.replica_sets_of(workload)), "")
    if workload.kind == "StatefulSet" and running:
        return _hash_of(workload, max(running, key=_ordinal))
    return ""


def _hash_of(workload: Workload, bound: BoundPod) -> str:
    key = HASH if workload.kind in ("Deployment", "ReplicaSet") else "controller-revision-hash"
    return bound.pod.labels.get(key, "")


def _ordinal(bound: BoundPod) -> int:
    ordinal = go_int(bound.name.rpartition("-")[2])
    return -1 if ordinal is None else ordinal


def live_replicas(workload: Workload, cluster: Cluster) -> int | None:
    """How many replicas it is meant to have in the cluster now; None when it does not run there, or nobody knows."""
    live = cluster.running.live(workload)
    if live is not None:
        return live.replicas if workload.kind != "DaemonSet" else len(running_pods_of(workload, cluster))
    revisions = cluster.running.replica_sets_of(workload)
    if revisions:
        return sum(r.replicas for r in revisions)
    return sum(not bound.terminating for bound in running_pods_of(workload, cluster)) or None


def starting_replicas(workload: Workload, cluster: Cluster | None, autoscaler: Autoscaler | None) -> int:
    """How many replicas applying the manifest leaves: as written, else as they run, within the autoscaler's bounds."""
    live = None if workload.replicas_written or cluster is None else live_replicas(workload, cluster)
    count = workload.replicas if live is None else live
    if autoscaler is None or count == 0:  # what is scaled to 0 is left alone (podautoscaler/horizontal.go)
        return count
    return max(min(count, autoscaler.max_replicas), autoscaler.min_replicas)


def template_changed(workload: Workload, cluster: Cluster) -> bool | None:
    """Whether applying the manifest replaces the pods; None when the snapshot does not tell.

    Compared with the live object, else with the newest ReplicaSet. Our own snapshots keep only what scheduling reads,
    so that they can show a change but never its absence.
    """
    live = cluster.running.live(workload)
    template = None if live is None else written_template(live)
    if template is None:
        newest = next(iter(cluster.running.replica_sets_of(workload)), None)
        template = None if newest is None else newest.template
    written = written_template(workload)
    if not isinstance(template, dict) or not isinstance(written, dict):
        return None
    return difference(written, template, trimmed=cluster.origin == "snapshot")
