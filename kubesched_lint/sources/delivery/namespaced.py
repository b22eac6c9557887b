"""Objects that kustomize-controller cannot place: of a kind that lives in namespaces, and without one.

Server-side apply sends each object to the address of its namespace. Without one there is no such address: the API
server answers "not found", and ``ApplyAllStaged`` of fluxcd/pkg (``ssa/manager_apply.go``; the words stand in
``ssa/errors/errors.go``) stops before anything of the last stage is applied. The stages before it have Namespaces,
CustomResourceDefinitions, ClusterRoles and classes only. No version fills in ``default``.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.inputs import InputFile
from kubesched_lint.sources.manifests.loader import documents_of

_KINDS = {
    "": "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController "
    "ResourceQuota Secret Service ServiceAccount",
    "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "autoscaling": "HorizontalPodAutoscaler",
    "batch": "CronJob Job",
    "certificates.k8s.io": "PodCertificateRequest",
    "coordination.k8s.io": "Lease LeaseCandidate",
    "discovery.k8s.io": "EndpointSlice",
    "events.k8s.io": "Event",
    "networking.k8s.io": "Ingress NetworkPolicy",
    "policy": "PodDisruptionBudget",
    "rbac.authorization.k8s.io": "Role RoleBinding",
    "resource.k8s.io": "ResourceClaim ResourceClaimTemplate",
    "scheduling.k8s.io": "PodGroup Workload",
    "storage.k8s.io": "CSIStorageCapacity",
    "helm.toolkit.fluxcd.io": "HelmRelease",
    "kustomize.toolkit.fluxcd.io": "Kustomization",
    "source.toolkit.fluxcd.io": "Bucket ExternalArtifact GitRepository HelmChart HelmRepository OCIRepository",
}
"""API group → its kinds that live in namespaces: of Kubernetes, and of what Flux installs (``scope: Namespaced``)."""
_NAMESPACED = frozenset((group, kind) for group, kinds in _KINDS.items() for kind in kinds.split())


def is_namespaced(api_version: object, kind: object) -> bool:
    """Return whether objects of a kind are known to live in namespaces."""
    return isinstance(api_version, str) and (api_version.rpartition("/")[0], kind) in _NAMESPACED


def without_namespace(file: InputFile) -> Iterator[Document]:
    """Yield the objects of a file that need a namespace and have none, whatever the unknown variables become."""
    documents = (entry for entry in documents_of(file, is_namespaced) if isinstance(entry, Document))
    return (read for read in documents if not read.namespace and not (read.filled_in and read.filled_in.assumed))
