"""Labels that controllers set on their pods: equal on all pods of a revision, or different on each.

Mirrors ``pkg/controller/deployment/sync.go``, ``statefulset/stateful_set_utils.go`` (updateIdentity), ``daemon/util/
daemonset_util.go`` (CreatePodTemplate), ``job/job_controller.go`` and ``pkg/registry/batch/job/strategy.go`` (v1.36).
Zone and region labels are added at binding, after the selectors were merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.nodes.node import REGION, ZONE
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm, SpreadConstraint
from kubesched_lint.engine.model.workloads.workload import Workload

_POD_NAME, _POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"
_JOB_NAMES = ("job-name", "batch.kubernetes.io/job-name")
_OF_JOBS = ("controller-uid", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-completion-index")
_REVISION = {
    "Deployment": "pod-template-hash",
    "StatefulSet": "controller-revision-hash",
    "DaemonSet": "controller-revision-hash",
}
REVISION_LABELS = frozenset(_REVISION.values())
# Labels whose value is unknown, or differs between pods.
_VARYING: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("pod-template-hash",),
    "StatefulSet": ("controller-revision-hash", _POD_NAME, _POD_INDEX),
    "DaemonSet": ("controller-revision-hash", "pod-template-generation"),
    "Job": _OF_JOBS,
    "CronJob": (*_JOB_NAMES, *_OF_JOBS),
}
_EVERY_VARYING = frozenset(key for keys in _VARYING.values() for key in keys)
_WITHIN_REVISION = _EVERY_VARYING - REVISION_LABELS
_SET_LATER = _EVERY_VARYING.union(_JOB_NAMES, (ZONE, REGION))


def is_set_later(key: str) -> bool:
    """Return whether pods may get a label that no manifest sets: from their controller, or at binding."""
    return key in _SET_LATER


def name_from_label(key: str, value: str) -> str | None:
    """Return the name of the workload whose controller sets this label on its pods.

    None if the label does not show it.
    """
    return value.rpartition("-")[0] if key == _POD_NAME else None


def has_label(workload: Workload, key: str) -> bool:
    """Return whether the pods of a workload have a label key when they are created."""
    named = _JOB_NAMES if workload.kind == "Job" and workload.custom is None else ()
    set_later = (*varying_labels(workload), revision_label(workload), *named)
    return key in workload.pod.labels or key in set_later


def revision_label(workload: Workload) -> str:
    """Return the label whose value differs between revisions of a workload; empty if its controller sets none."""
    return _REVISION.get(workload.kind, "") if workload.custom is None else workload.custom.revision_label


def varying_labels(workload: Workload) -> tuple[str, ...]:
    """Return the labels that its controller sets, and whose values are unknown or differ between its pods."""
    return _VARYING.get(workload.kind, ()) if workload.custom is None else workload.custom.varying_labels


def is_revision_label(key: str) -> bool:
    return key in REVISION_LABELS


def controller_labels(workload: Workload, revision: int = 0) -> Mapping[str, str]:
    """Return the labels that are equal on all pods of one revision; hashes are placeholders unique to the revision.

    Revision 0 is that of the manifest.
    """
    if workload.kind == "Job" and workload.custom is None:
        return dict.fromkeys(_JOB_NAMES, workload.name)
    label = revision_label(workload)
    return {label: f"{workload.name}-{revision}"} if label else {}


def labels_when_created(workload: Workload) -> Mapping[str, str]:
    """Return the labels of ``Member.pod``, without admission, which adds none."""
    return {**workload.pod.labels, **controller_labels(workload)}


def labels_of_ordinal(workload: Workload, ordinal: int) -> Mapping[str, str]:
    """Return the labels of one pod of a StatefulSet alone; empty for other kinds."""
    if workload.kind != "StatefulSet" or _POD_NAME not in varying_labels(workload):
        return {}
    number = workload.first_ordinal + ordinal
    return {_POD_NAME: f"{workload.name}-{number}", _POD_INDEX: str(number)}


def read_labels(pods: Iterable[Pod], custom: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the varying labels that some selector of the pods uses: usually none. ``custom``: those that cards name.

    A revision's own label in matchLabelKeys is not included: its placeholder is enough.
    """
    labels: set[str] = set()
    for pod in pods:
        if pod.required_affinity or pod.required_anti_affinity or pod.preferred_affinity or pod.preferred_anti_affinity:
            weighted = (*pod.preferred_affinity, *pod.preferred_anti_affinity)
            for term in (*pod.required_affinity, *pod.required_anti_affinity, *(w.term for w in weighted)):
                labels.update(_asked(term.selector, custom))
                labels.update(
                    (_WITHIN_REVISION | custom).intersection((*term.match_label_keys, *term.mismatch_label_keys))
                )
        for constraint in pod.spread:
            labels.update(_asked(constraint.selector, custom))
            labels.update((_WITHIN_REVISION | custom).intersection(constraint.match_label_keys))
    return frozenset(labels)


