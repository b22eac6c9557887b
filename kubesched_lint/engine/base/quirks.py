"""Differences between Kubernetes versions, one entry each, with the upstream issue or pull request."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from kubesched_lint.engine.base.releases import release


class Quirk(Struct, frozen=True, eq=False):
    """``since`` is the first version with the behaviour, ``until`` the first without it (None: none known).

    Each is ``(major, minor)`` or ``(major, minor, patch)``.
    """

    name: str
    since: tuple[int, ...]
    until: tuple[int, ...] | None
    issue: str
    text: str
    unwritten: tuple[tuple[str, str], ...] = ()
    """Fields of ``SpreadConstraint``, each with what the scheduler takes for it if nobody wrote it."""


NEGATIVE_NAMESPACE_SELECTOR = Quirk(
    "negative-namespace-selector",
    (1, 34),
    None,
    "kubernetes/kubernetes#141526",
    "A namespaceSelector that also matches a namespace without labels (only NotIn and DoesNotExist) selects every "
    "namespace on a pod that is being scheduled; on pods already bound it works as documented. The fix, #141563, "
    "is backported to patch releases of 1.34 and later; only the minor version is considered here.",
)
NODE_DECLARED_FEATURES = Quirk(
    "node-declared-features",
    (1, 36),
    None,
    "kubernetes/enhancements#5328",
    "The scheduler filters by the features that kubelets declare in status.declaredFeatures (beta and on in 1.36).",
)
POD_TOPOLOGY_LABELS = Quirk(
    "pod-topology-labels",
    (1, 35),
    None,
    "kubernetes/enhancements#4742",
    "Binding copies the node's zone and region labels to the pod, so that selectors can match them.",
)
DYNAMIC_RESOURCES = Quirk(
    "dynamic-resources-postfilter",
    (1, 34),
    None,
    "kubernetes/enhancements#4381",
    "DynamicResources is in the default profile and reports before preemption: `no new claims to deallocate`, or "
    "`not found` when PreFilter ended before it.",
)
HINTS_ASK_FOR_ALL_TERMS = Quirk(
    "queueing-hints-ask-for-all-terms",
    (1, 32),
    (1, 37),
    "kubernetes/kubernetes#139161",
    "A pod that waits for required anti-affinity is tried again after a deletion only where the deleted pod matches "
    "all its terms, or it matches all of that pod's: with several terms it waits for the five-minute flush.",
)
HINTS_WITHOUT_NAMESPACE_LABELS = Quirk(
    "queueing-hints-without-namespace-labels",
    (1, 32),
    None,
    "kubernetes/kubernetes#141953",
    "A pod that waits for pods that a namespaceSelector selects is not tried again when one comes or goes, because the "
    "queueing hint reads no labels of namespaces: it waits for the five-minute flush.",
)

STATEFUL_SET_MAX_UNAVAILABLE = Quirk(
    "statefulset-max-unavailable",
    (1, 37),
    None,
    "kubernetes/kubernetes#139466",
    "The gate MaxUnavailableStatefulSet is on: maxUnavailable pods are updated at a time. With podManagementPolicy "
    "Parallel, old pods that are not available go first, and do not count (kubernetes/kubernetes#137666).",
)
STATEFUL_SET_MAX_UNAVAILABLE_AT_FIRST = Quirk(
    "statefulset-max-unavailable-at-first",
    (1, 35),
    (1, 35, 4),
    "kubernetes/kubernetes#137904",
    "The gate MaxUnavailableStatefulSet was on, and 1.35.4 turned it off: old pods that are not available stop a "
    "Parallel update (kubernetes/kubernetes#137409).",
)
HPA_SCALES_TO_ZERO = Quirk(
    "hpa-scales-to-zero",
    (1, 37),
    None,
    "kubernetes/kubernetes#139648",
    "The gate HPAScaleToZero is on: minReplicas may be 0 if there is an Object or External metric.",
)
EXTENDED_RESOURCES_OF_DEVICES = Quirk(
    "extended-resources-of-devices",
    (1, 36),
    None,
    "kubernetes/enhancements#5004",
    "The gate DRAExtendedResource is on (GA and locked since 1.37, kubernetes/kubernetes#138488): a request of an "
    "extended resource that a DeviceClass names is met by devices.",
)
CONSUMABLE_CAPACITY = Quirk(
    "consumable-capacity",
    (1, 36),
    None,
    "kubernetes/enhancements#5075",
    "The gate DRAConsumableCapacity is on (alpha and off since 1.34): before, the API server drops `capacity` of a "
    "request and `distinctAttribute`.",
)
SERVICE_NAME_OF_STATEFUL_SETS = Quirk(
    "service-name-of-statefulsets",
    (1, 33),
    None,
    "kubernetes/kubernetes#130233",
    "The API server refuses a serviceName of a new StatefulSet that is no DNS label.",
)
TEMPLATES_OF_STATEFUL_SETS = Quirk(
    "templates-of-statefulsets",
    (1, 34),
    None,
    "kubernetes/kubernetes#131790",
    "The API server refuses a new StatefulSet for the spec of its pod template; before, it refused each of its pods.",
)
RESIZE_POLICY_OF_INIT_CONTAINERS = Quirk(
    "resize-policy-of-init-containers",
    (1, 36),
    None,
    "kubernetes/kubernetes#137458",
    "The API server refuses the resize policy RestartContainer of an init container that is no sidecar.",
)
IMAGE_VOLUMES_OF_TEMPLATES = Quirk(
    "image-volumes-of-templates",
    (1, 37),
    None,
    "kubernetes/kubernetes#135989",
    "The API server refuses an image volume without a reference in a template, and not only in a Pod.",
)

IMAGE_VOLUMES_AMONG_IMAGES = Quirk(
    "image-volumes-among-images",
    (1, 37),
    None,
    "kubernetes/kubernetes#138951",
    "ImageLocality counts image volumes among the images whose size makes the highest score; before, they only added "
    "to the score.",
)
STORAGE_CAPACITY_SCORES = Quirk(
    "storage-capacity-scores",
    (1, 37),
    None,
    "kubernetes/enhancements#4049",
    "The gate StorageCapacityScoring is on (alpha and off since 1.33, kubernetes/kubernetes#128184): VolumeBinding "
    "scores nodes, and its argument `shape` is allowed.",
)
CSI_DRIVER_ON_THE_NODE = Quirk(
    "csi-driver-on-the-node",
    (1, 37),
    None,
    "kubernetes/enhancements#5030",
    "The gate VolumeLimitScaling is on (alpha and off since 1.35, kubernetes/kubernetes#135012): a node whose CSINode "
    "lacks the driver of a volume is closed, if the CSIDriver has preventPodSchedulingIfMissing.",
)
PREEMPTION_SAYS_WHAT_IT_FOUND = Quirk(
    "preemption-says-what-it-found",
    (1, 37),
    None,
    "kubernetes/kubernetes#140180",
    "The message of a pod that preempts names the node that preemption found, and the number of victims.",
)

RESIZES_COUNT_BY_SUMS = Quirk(
    "resizes-count-by-sums",
    (1, 37),
    None,
    "kubernetes/kubernetes#140047",
    "A pod that is resized in place counts with the greatest of three sums: over its containers' specs, what is "
    "allocated (else the spec) and what is set (else allocated); the pod's own status gives the last two if it has "
    "both. Before, each container counted with its greatest, which is as much or more. The model does so in every "
    "version: the two differ only while one container of a pod grows and another shrinks, and no error rests on a "
    "resize that has not ended.",
)

ONE_GATE_FOR_GANGS = Quirk(
    "one-gate-for-gangs",
    (1, 37),
    None,
    "kubernetes/kubernetes#139520",
    "The gates GangScheduling and WorkloadAwarePreemption are gone: GenericWorkload (beta, off) turns on all of it.",
)

QUIRKS = (
    NEGATIVE_NAMESPACE_SELECTOR,
    NODE_DECLARED_FEATURES,
    POD_TOPOLOGY_LABELS,
    DYNAMIC_RESOURCES,
    HINTS_ASK_FOR_ALL_TERMS,
    HINTS_WITHOUT_NAMESPACE_LABELS,
    STATEFUL_SET_MAX_UNAVAILABLE,
    STATEFUL_SET_MAX_UNAVAILABLE_AT_FIRST,
    HPA_SCALES_TO_ZERO,
    EXTENDED_RESOURCES_OF_DEVICES,
    CONSUMABLE_CAPACITY,
    SERVICE_NAME_OF_STATEFUL_SETS,
    TEMPLATES_OF_STATEFUL_SETS,
    RESIZE_POLICY_OF_INIT_CONTAINERS,
    IMAGE_VOLUMES_OF_TEMPLATES,
    IMAGE_VOLUMES_AMONG_IMAGES,
    STORAGE_CAPACITY_SCORES,
    CSI_DRIVER_ON_THE_NODE,
    PREEMPTION_SAYS_WHAT_IT_FOUND,
    RESIZES_COUNT_BY_SUMS,
    ONE_GATE_FOR_GANGS,
)


def unwritten(version: str) -> dict[str, str]:
    """Return what differs, in a version, in the meaning of a spread constraint's fields that nobody wrote."""
    return dict(pair for quirk in QUIRKS if has(version, quirk) for pair in quirk.unwritten)


@lru_cache(maxsize=1_024)
def has(version: str, *quirks: Quirk) -> bool:
    """Return whether a Kubernetes version, ``1.36`` or ``v1.36.2``, has any of the behaviours."""
    asked = release(version)
    return any(quirk.since <= asked and (quirk.until is None or asked < quirk.until) for quirk in quirks)
