"""A workload that already runs in the snapshot is its own previous revision: its pods are replaced, not added to."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.pods.running import HASH, ordinal_of
from kubesched_lint.engine.cluster.pods.template import difference, written_template
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.policy import Autoscaler
from kubesched_lint.engine.model.workloads.workload import Workload


def running_pods_of(workload: Workload, cluster: Cluster) -> tuple[BoundPod, ...]:
    """Return its pods in the snapshot, of all revisions; none for a CronJob, whose old jobs run on beside new ones."""
    return cluster.running.pods_of(workload)


def by_revision(workload: Workload, running: Sequence[BoundPod], cluster: Cluster) -> tuple[BoundPod, ...]:
    """Return the running pods of a workload, those of the newest revision last; others in order of age, then of number.

    A Deployment's newest revision is its newest ReplicaSet; a StatefulSet's has the highest ordinal, because updates go
    from the highest down. If it is unknown, it is the largest group.
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
    """Return whether some running pod is of the newest revision; true if that revision is unknown."""
    newest = "" if cluster is None else _newest(workload, running, cluster)
    return not newest or any(_hash_of(workload, bound) == newest for bound in running)


def _newest(workload: Workload, running: Sequence[BoundPod], cluster: Cluster) -> str:
    """Return the hash of the newest revision; empty if it is unknown."""
    if workload.kind == "Deployment":
        return next((r.template_hash for r in cluster.running.replica_sets_of(workload)), "")
    if workload.kind == "StatefulSet" and running:
        return _hash_of(workload, max(running, key=_ordinal))
    return ""


def _hash_of(workload: Workload, bound: BoundPod) -> str:
    key = HASH if workload.kind in ("Deployment", "ReplicaSet") else "controller-revision-hash"
    return bound.pod.labels.get(key, "")


def _ordinal(bound: BoundPod) -> int:
    ordinal = ordinal_of(bound)
    return -1 if ordinal is None else ordinal


def live_replicas(workload: Workload, cluster: Cluster) -> int | None:
    """Return the number of replicas wanted in the cluster now.

    None if it does not run there or the number is unknown.
    """
    live = cluster.running.live(workload)
    if live is not None:
        return live.replicas if workload.kind != "DaemonSet" else len(running_pods_of(workload, cluster))
    revisions = cluster.running.replica_sets_of(workload)
    if revisions:
        return sum(r.replicas for r in revisions)
    return sum(not bound.terminating for bound in running_pods_of(workload, cluster)) or None


def starting_replicas(workload: Workload, cluster: Cluster | None, autoscaler: Autoscaler | None) -> int:
    """Return the replicas after applying: the written number, else the running one, within the HPA's bounds."""
    live = None if workload.replicas_written or cluster is None else live_replicas(workload, cluster)
    count = workload.replicas if live is None else live
    if autoscaler is None or count == 0:  # the HPA ignores a workload scaled to 0 (podautoscaler/horizontal.go)
        return count
    return max(min(count, autoscaler.max_replicas), autoscaler.min_replicas)


def template_changed(workload: Workload, cluster: Cluster) -> bool | None:
    """Return whether applying the manifest replaces the pods; None if the snapshot does not show it.

    Compares with the live object, else with the newest ReplicaSet. Our own snapshots keep only what scheduling reads,
    so they can prove a change but not its absence.
    """
    live = cluster.running.live(workload)
    template = None if live is None else written_template(live)
    if template is None:
        newest = next(iter(cluster.running.replica_sets_of(workload)), None)
        template = None if newest is None else newest.template
    written = written_template(workload)
    if written is template and template is not None:
        return False  # the workload of the snapshot itself
    if not isinstance(template, dict) or not isinstance(written, dict):
        return None
    return difference(written, template, trimmed=cluster.trims(workload))
