"""The lists that a snapshot requests, their versions, and the fields kept of each item."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from kubesched_lint.engine.cluster.limits import LONGEST_TEXT
from kubesched_lint.engine.cluster.pods.pod_scheduled import LEFT_OUT
from kubesched_lint.engine.model.decode.resizes import PENDING
from kubesched_lint.sources.capture import autoscalers as a
from kubesched_lint.sources.capture import devices as d
from kubesched_lint.sources.capture import objects as o
from kubesched_lint.sources.capture import parts as p
from kubesched_lint.sources.objects.status import NAME, NAMESPACE


class Resource(Struct, frozen=True):
    """``versions`` are those whose fields are supported, the best first; ``optional``: the server need not serve it."""

    kind: str
    plural: str
    group: str
    part: type[p.Part]
    versions: tuple[str, ...] = ("v1",)
    namespaced: bool = True
    optional: bool = False
    query: tuple[tuple[str, str], ...] = ()
    only_in: str = ""
    """The one namespace to list. The objects are extras: without permission, or under ``--redact``, they are no gap."""
    versions_without: tuple[str, ...] = ()
    """Versions of the group that never have this kind."""
    redacted_late: bool = False
    """What --redact may replace depends on the selectors of all devices."""
    cut: Callable[[Any], bool] | None = None
    """Remove from an item what its type alone cannot remove; return whether the item is kept."""

    @property
    def name(self) -> str:
        return f"{self.plural}.{self.group}" if self.optional else self.plural

    def path(self, version: str, namespace: str | None) -> str:
        root = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"

    def api_version(self, version: str) -> str:
        return f"{self.group}/{version}" if self.group else version


def _pod(pod: p.KeptPod) -> bool:
    _cut_volumes(pod.spec)
    if pod.status is not None:
        _cut_sizes(pod.spec, pod.status)
    for condition in (pod.status.conditions if pod.status else None) or ():
        if condition.type == PENDING:
            condition.message = condition.last_transition_time = None
        elif condition.type != "PodScheduled" or pod.spec.nodeName is not None:
            condition.reason = condition.message = condition.last_transition_time = None
        elif condition.message is not None and len(condition.message) > LONGEST_TEXT:
            condition.message = LEFT_OUT
    return pod.status is None or pod.status.phase not in ("Succeeded", "Failed")


def _cut_sizes(spec: p.PodSpec, status: p.PodStatus) -> None:
    """Remove what says that containers, or the pod, have what they request: that of almost all pods."""
    status.container_statuses = _resized(status.container_statuses, spec.containers)
    sidecars = [c for c in spec.initContainers or () if c.restartPolicy == "Always"]
    status.init_container_statuses = _resized(status.init_container_statuses, sidecars)
    if spec.resources is None or _are_alike(spec.resources, status.resources, status.allocated_resources):
        status.resources = status.allocated_resources = None


def _resized(statuses: list[p.ContainerStatus] | None, containers: Any) -> list[p.ContainerStatus] | None:
    known = {c.name: c.resources for c in containers or ()}
    return [
        status
        for status in statuses or ()
        if status.name in known and not _are_alike(known[status.name], status.resources, status.allocated_resources)
    ] or None


def _are_alike(spec: Any, actual: p.SetResources | None, allocated: p.Amounts) -> bool:
    """Whether a status counts as the spec does: one without ``resources`` does not count."""
    wanted, most = (spec.requests or {}, spec.limits or {}) if spec is not None else ({}, {})
    return actual is None or (
        (actual.requests or {}) == wanted and (actual.limits or {}) == most and (allocated or wanted) == wanted
    )


def _workload(workload: p.KeptWorkload) -> bool:
    spec = workload.spec
    workload.metadata.annotations = None
    inner = spec.job_template.spec if spec.job_template else None
    for template in (spec.template, inner.template if inner else None):
        if template is not None and template.spec is not None:
            _cut_volumes(template.spec)
    return True


def _replication_controller(controller: p.ReplicationController) -> bool:
    controller.metadata.annotations = None
    if controller.spec.template is not None and controller.spec.template.spec is not None:
        _cut_volumes(controller.spec.template.spec)
    return True


def _replica_set(replica_set: p.KeptWorkload) -> bool:
    """Trim a ReplicaSet. A cluster keeps many old revisions; one without replicas keeps only its number."""
    notes = replica_set.metadata.annotations
    _workload(replica_set)
    replica_set.metadata.annotations = notes
    if replica_set.spec.replicas == 0 and replica_set.metadata.owner_references:
        replica_set.spec.template = None
    return True


def _job(job: p.KeptWorkload) -> bool:
    """Return whether the Job is unfinished: a finished Job creates no more pods."""
    conditions = (job.status.conditions if job.status else None) or ()
    return _workload(job) and not any(c.type in ("Complete", "Failed") and c.status == "True" for c in conditions)


def _cut_volumes(spec: p.PodSpec) -> None:
    """Remove volumes without a kept field: config maps, secrets and tokens, with their names."""
    if spec.volumes:
        spec.volumes = [v for v in spec.volumes if v != p.Volume(name=v.name)] or None


_RUNNING = (("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),)
_STATUS = (("fieldSelector", f"metadata.name={NAME}"),)
_STORAGE = "storage.k8s.io"
_DEVICES = "resource.k8s.io"


def _of_devices(kind: str, part: type[p.Part], *, namespaced: bool = True) -> Resource:
    plural = kind.lower() + ("es" if kind.endswith("s") else "s")
    versions = ("v1", "v1beta2", "v1beta1")
    return Resource(kind, plural, _DEVICES, part, versions, namespaced, optional=True, redacted_late=True)


# Nodes first, and pods before their owners: objects that change fastest are read close together.
RESOURCES = (
    Resource("Node", "nodes", "", p.KeptNode, namespaced=False),
    Resource("Pod", "pods", "", p.KeptPod, query=_RUNNING, cut=_pod),
    Resource("ReplicaSet", "replicasets", "apps", p.KeptWorkload, cut=_replica_set),
    Resource("Deployment", "deployments", "apps", p.KeptWorkload, cut=_workload),
    Resource(
        "ReplicationController", "replicationcontrollers", "", p.ReplicationController, cut=_replication_controller
    ),
    Resource("StatefulSet", "statefulsets", "apps", p.KeptWorkload, cut=_workload),
    Resource("DaemonSet", "daemonsets", "apps", p.KeptWorkload, cut=_workload),
    Resource("Job", "jobs", "batch", p.KeptWorkload, cut=_job),
    Resource("CronJob", "cronjobs", "batch", p.KeptWorkload, cut=_workload),
    Resource("HorizontalPodAutoscaler", "horizontalpodautoscalers", "autoscaling", a.KeptAutoscaler, ("v2", "v1")),
    Resource(
        "VerticalPodAutoscaler",
        "verticalpodautoscalers",
        "autoscaling.k8s.io",
        a.KeptVerticalAutoscaler,
        optional=True,
    ),
    Resource("PodDisruptionBudget", "poddisruptionbudgets", "policy", o.Budget),
    Resource("Namespace", "namespaces", "", o.KeptNamespace, namespaced=False),
    Resource("Service", "services", "", o.KeptService),
    Resource("LimitRange", "limitranges", "", o.KeptLimitRange),
    Resource("ResourceQuota", "resourcequotas", "", o.Quota),
    Resource("PersistentVolumeClaim", "persistentvolumeclaims", "", o.KeptClaim),
    Resource("PersistentVolume", "persistentvolumes", "", o.KeptVolume, namespaced=False),
    Resource("StorageClass", "storageclasses", _STORAGE, o.KeptStorageClass, namespaced=False),
    Resource("CSINode", "csinodes", _STORAGE, o.CsiNode, namespaced=False),
    Resource("CSIDriver", "csidrivers", _STORAGE, o.KeptCsiDriver, namespaced=False),
    Resource("VolumeAttachment", "volumeattachments", _STORAGE, o.KeptVolumeAttachment, namespaced=False),
    Resource("CSIStorageCapacity", "csistoragecapacities", _STORAGE, o.KeptStorageCapacity),
    Resource("PriorityClass", "priorityclasses", "scheduling.k8s.io", o.KeptPriorityClass, namespaced=False),
    Resource("RuntimeClass", "runtimeclasses", "node.k8s.io", o.KeptRuntimeClass, namespaced=False),
    _of_devices("DeviceClass", d.KeptDeviceClass, namespaced=False),
    _of_devices("ResourceSlice", d.KeptSlice, namespaced=False),
    _of_devices("ResourceClaim", d.KeptDeviceClaim),
    _of_devices("ResourceClaimTemplate", d.KeptDeviceClaimTemplate),
    Resource(
        "DeviceTaintRule",
        "devicetaintrules",
        _DEVICES,
        d.KeptTaintRule,
        ("v1beta2",),
        namespaced=False,
        optional=True,
        versions_without=("v1", "v1beta1"),
    ),
    Resource(
        "PodGroup",
        "podgroups",
        "scheduling.k8s.io",
        o.KeptPodGroup,
        versions=("v1", "v1beta1", "v1alpha3", "v1alpha2", "v1alpha1"),
        optional=True,
    ),
    Resource("ConfigMap", "configmaps", "", o.KeptStatus, query=_STATUS, only_in=NAMESPACE),
    Resource("NodePool", "nodepools", "karpenter.sh", o.KeptNodePool, namespaced=False, optional=True),
    Resource("EC2NodeClass", "ec2nodeclasses", "karpenter.k8s.aws", o.KeptNodeClass, namespaced=False, optional=True),
    Resource(
        "AKSNodeClass",
        "aksnodeclasses",
        "karpenter.azure.com",
        o.KeptNodeClass,
        versions=("v1", "v1beta1", "v1alpha2"),
        namespaced=False,
        optional=True,
    ),
    Resource(
        "GCENodeClass",
        "gcenodeclasses",
        "karpenter.k8s.gcp",
        o.KeptNodeClass,
        versions=("v1", "v1alpha1"),
        namespaced=False,
        optional=True,
    ),
    Resource("NodeClass", "nodeclasses", "eks.amazonaws.com", o.KeptNodeClass, namespaced=False, optional=True),
)


def served_versions(resource: Resource, served: Mapping[str, tuple[str, ...]] | None) -> Iterator[str]:
    """Yield the versions worth requesting. ``served``: group → versions; None if the server did not list them."""
    if served is None or not resource.group:
        yield from resource.versions
    else:
        yield from (v for v in resource.versions if v in served.get(resource.group, ()))
