"""Which label keys a pod carries when the API server stores it, whoever put them there."""

from __future__ import annotations

from kubesched_lint.model.workload import Workload

# pkg/controller/deployment/sync.go, statefulset/stateful_set_utils.go, daemon/daemon_controller.go,
# job/job_controller.go (v1.36). Zone and region come with the binding, after the selectors were merged.
_ADDED = {
    "Deployment": ("pod-template-hash",),
    "StatefulSet": ("controller-revision-hash", "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"),
    "DaemonSet": ("controller-revision-hash", "pod-template-generation"),
    "Job": (
        "job-name",
        "batch.kubernetes.io/job-name",
        "controller-uid",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-completion-index",
    ),
}
_ADDED["CronJob"] = _ADDED["Job"]
_REVISION = {
    "Deployment": "pod-template-hash",
    "StatefulSet": "controller-revision-hash",
    "DaemonSet": "controller-revision-hash",
}


def has_label(workload: Workload, key: str) -> bool:
    """Whether the pods of a workload carry a label key when they are created."""
    return key in workload.pod.labels or key in _ADDED.get(workload.kind, ())


def revision_label(workload: Workload) -> str:
    """The label whose value differs between revisions of a workload; empty where its controller sets none."""
    return _REVISION.get(workload.kind, "")


def is_revision_label(key: str) -> bool:
    return key in _REVISION.values()