def custom_labels(workloads: Iterable[Workload]) -> frozenset[str]:
    """Return the varying labels that cards name for the workloads."""
    return frozenset(label for w in workloads if w.custom is not None for label in w.custom.varying_labels)


def read_by(workloads: Sequence[Workload]) -> frozenset[str]:
    """Return the varying labels, also those that cards name, that some selector of the workloads' pods uses."""
    return read_labels((w.pod for w in workloads), custom_labels(workloads))


def values_known(pod: Pod) -> bool:
    """Return whether a pod's selectors use only written labels, or labels that follow from a name and an ordinal."""
    return read_labels((pod,)) <= {_POD_NAME, _POD_INDEX}


def not_followed(workloads: Iterable[Workload]) -> Mapping[int, str]:
    """Return position of a workload → a label that decides where its pods may run, and that differs between its pods.

    A model with one pod for all replicas cannot judge these workloads: those with a hard condition on such a label, and
    those that another workload repels by it.
    """
    workloads = tuple(workloads)
    custom = custom_labels(workloads)
    labels_by_number: dict[int, str] = {}
    for i, workload in enumerate(workloads):
        pod = workload.pod
        hard = tuple(c for c in pod.spread if c.is_hard)
        read = read_labels((replace(pod, preferred_affinity=(), preferred_anti_affinity=(), spread=hard),), custom)
        read = read.difference(_JOB_NAMES)  # all pods of a Job have its name, and no CronJob is followed
        if read:
            labels_by_number[i] = min(read)
            apart = read_labels((replace(pod, required_affinity=(), spread=()),), custom).difference(_JOB_NAMES)
            for j, other in enumerate(workloads) if apart else ():
                shared = apart.intersection(varying_labels(other))
                if shared:
                    labels_by_number.setdefault(j, min(shared))
    return labels_by_number


def _asked(selector: Selector | None, custom: frozenset[str]) -> Iterable[str]:
    if selector is None:
        return ()
    return [r.key for r in selector.requirements if r.key in _EVERY_VARYING or r.key in custom]


def standing_for_all(pod: Pod, workload: Workload, replicas: int, read: frozenset[str]) -> Pod:
    """Return an admitted pod as the representative of all replicas, which differ in the labels of ``read``.

    Anti-affinity and spread of its own that use these labels hold only for some pairs of replicas. The representative
    does not have them, so that nothing is proven by them; pods from ``pod_of_ordinal`` do.
    """
    names = [key for key in varying_labels(workload) if key in read and key not in workload.pod.labels]
    if not names:
        return pod
    each = [labels_of_ordinal(workload, i) for i in range(replicas)] if workload.kind == "StatefulSet" else []
    varying = {key: tuple(labels[key] for labels in each if key in labels) for key in names}
    apart = frozenset(varying) - pod.labels.keys()
    if not apart:
        return replace(pod, varying=varying)
    return replace(
        pod,
        varying=varying,
        required_anti_affinity=tuple(t for t in pod.required_anti_affinity if not _reads_any(t, apart)),
        spread=tuple(replace(c, selector=None, match_label_keys=()) if _reads_any(c, apart) else c for c in pod.spread),
    )


def _reads_any(term: PodAffinityTerm | SpreadConstraint, labels: frozenset[str]) -> bool:
    asked = {r.key for r in term.selector.requirements} if term.selector is not None else set()
    keys = (*term.match_label_keys, *(term.mismatch_label_keys if isinstance(term, PodAffinityTerm) else ()))
    return not labels.isdisjoint((*asked, *keys))
