"""Differences of kube-scheduler between Kubernetes versions, one entry each, with the upstream issue."""

from __future__ import annotations

from functools import lru_cache

from kubesched_lint.record import record

DEFAULT_VERSION = "1.36"


@record
class Quirk:
    """``since`` is the first minor version with the behaviour, ``until`` the first without it (None: none known)."""

    name: str
    since: tuple[int, int]
    until: tuple[int, int] | None
    issue: str
    text: str


NEGATIVE_NAMESPACE_SELECTOR = Quirk(
    "negative-namespace-selector",
    (1, 34),
    None,
    "kubernetes/kubernetes#141526",
    "A namespaceSelector that also matches a namespace without labels (only NotIn and DoesNotExist) selects every "
    "namespace on a pod that is being scheduled; on pods already bound it works as documented. The fix, #141563, "
    "is backported to patch releases of 1.34 and later; only the minor version is considered here.",
)
TOLERATION_COMPARISON = Quirk(
    "toleration-comparison-operators",
    (1, 38),
    None,
    "kubernetes/enhancements#5471",
    "Tolerations with the operators Gt and Lt compare the taint's value as an integer. Behind the feature gate "
    "TaintTolerationComparisonOperators, alpha and off up to 1.37: in those versions such a toleration never matches.",
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

QUIRKS = (
    NEGATIVE_NAMESPACE_SELECTOR,
    TOLERATION_COMPARISON,
    NODE_DECLARED_FEATURES,
    POD_TOPOLOGY_LABELS,
    DYNAMIC_RESOURCES,
    HINTS_ASK_FOR_ALL_TERMS,
    HINTS_WITHOUT_NAMESPACE_LABELS,
)


def has(version: str, quirk: Quirk) -> bool:
    """Return whether a Kubernetes version, ``1.36`` or ``v1.36.2``, has the behaviour."""
    minor = parse(version)
    return quirk.since <= minor and (quirk.until is None or minor < quirk.until)


@lru_cache(maxsize=64)
def parse(version: str) -> tuple[int, int]:
    """Return ``(major, minor)`` of ``v1.36.2``, ``1.36+`` or ``1.36``. Raises ValueError."""
    parts = version.lstrip("v").split(".")
    try:
        return int(parts[0]), int(parts[1].rstrip("+"))
    except (IndexError, ValueError):
        raise ValueError(f"not a Kubernetes version: {version!r} (expected something like 1.36)") from None
