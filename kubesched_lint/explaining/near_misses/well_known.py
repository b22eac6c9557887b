"""Label keys that Kubernetes itself defines, and what people write instead of them."""

from __future__ import annotations

from msgspec import Struct

from kubesched_lint.engine.base.text import closest
from kubesched_lint.engine.model.nodes.node import CSI_ZONES, KEPT_LIKE, SET_BY_KUBELETS, SET_LIKE

# https://kubernetes.io/docs/reference/labels-annotations-taints/
WELL_KNOWN = (
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
)
RENAMED = {key: stable for key, stable in {**SET_LIKE, **KEPT_LIKE}.items() if key not in CSI_ZONES}
"""Deprecated label → the label with the same meaning that replaces it."""
_BARE = {key.rpartition("/")[2]: key for key in WELL_KNOWN if key.endswith(("hostname", "zone", "region"))}
_SYSTEMS = ("karpenter.", "eks.amazonaws.com", "cloud.google.com", "kubernetes.azure.com", "topology.")
_DOMAINS = ("kubernetes.io", "k8s.io", "beta.kubernetes.io")


def is_set_by_system(key: str) -> bool:
    """Return whether kubelets, cloud providers or autoscalers set this node label, so that no person should."""
    domain = key.rpartition("/")[0]
    return key in (*WELL_KNOWN, *SET_BY_KUBELETS, *KEPT_LIKE) or domain.startswith(_SYSTEMS)


# https://kubernetes.io/docs/reference/labels-annotations-taints/
TAINTS = (
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/out-of-service",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.cloudprovider.kubernetes.io/shutdown",
)


def corrected_taint(key: str) -> str:
    """Return the Kubernetes taint that a misspelt key stands for; empty if the key is correct or clearly a custom one.

    Only a key in a Kubernetes domain can be a slip, because nobody else defines names there.
    """
    domain = key.rpartition("/")[0]
    if key in TAINTS or not domain.endswith("kubernetes.io") or domain == "kubernetes.io":
        return ""
    return closest(key, TAINTS, 0.92)


class Correction(Struct, frozen=True):
    key: str
    reason: str
    deprecated: bool = False


def correction_of(key: str) -> Correction | None:
    """Return the well-known key that ``key`` stands for, and why; None if it is one itself, or clearly custom."""
    if key in WELL_KNOWN:
        return None
    if key in RENAMED:
        return Correction(RENAMED[key], f"{RENAMED[key]} replaces {key}", deprecated=True)
    prefix, _, name = key.rpartition("/")
    if name in _BARE and (not prefix or prefix.endswith(_DOMAINS)):
        return Correction(_BARE[name], f"the well-known label is {_BARE[name]}")
    longer = next((known for known in sorted(WELL_KNOWN) if len(name) > 2 and prefix and known.startswith(key)), "")
    close = longer or closest(key, WELL_KNOWN, 0.88)
    return Correction(close, f"it reads like {close}") if close else None
