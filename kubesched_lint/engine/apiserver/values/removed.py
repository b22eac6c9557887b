"""API versions that Kubernetes no longer serves.

From https://kubernetes.io/docs/reference/using-api/deprecation-guide/ and, from 1.31 on, the kinds that the published
schemas of a version lack and those of the version before have.
"""

from __future__ import annotations

from kubesched_lint.engine.base.releases import release

_RBAC = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
_FLOWS = ("FlowSchema", "PriorityLevelConfiguration")
_CLAIMS = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
_PARAMETERS = ("PodSchedulingContext", "ResourceClaimParameters", "ResourceClass", "ResourceClassParameters")
_ADDRESSES = ("IPAddress", "ServiceCIDR")
_POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_REVIEWS = ("LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview")
# The first minor version that does not serve it → apiVersion → kinds.
_GONE: dict[int, dict[str, tuple[str, ...]]] = {
    16: {
        "apps/v1beta1": ("Deployment", "StatefulSet"),
        "apps/v1beta2": ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
        "extensions/v1beta1": ("DaemonSet", "Deployment", "NetworkPolicy", "PodSecurityPolicy", "ReplicaSet"),
    },
    21: {"batch/v2alpha1": ("CronJob",)},
    22: {
        "admissionregistration.k8s.io/v1beta1": ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
        "apiextensions.k8s.io/v1beta1": ("CustomResourceDefinition",),
        "apiregistration.k8s.io/v1beta1": ("APIService",),
        "authentication.k8s.io/v1beta1": ("TokenReview",),
        "authorization.k8s.io/v1beta1": _REVIEWS,
        "certificates.k8s.io/v1beta1": ("CertificateSigningRequest",),
        "coordination.k8s.io/v1beta1": ("Lease",),
        "extensions/v1beta1": ("Ingress",),
        "networking.k8s.io/v1beta1": ("Ingress", "IngressClass"),
        "rbac.authorization.k8s.io/v1beta1": _RBAC,
        "scheduling.k8s.io/v1beta1": ("PriorityClass",),
        "storage.k8s.io/v1beta1": ("CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"),
    },
    23: {"rbac.authorization.k8s.io/v1alpha1": _RBAC, "scheduling.k8s.io/v1alpha1": ("PriorityClass",)},
    24: {"node.k8s.io/v1alpha1": ("RuntimeClass",)},
    25: {
        "autoscaling/v2beta1": ("HorizontalPodAutoscaler",),
        "batch/v1beta1": ("CronJob",),
        "discovery.k8s.io/v1beta1": ("EndpointSlice",),
        "events.k8s.io/v1beta1": ("Event",),
        "node.k8s.io/v1beta1": ("RuntimeClass",),
        "policy/v1beta1": ("PodDisruptionBudget", "PodSecurityPolicy"),
    },
    26: {
        "autoscaling/v2beta2": ("HorizontalPodAutoscaler",),
        "flowcontrol.apiserver.k8s.io/v1beta1": _FLOWS,
    },
    27: {"storage.k8s.io/v1beta1": ("CSIStorageCapacity",)},
    29: {"flowcontrol.apiserver.k8s.io/v1beta2": _FLOWS},
    31: {"networking.k8s.io/v1alpha1": _ADDRESSES, "resource.k8s.io/v1alpha2": (*_CLAIMS, *_PARAMETERS)},
    32: {
        "admissionregistration.k8s.io/v1alpha1": _POLICIES,
        "authentication.k8s.io/v1alpha1": ("SelfSubjectReview",),
        "coordination.k8s.io/v1alpha1": ("LeaseCandidate",),
        "flowcontrol.apiserver.k8s.io/v1beta3": _FLOWS,
        "resource.k8s.io/v1alpha3": ("PodSchedulingContext",),
    },
    33: {"authentication.k8s.io/v1beta1": ("SelfSubjectReview",)},
    34: {
        "admissionregistration.k8s.io/v1beta1": _POLICIES,
        "resource.k8s.io/v1alpha3": ("DeviceClass", *_CLAIMS),
    },
    35: {
        "certificates.k8s.io/v1alpha1": ("PodCertificateRequest",),
        "storage.k8s.io/v1alpha1": ("VolumeAttributesClass",),
        "storagemigration.k8s.io/v1alpha1": ("StorageVersionMigration",),
    },
    36: {"scheduling.k8s.io/v1alpha1": ("Workload",)},
    37: {
        "certificates.k8s.io/v1alpha1": ("ClusterTrustBundle",),
        "networking.k8s.io/v1beta1": _ADDRESSES,
        "scheduling.k8s.io/v1alpha2": ("PodGroup", "Workload"),
        "storage.k8s.io/v1beta1": ("VolumeAttributesClass",),
    },
}
_REMOVED_IN = {
    (version, kind): minor for minor, groups in _GONE.items() for version, kinds in groups.items() for kind in kinds
}


def removed_in(api_version: str, kind: str, version: str) -> str:
    """Return the Kubernetes version that ended serving a kind, such as ``1.25``; empty if ``version`` still serves it.

    Also empty for a kind that no version of Kubernetes ever served.
    """
    minor = _REMOVED_IN.get((api_version, kind))
    return f"1.{minor}" if minor is not None and minor <= release(version)[1] else ""


def no_matches(api_version: str, kind: str) -> str:
    """Return kubectl's message about it."""
    return f'no matches for kind "{kind}" in version "{api_version}"'
