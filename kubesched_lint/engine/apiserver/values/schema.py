"""The fields of every type that the linted kinds reach, for each Kubernetes version, loaded on first use.

``scripts/build_schemas.py`` builds the files in ``data/`` from the published schemas. A field is ``name=code``:

====  =====================  ====  =========================================
code  Go type                code  Go type
====  =====================  ====  =========================================
s     string                 q     resource.Quantity (decodes itself)
b     bool                   x     intstr.IntOrString (decodes itself)
i     int32                  t     metav1.Time (decodes itself)
l     int64                  r     anything, kept as it is
[c    a list of c            {c    a map from strings to c
*N    the struct N           c:N   c, whose Go type has the name N
====  =====================  ====  =========================================
"""

from __future__ import annotations

from functools import cache

from kubesched_lint.engine.apiserver.scheduler_types import TYPES
from kubesched_lint.engine.base.data import shipped

ROOTS = {
    ("apps/v1", "DaemonSet"): "v1.DaemonSet",
    ("apps/v1", "Deployment"): "v1.Deployment",
    ("apps/v1", "ReplicaSet"): "v1.ReplicaSet",
    ("apps/v1", "StatefulSet"): "v1.StatefulSet",
    ("autoscaling/v1", "HorizontalPodAutoscaler"): "v1.HorizontalPodAutoscaler",
    ("autoscaling/v2", "HorizontalPodAutoscaler"): "v2.HorizontalPodAutoscaler",
    ("batch/v1", "CronJob"): "v1.CronJob",
    ("batch/v1", "Job"): "v1.Job",
    ("node.k8s.io/v1", "RuntimeClass"): "v1.RuntimeClass",
    ("policy/v1", "PodDisruptionBudget"): "v1.PodDisruptionBudget",
    ("resource.k8s.io/v1", "DeviceClass"): "v1.DeviceClass",
    ("resource.k8s.io/v1", "ResourceClaim"): "resource/v1.ResourceClaim",
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): "v1.ResourceClaimTemplate",
    ("resource.k8s.io/v1", "ResourceSlice"): "v1.ResourceSlice",
    ("resource.k8s.io/v1beta1", "DeviceClass"): "v1beta1.DeviceClass",
    ("resource.k8s.io/v1beta1", "ResourceClaim"): "v1beta1.ResourceClaim",
    ("resource.k8s.io/v1beta1", "ResourceClaimTemplate"): "v1beta1.ResourceClaimTemplate",
    ("resource.k8s.io/v1beta1", "ResourceSlice"): "v1beta1.ResourceSlice",
    ("resource.k8s.io/v1beta2", "DeviceClass"): "v1beta2.DeviceClass",
    ("resource.k8s.io/v1beta2", "ResourceClaim"): "v1beta2.ResourceClaim",
    ("resource.k8s.io/v1beta2", "ResourceClaimTemplate"): "v1beta2.ResourceClaimTemplate",
    ("resource.k8s.io/v1beta2", "ResourceSlice"): "v1beta2.ResourceSlice",
    ("scheduling.k8s.io/v1", "PriorityClass"): "v1.PriorityClass",
    ("scheduling.k8s.io/v1alpha2", "PodGroup"): "v1alpha2.PodGroup",
    ("scheduling.k8s.io/v1alpha2", "Workload"): "v1alpha2.Workload",
    ("scheduling.k8s.io/v1alpha3", "PodGroup"): "v1alpha3.PodGroup",
    ("scheduling.k8s.io/v1alpha3", "Workload"): "v1alpha3.Workload",
    ("scheduling.k8s.io/v1beta1", "PodGroup"): "v1beta1.PodGroup",
    ("scheduling.k8s.io/v1beta1", "Workload"): "v1beta1.Workload",
    ("storage.k8s.io/v1", "StorageClass"): "v1.StorageClass",
    ("v1", "LimitRange"): "v1.LimitRange",
    ("v1", "Namespace"): "v1.Namespace",
    ("v1", "PersistentVolume"): "v1.PersistentVolume",
    ("v1", "PersistentVolumeClaim"): "v1.PersistentVolumeClaim",
    ("v1", "Pod"): "v1.Pod",
    ("v1", "ReplicationController"): "v1.ReplicationController",
    ("v1", "ResourceQuota"): "v1.ResourceQuota",
    ("v1", "Service"): "v1.Service",
}
"""The kinds that can be checked, and their types; a version may lack those that are not stable."""


@cache
def _tables(version: str) -> dict[str, str]:
    """Return type → codes of its fields; text lines, because importing ``json`` would take longer than reading them."""
    lines = shipped(__file__, f"../data/v{version}.txt").decode().splitlines()
    return dict(line.split("\t") for line in lines)


def knows(version: str, type_name: str) -> bool:
    """Return whether a version serves the type of a root."""
    return type_name in _tables(version)


@cache
def fields(version: str, type_name: str) -> dict[str, str]:
    """Return field name → code for a type such as ``v1.PodSpec``; ``version`` is one of ``releases.MODELLED``."""
    line = _tables(version).get(type_name)
    if line is None:
        line = TYPES[type_name]
    pairs = (field.partition("=") for field in line.split())
    return {name: code for name, _, code in pairs}


def go_type(code: str) -> str:
    """Return the Go type of a code as reflect prints it: ``[]v1.Toleration``, ``map[string]string``, ``int32``."""
    plain, _, name = code.partition(":")
    match plain[0]:
        case "*":
            return plain[1:]
        case "[":
            return f"[]{go_type(code[1:])}"
        case "{":
            return name or f"map[string]{go_type(plain[1:])}"
    return name or _GO_SCALARS[plain]


_GO_SCALARS = {
    "s": "string",
    "b": "bool",
    "i": "int32",
    "l": "int64",
    "q": "resource.Quantity",
    "x": "intstr.IntOrString",
    "t": "v1.Time",
}
