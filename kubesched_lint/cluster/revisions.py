"""A workload that already runs in the snapshot is its own previous revision: its pods are replaced, never added to."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.cluster.running import HASH
from kubesched_lint.cluster.template import difference, written_template
from kubesched_lint.model.labels import go_int
from kubesched_lint.model.pod import BoundPod
from kubesched_lint.model.policy import Autoscaler
from kubesched_lint.model.workload import Workload


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
