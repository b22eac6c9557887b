"""The words that a redacted snapshot may keep: the vocabulary of Kubernetes and of clouds, word by word.

Everything here is a closed list or a narrow grammar. Any other word belongs to the user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words of Kubernetes' own names (kube-system, system-node-critical, default-scheduler) reveal nothing about a user.
PLAIN_WORDS = words(
    "default kube system public node lease cluster critical scheduler pvc latest true false yes no on off"
)

# --- keys of labels, taints and annotations, and resources --------------------------------------------------------

BARE_KEYS = words(
    "agentpool app component tier role name env environment version release chart heritage app-name k8s-app "
    "pod-template-hash controller-revision-hash pod-template-generation job-name controller-uid metadata.name "
    "ToBeDeletedByClusterAutoscaler DeletionCandidateOfClusterAutoscaler"
)
_NAMES_OF: Mapping[str, str] = {
    "kubernetes.io": "hostname os arch metadata.name config.mirror no-provisioner",
    "beta.kubernetes.io": "os arch instance-type",
    "node.kubernetes.io": "not-ready unreachable unschedulable memory-pressure disk-pressure pid-pressure "
    "network-unavailable out-of-service instance-type windows-build exclude-from-external-load-balancers",
    "node.cloudprovider.kubernetes.io": "uninitialized shutdown",
    "node-role.kubernetes.io": "control-plane master worker node infra agent etcd",
    "node-restriction.kubernetes.io": "",
    "topology.kubernetes.io": "zone region",
    "topology.k8s.aws": "zone-id network-node-layer-1 network-node-layer-2 network-node-layer-3",
    "topology.gke.io": "zone",
    "topology.ebs.csi.aws.com": "zone",
    "topology.disk.csi.azure.com": "zone",
    "topology.hostpath.csi": "node",
    "failure-domain.beta.kubernetes.io": "zone region",
    "failure-domain.kubernetes.io": "zone region",
    "statefulset.kubernetes.io": "pod-name",
    "apps.kubernetes.io": "pod-index",
    "batch.kubernetes.io": "job-name controller-uid job-completion-index job-tracking",
    "controller.kubernetes.io": "pod-deletion-cost",
    "app.kubernetes.io": "name instance version component part-of managed-by",
    "pod-security.kubernetes.io": "enforce enforce-version audit audit-version warn warn-version",
    "resource.kubernetes.io": "",
    "deviceclass.resource.kubernetes.io": "",
    "deviceclass.resource.k8s.io": "devices",
    "storageclass.storage.k8s.io": "requests.storage persistentvolumeclaims",
    "volumeattributesclass.storage.k8s.io": "requests.storage persistentvolumeclaims",
    "startup-taint.cluster-autoscaler.kubernetes.io": "",
    "status-taint.cluster-autoscaler.kubernetes.io": "",
    "ignore-taint.cluster-autoscaler.kubernetes.io": "",
    "cluster-autoscaler.kubernetes.io": "safe-to-evict",
    "aws-node-termination-handler": "spot-itn scheduled-maintenance asg-lifecycle-termination rebalance-recommendation",
    "karpenter.sh": "nodepool provisioner-name capacity-type registered initialized unregistered disruption disrupted",
    "karpenter.k8s.aws": "ec2nodeclass instance-category instance-family instance-generation instance-size "
    "instance-cpu instance-cpu-manufacturer instance-cpu-sustained-clock-speed-mhz instance-memory "
    "instance-ebs-bandwidth instance-network-bandwidth instance-hypervisor instance-local-nvme instance-gpu-name "
    "instance-gpu-manufacturer instance-gpu-count instance-gpu-memory instance-accelerator-name "
    "instance-accelerator-manufacturer instance-accelerator-count instance-encryption-in-transit-supported "
    "instance-capability-flex instance-tenancy",
    "karpenter.azure.com": "aksnodeclass sku-name sku-family sku-series sku-version sku-cpu sku-memory sku-accelerator "
    "sku-gpu-name sku-gpu-manufacturer sku-gpu-count",
    "karpenter.k8s.gcp": "gcenodeclass instance-family instance-category instance-cpu instance-memory instance-size",
    "eks.amazonaws.com": "nodegroup compute-type capacityType fargate-profile instance-category instance-family "
    "instance-generation instance-size instance-cpu instance-memory",
    "vpc.amazonaws.com": "pod-eni PrivateIPv4Address",
    "alpha.eksctl.io": "nodegroup-name cluster-name",
    "cloud.google.com": "gke-nodepool gke-spot gke-preemptible gke-provisioning gke-accelerator compute-class "
    "machine-family impending-node-termination gke-os-distribution gke-max-pods-per-node",
    "kubernetes.azure.com": "agentpool mode scalesetpriority cluster",
    "remediator.kubernetes.azure.com": "unschedulable",
    "kops.k8s.io": "instancegroup",
    "doks.digitalocean.com": "node-pool node-pool-id",
    "lke.linode.com": "pool-id",
    "k8s.scaleway.com": "pool-name pool",
    "vke.vultr.com": "node-pool",
    "alibabacloud.com": "nodepool-id",
    "ibm-cloud.kubernetes.io": "worker-pool-id worker-pool-name",
    "hcloud": "node-group",
    "worker.gardener.cloud": "pool",
    "oci.oraclecloud.com": "node-pool-id",
    "cluster.x-k8s.io": "machine cluster-name",
    "node.cluster.x-k8s.io": "uninitialized outdated-revision",
    "machine.openshift.io": "machine",
    "node.openshift.io": "os_id",
    "helm.sh": "chart",
    "nvidia.com": "gpu gpu.shared gpu.present gpu.count gpu.memory gpu.product gpu.family gpu.machine mig.capable",
    "amd.com": "gpu",
    "gpu.intel.com": "i915 xe",
    "aws.amazon.com": "neuron neuroncore neurondevice",
    "google.com": "tpu",
    "devices.kubevirt.io": "kvm",
}
_DOMAINS_BY_SIZE = sorted(_NAMES_OF, key=len, reverse=True)
"""Longest first: the part before one of them belongs to the user."""
_OPEN_NAMES = {domain: words(names) for domain, names in _NAMES_OF.items()}
# The daemons of network and storage drivers remove their own taint of this name, whatever their domain.
_ANYWHERE = words("agent-not-ready")

_COUNTED = words(
    "pods services secrets configmaps persistentvolumeclaims replicationcontrollers resourcequotas deployments.apps "
    "replicasets.apps statefulsets.apps daemonsets.apps jobs.batch cronjobs.batch ingresses.networking.k8s.io "
    "horizontalpodautoscalers.autoscaling poddisruptionbudgets.policy"
)
_RESOURCES = _COUNTED | words(
    "cpu memory ephemeral-storage storage nodes services.loadbalancers services.nodeports memory.available "
    "nodefs.available nodefs.inodesFree imagefs.available imagefs.inodesFree pid.available"
)
_HUGE_PAGES = re.compile("hugepages-[0-9]{1,4}[KMG]i")
_MIG = re.compile(r"mig-[1-8]g\.[0-9]{1,3}gb")

DRIVERS = words(
    "ebs.csi.aws.com efs.csi.aws.com fsx.csi.aws.com s3.csi.aws.com ebs.csi.eks.amazonaws.com "
    "disk.csi.azure.com file.csi.azure.com blob.csi.azure.com pd.csi.storage.gke.io filestore.csi.storage.gke.io "
    "gcsfuse.csi.storage.gke.io cinder.csi.openstack.org csi.vsphere.vmware.com dobs.csi.digitalocean.com "
    "csi.hetzner.cloud linodebs.csi.linode.com block.csi.vultr.com csi.scaleway.com diskplugin.csi.alibabacloud.com "
    "blockvolume.csi.oraclecloud.com secrets-store.csi.k8s.io nfs.csi.k8s.io smb.csi.k8s.io hostpath.csi.k8s.io "
    "rbd.csi.ceph.com cephfs.csi.ceph.com driver.longhorn.io local.csi.openebs.io rancher.io/local-path "
    "kubernetes.io/aws-ebs kubernetes.io/azure-disk kubernetes.io/azure-file kubernetes.io/cinder kubernetes.io/gce-pd "
    "kubernetes.io/no-provisioner kubernetes.io/portworx-volume kubernetes.io/vsphere-volume kubernetes.io/rbd"
)


def domain_parts(domain: str) -> tuple[str, str]:
    """Return the user's beginning of a domain, with its dot, and the known end; the end is "" for an unknown domain."""
    for known in _DOMAINS_BY_SIZE:
        if domain == known:
            return "", known
    for end in ("kubernetes.io", "k8s.io"):
        if domain.endswith(f".{end}"):
            return domain[: -len(end)], end
    return domain, ""


