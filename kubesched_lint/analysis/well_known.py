"""Label keys that Kubernetes itself defines, and what people write instead of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from kubesched_lint.analysis.nearest import nearest_node
from kubesched_lint.engine.errors import UncheckedError
from kubesched_lint.engine.text import closest
from kubesched_lint.manifests.classify import to_fill_in
from kubesched_lint.model.labels import Requirement
from kubesched_lint.model.node import CSI_ZONES, HOSTNAME, KEPT_LIKE, is_of_csi_driver
from kubesched_lint.model.pod import NodeSelectorTerm
from kubesched_lint.world.node_makers import made_later
from kubesched_lint.world.sketched import host_among, is_left_out, may_be_a_node
from kubesched_lint.world.world import World

if TYPE_CHECKING:
    from kubesched_lint.model.pod import Pod

# https://kubernetes.io/docs/reference/labels-annotations-taints/
WELL_KNOWN = (
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
)
RENAMED = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
}
"""Deprecated label → the label with the same meaning that replaces it."""
_BARE = {key.rpartition("/")[2]: key for key in WELL_KNOWN if key.endswith(("hostname", "zone", "region"))}
_SYSTEMS = ("karpenter.", "eks.amazonaws.com", "cloud.google.com", "kubernetes.azure.com", "topology.")
_DOMAINS = ("kubernetes.io", "k8s.io", "beta.kubernetes.io")


SET_BY_KUBELETS = (
    "kubernetes.io/arch",
    "beta.kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    *CSI_ZONES,
)
"""Labels that kubelets, cloud providers and CSI drivers put on real nodes and that a sketch need not write.

Mirrors labelReconcileInfo of ``cloud-provider/controllers/node/node_controller.go`` (v1.36) for zone, region and type.
"""


def unstated_label(pod: Pod, world: World) -> str:
    """Return a node label that the pod requires and a sketch states of no node; empty if all are known.

    What pools set says nothing about the nodes that exist.
    """
    if world.cluster is None or world.cluster.origin != "sketch" or not world.cluster.inventory.nodes:
        return ""
    asked = {r.key for t in pod.required_node_terms or () for r in t.expressions} | pod.node_selector.keys()
    set_later = (key for key in asked if key in SET_BY_KUBELETS or is_of_csi_driver(key))
    unknown = (key for key in set_later if not world.index.with_key(key) & world.today)
    host = unknown_host((r for t in pod.required_node_terms or () for r in t.expressions), world)
    named = pod.node_selector.get(HOSTNAME, "")
    if host or (named and is_unknown_host(named, world)):
        return f"{HOSTNAME}={host or named}"
    spread = [c.topology_key for c in pod.spread if c.is_hard] + [t.topology_key for t in pod.required_affinity]
    return min(unknown, default="") or min((key for key in (*asked, *spread) if is_left_out(key, world)), default="")


def open_label(pod: Pod, world: World) -> str:
    """Return the part of a required node label that somebody fills in before applying, if nodes may match then."""
    if world.cluster is None or world.index.matching(pod.node_selector, pod.required_node_terms):
        return ""
    selector = [Requirement(key, "In", (value,)) for key, value in pod.node_selector.items()]
    terms = [term.expressions for term in pod.required_node_terms or () if not term.fields] or [()]
    return next(filter(None, (_open_of((*selector, *term), world) for term in terms)), "")


def _open_of(required: Iterable[Requirement], world: World) -> str:
    """Return the first placeholder if each condition that no node meets has one; else empty."""
    words = {r: next(filter(None, (to_fill_in(f"{r.key}={value}") for value in r.values)), "") for r in required}
    if not any(words.values()):
        return ""  # as in most pods: no node has to be asked
    unmet = [word for r, word in words.items() if not world.index.matching_term(NodeSelectorTerm((r,)))]
    return unmet[0] if unmet and all(unmet) else ""


def check_known(pod: Pod, world: World) -> None:
    """Raises UncheckedError if a sketch or a placeholder leaves open which nodes the pod requires."""
    if label := unstated_label(pod, world):
        raise UncheckedError(f"the sketch gives no node the label {label}; write it to have selectors on it checked")
    if word := open_label(pod, world):
        raise UncheckedError(f"{word} is a placeholder, fill it in first")


def unknown_nodes(pod: Pod, world: World) -> str:
    """Return what is missing to know which nodes the pod may use; empty if nothing."""
    if label := unstated_label(pod, world):
        return f"the label {label} of the nodes, which the pods require and the cluster sketch does not have"
    if made := next(made_later(pod, world), None):
        return made.fact
    word = open_label(pod, world)
    return f"what replaces the placeholder {word}" if word else ""


def unknown_host(conditions: Iterable[Requirement], world: World) -> str:
    """Return a hostname that conditions require and that nodes may have, although the sketch has none; else empty."""
    return host_among(conditions, lambda name: is_unknown_host(name, world))


def is_unknown_host(name: str, world: World) -> bool:
    """Return whether a node may have this name; one that reads like a made-up name is a misspelt one.

    ``node1`` beside the made-up ``node`` is no slip: people number nodes so.
    """
    if not may_be_a_node(name, world):
        return False
    near = nearest_node(world, name)
    return not near or (name != near and _unnumbered(name) == near)


def _unnumbered(name: str) -> str:
    return name.rstrip("0123456789").rstrip("-")


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
