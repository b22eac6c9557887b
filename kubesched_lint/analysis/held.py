"""Workloads that make no new pods until somebody resumes them: paused Deployments, suspended Jobs and CronJobs.

A paused Deployment is scaled, but gets no ReplicaSet for a new template (``deployment/sync.go``, sync: it asks for the
ReplicaSets with createIfNotExisted false), so running pods stay and the new template gets no pods. A suspended
Job loses its pods (``job/job_controller.go``, manageJob), a suspended CronJob makes no Jobs (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubesched_lint.cluster.template import AS_IT_RUNS
from kubesched_lint.record import replace
from kubesched_lint.text import first_few

if TYPE_CHECKING:
    from kubesched_lint.model.inventory import Inventory
    from kubesched_lint.model.pod import BoundPod
    from kubesched_lint.model.workload import Workload
    from kubesched_lint.world.world import World

_HASH = "pod-template-hash"
_MOST_NAMED = 3


def without(manifests: Inventory, workloads: Sequence[Workload]) -> Inventory:
    """The set without some workloads; their running pods then count as other pods, which stay."""
    gone = set(map(id, workloads))
    return replace(manifests, workloads=tuple(w for w in manifests.workloads if id(w) not in gone))


def amid_rollout(world: World) -> tuple[Workload, ...]:
    """Deployments that were paused while pods of two revisions run: they keep both."""
    paused = (w for w in world.manifests.workloads if w.held == "paused")
    return tuple(
        w for w in paused if len({b.pod.labels.get(_HASH) for b in _staying(world.member(w).running_pods)}) > 1
    )


def as_it_stands(workload: Workload, running: Sequence[BoundPod]) -> Workload:
    """The workload as its controller treats it while it is paused or suspended: only running pods, or none."""
    staying = _staying(running)
    if workload.held != "paused" or not staying:
        return replace(workload, replicas=0)
    pod = replace(staying[0].pod, path=workload.pod.path, labels_path=workload.pod.labels_path)
    return replace(workload, pod=pod, template=AS_IT_RUNS)


def _staying(running: Sequence[BoundPod]) -> Sequence[BoundPod]:
    return [bound for bound in running if not bound.terminating]


def premise(workload: Workload) -> str:
    """Return the premise of a hazard of a paused or suspended workload."""
    if workload.held == "paused":
        return f"{workload} is resumed: while {workload.held_field} is true no pod is made of a new template"
    return f"{workload} is resumed: while {workload.held_field} is true it has no pods"


def premise_of_others(workloads: Sequence[Workload]) -> str:
    """The premise of a hazard that needs pods of paused or suspended workloads."""
    return f"resumed: {first_few([f'{w} ({w.held})' for w in workloads], _MOST_NAMED)}"