def is_open_name(domain: str, name: str) -> bool:
    """Return whether the part of a key after its domain is known."""
    return name in _OPEN_NAMES.get(domain, ()) or name in _ANYWHERE or (domain == "nvidia.com" and _is_mig(name))


def _is_mig(name: str) -> bool:
    return _MIG.fullmatch(name) is not None


def is_open_resource(name: str) -> bool:
    """Return whether a resource name without a domain is known."""
    return name in _RESOURCES or _HUGE_PAGES.fullmatch(name) is not None


def is_open_count(name: str) -> bool:
    """Return whether the name may follow ``count/`` in a quota."""
    return name in _COUNTED


# --- values of labels ---------------------------------------------------------------------------------------------

_SIZE = r"(?:nano|micro|small|medium|large|[0-9]{0,2}xlarge|metal(?:-[0-9]{1,2}xl)?)"
_SOLD = "|".join(
    (
        rf"(?:[a-z]{{1,3}}[0-9]{{1,2}}[a-z]{{0,5}}|mac[0-9]|u-[0-9]{{1,2}}tb[0-9])\.{_SIZE}",
        r"[a-z][0-9]{1,2}[a-z]?-(?:standard|highmem|highcpu|ultramem|megamem|highgpu|ultragpu|medium|micro|small)"
        r"(?:-[0-9]{1,3}[gt]?)?",
        r"Standard_[A-Z]{1,2}[0-9]{1,3}(?:-[0-9]{1,3})?[a-z]{0,5}(?:_v[0-9])?",
    )
)
_CAPACITY = "spot|on-demand|reserved|SPOT|ON_DEMAND|CAPACITY_BLOCK"
_VALUES_OF = (
    (r"(?:beta\.)?kubernetes\.io/os", "linux|windows"),
    (r"(?:beta\.)?kubernetes\.io/arch", "amd64|arm64|arm|ppc64le|s390x|386|riscv64"),
    (r"(?:node|beta)\.kubernetes\.io/instance-type|karpenter\.azure\.com/sku-name", _SOLD),
    (r"karpenter\.sh/capacity-type|eks\.amazonaws\.com/capacityType", _CAPACITY),
    (r"eks\.amazonaws\.com/compute-type", "fargate|auto|hybrid|ec2"),
    (r"(?:karpenter\.k8s\.aws|karpenter\.k8s\.gcp|eks\.amazonaws\.com)/instance-size", _SIZE),
    (r"(?:karpenter\.k8s\.aws|karpenter\.k8s\.gcp|eks\.amazonaws\.com)/instance-category", "[a-z]{1,3}"),
    (
        r"(?:karpenter\.k8s\.aws|karpenter\.k8s\.gcp|eks\.amazonaws\.com)/instance-family|"
        r"cloud\.google\.com/machine-family",
        r"[a-z]{1,3}[0-9]{1,2}[a-z]{0,5}|mac[0-9]",
    ),
    (r"karpenter\.k8s\.aws/instance-[a-z]+-manufacturer", "intel|amd|aws|nvidia|habana|xilinx|qualcomm"),
    (r"karpenter\.k8s\.aws/instance-hypervisor", "nitro|xen"),
    (r"karpenter\.azure\.com/sku-(?:family|series)", "[A-Z]{1,2}"),
    (
        r"cloud\.google\.com/compute-class",
        "Balanced|Scale-Out|Performance|Accelerator|Autopilot|autopilot|autopilot-spot",
    ),
    (r"node\.kubernetes\.io/windows-build", r"[0-9]{1,2}(?:\.[0-9]{1,6}){1,3}"),
    (r"pod-security\.kubernetes\.io/.*", r"privileged|baseline|restricted|v1\.[0-9]{1,3}"),
)
_OPEN_VALUES = tuple((re.compile(key), re.compile(values)) for key, values in _VALUES_OF)


def is_open_value(key: str, value: str) -> bool:
    """Return whether a label's value is a word of the API or a cloud's product name."""
    return any(of.fullmatch(key) and values.fullmatch(value) for of, values in _OPEN_VALUES)


# --- values of fields ---------------------------------------------------------------------------------------------

_ENUMERATED = words(
    "operator effect whenUnsatisfiable nodeAffinityPolicy nodeTaintsPolicy restartPolicy action phase type status "
    "protocol preemptionPolicy accessModes volumeMode volumeBindingMode podManagementPolicy kind group amiFamily "
    "unhealthyPodEvictionPolicy scopes scopeName declaredFeatures imageFamily instanceStorePolicy "
    "allocationMode updateMode mode controlledValues controlledResources reason"
)
_VOCABULARY = words(
    # operators, effects, policies
    "In NotIn Exists DoesNotExist Gt Lt Gte Lte Equal NoSchedule PreferNoSchedule NoExecute DoNotSchedule "
    "ScheduleAnyway Honor Ignore Always OnFailure Never RestartAllContainers Restart PreemptLowerPriority "
    "Auto Initial InPlace InPlaceOrRecreate Off RequestsOnly RequestsAndLimits cpu memory "
    "IfHealthyBudget AlwaysAllow OrderedReady Parallel RollingUpdate Recreate OnDelete TCP UDP SCTP "
    # phases and conditions
    "Unschedulable SchedulingGated SchedulerError "
    "Pending Running Succeeded Failed Unknown Bound Available Released Lost Active Terminating True False "
    "Ready MemoryPressure DiskPressure PIDPressure NetworkUnavailable PodScheduled Initialized ContainersReady "
    "PodReadyToStartContainers DisruptionTarget Complete Suspended SuccessCriteriaMet FailureTarget Progressing "
    "ReplicaFailure PodResizePending PodResizeInProgress Infeasible Deferred "
    # devices
    "None ExactCount All "
    # volumes, limits, quotas
    "ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod Filesystem Block Immediate WaitForFirstConsumer "
    "Container Pod PersistentVolumeClaim NotTerminating BestEffort NotBestEffort PriorityClass "
    "CrossNamespacePodAffinity VolumeAttributesClass "
    # kinds that own and are pointed at
    "Node ReplicaSet ReplicationController Deployment StatefulSet DaemonSet Job CronJob NodePool NodeClaim "
    "EC2NodeClass AKSNodeClass GCENodeClass NodeClass PodGroup Machine MachineSet MachineDeployment "
    "karpenter.sh karpenter.k8s.aws karpenter.azure.com karpenter.k8s.gcp eks.amazonaws.com "
    # what nodes declare, and what they are made from
    "UserNamespacesHostNetworkSupport RestartAllContainersOnContainerExits GuaranteedQoSPodCPUResize "
    "AL2 AL2023 Bottlerocket Ubuntu Windows2019 Windows2022 Windows2025 Custom Ubuntu2204 Ubuntu2404 AzureLinux "
    "ContainerOptimizedOS RAID0"
)
_TIMES = words("creationTimestamp deletionTimestamp startTime lastTransitionTime")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})")
_BOUNDS = words("maxSurge maxUnavailable minAvailable capacity maximumVolumeSize")
_AMOUNT = re.compile(r"[+-]?[0-9.]{1,40}(?:[eE][+-]?[0-9]{1,4}|[numkKMGTPE]i?|%)?")


def is_open_field(field: str, value: str) -> bool:
    """Return whether a field holds a word of the API, a time or an amount."""
    if field in _ENUMERATED:
        return value in _VOCABULARY
    if field in _TIMES:
        return _TIME.fullmatch(value) is not None
    return field in _BOUNDS and is_amount(value)


def is_amount(value: str) -> bool:
    return _AMOUNT.fullmatch(value) is not None


_VERSION = re.compile(r"v?[0-9]{1,4}(?:\.[0-9]{1,6}){1,2}")


def open_version(version: str) -> str:
    """Return a Kubernetes version without the suffix of a custom build."""
    match = _VERSION.match(version)
    return match[0] if match else ""
