"""Which labels of real nodes a sketch writes: what follows from others is left out, and in a short one what only books.

A label stays where a workload may well ask for it. A label that is left out and does not follow is named in
``otherLabels``, so that a selector on it is not checked instead of being called wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fnmatch import fnmatchcase

from kubesched_lint.engine.base.text import SHOWN
from kubesched_lint.engine.model.labels import Labels
from kubesched_lint.engine.model.nodes.node import ARCH, HOSTNAME, KEPT_LIKE, OS, REGION, ZONE, Node, names_place
from kubesched_lint.sources.sketches.cloud_labels import following
from kubesched_lint.sources.sketches.sketch import filled

_PLATFORMS = (
    *("alpha.eksctl.io", "eks.amazonaws.com", "k8s.io", "karpenter.k8s.aws", "karpenter.sh", "topology.k8s.aws"),
    *("addon.gke.io", "disk-type.gke.io", "cloud.google.com", "iam.gke.io", "networking.gke.io", "node.gke.io"),
    *("karpenter.azure.com", "kubernetes.azure.com", "kops.k8s.io", "feature.node.kubernetes.io", "nvidia.com"),
    *("machine.openshift.io", "node.openshift.io"),
)
"""Domains of labels that platforms set, mostly for their own books."""
_BARE = frozenset(["storageprofile", "storagetier"])
"""Labels of AKS without a domain."""
_ASKED_FOR = (
    *("alpha.eksctl.io/nodegroup-name", "eks.amazonaws.com/nodegroup", "eks.amazonaws.com/capacityType"),
    *("eks.amazonaws.com/compute-type", "karpenter.sh/nodepool", "karpenter.sh/provisioner-name"),
    *("karpenter.sh/capacity-type", "karpenter.k8s.aws/instance-gpu-*", "karpenter.k8s.aws/instance-local-nvme"),
    *("cloud.google.com/gke-nodepool", "cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible"),
    *("cloud.google.com/gke-provisioning", "cloud.google.com/gke-accelerator*", "cloud.google.com/gke-gpu*"),
    *("cloud.google.com/gke-tpu-*", "cloud.google.com/gke-os-distribution", "cloud.google.com/*local*ssd"),
    *("cloud.google.com/compute-class", "iam.gke.io/gke-metadata-server-enabled"),
    *("kubernetes.azure.com/agentpool", "kubernetes.azure.com/mode", "kubernetes.azure.com/scalesetpriority"),
    *("kubernetes.azure.com/accelerator", "kubernetes.azure.com/os-sku", "kops.k8s.io/instancegroup"),
    *("nvidia.com/gpu.product", "nvidia.com/gpu.count", "nvidia.com/gpu.memory", "nvidia.com/gpu.present"),
    *("nvidia.com/gpu.family", "nvidia.com/mig*", "nvidia.com/gpu.deploy.*"),
)
"""Labels of these domains that workloads select on."""
_STABLE = (OS, ARCH, REGION)


class Shortening:
    """The labels to write for each of these nodes. ``exact``: all that do not follow from others."""

    def __init__(self, nodes: Sequence[Node], *, exact: bool) -> None:
        self._left_out = frozenset[str]() if exact else _left_out(nodes)
        self.of_zones = _of_zones(nodes, self._left_out)
        """Zone → labels that all its nodes have and that differ between zones."""
        self.others = () if exact else tuple(_joined(self._left_out, nodes))
        """Keys that are left out, ``domain/*`` for all of a domain."""
        self._known: dict[frozenset[tuple[str, str]], Mapping[str, str | None]] = {}

    def written(self, node: Node) -> Mapping[str, str | None]:
        """Return the labels to write besides hostname and zone; None stands for null."""
        labels = {key: value for key, value in node.labels.items() if key != HOSTNAME}
        same = frozenset(labels.items())
        if same not in self._known:
            self._known[same] = self._written(labels)
        return self._known[same]

    def _written(self, labels: Labels) -> Mapping[str, str | None]:
        zone = labels.get(ZONE)
        of_zone = {} if zone is None else self.of_zones.get(zone, {})
        wanted = {key: value for key, value in labels.items() if key not in self._left_out}
        implied = {ZONE, *_STABLE, *following(labels), *KEPT_LIKE, *of_zone}
        written: dict[str, str | None] = {key: value for key, value in wanted.items() if key not in implied}
        for key in (*_STABLE, *sorted({*implied, *following(wanted)}.difference(_STABLE, (ZONE,)))):
            if filled(written, "", zone, of_zone).get(key) != wanted.get(key):
                written[key] = wanted.get(key)
        return dict(sorted(written.items()))


def _left_out(nodes: Iterable[Node]) -> frozenset[str]:
    """Return the keys that no node of the sketch shall have: all nodes of a label that some node shows must show it."""
    kinds = {frozenset(node.labels.items() - {(HOSTNAME, node.labels.get(HOSTNAME))}) for node in nodes}
    own = _named_like_the_node(nodes)
    left: set[str] = set()
    follow: set[str] = set()
    for kind in kinds:
        labels = dict(kind)
        books = {key for key in labels if key in own or _only_books(key)}
        made = following({key: value for key, value in labels.items() if key not in books}).keys()
        left |= books - made
        follow |= books & made
    return frozenset(left - follow)


def _only_books(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    if not slash:
        return key in _BARE
    return domain in _PLATFORMS and not any(fnmatchcase(key, asked) for asked in _ASKED_FOR)


def _named_like_the_node(nodes: Iterable[Node]) -> Set[str]:
    """Return the keys whose value is the node's own name on every node that has the label."""
    are_names: dict[str, bool] = {}
    for node in nodes:
        names = {node.name, node.name.partition(".")[0], node.labels.get(HOSTNAME, node.name)}
        for key, value in node.labels.items():
            are_names[key] = are_names.get(key, True) and value in names
    return {key for key, is_name in are_names.items() if is_name and key != HOSTNAME}


def _of_zones(nodes: Sequence[Node], left_out: Set[str]) -> Mapping[str, Labels]:
    labels_by_zone: dict[str, dict[str, str]] = {}
    for key in sorted({key for node in nodes for key in node.labels if names_place(key)} - left_out):
        values = _by_zone(nodes, key)
        if len(set(values.values())) > 1 and not all(following(_without(n, key)).get(key) for n in nodes):
            for zone, value in values.items():
                labels_by_zone.setdefault(zone, {})[key] = value
    return labels_by_zone


def _without(node: Node, key: str) -> Labels:
    return {other: value for other, value in node.labels.items() if other != key}


def _by_zone(nodes: Iterable[Node], key: str) -> Mapping[str, str]:
    """Return zone → value of the label; empty if the zone does not tell the value."""
    values: dict[str, str] = {}
    for node in nodes:
        zone, value = node.labels.get(ZONE), node.labels.get(key)
        if key in (ZONE, REGION, HOSTNAME) or (zone is None) != (value is None):
            return {}
        if zone is not None and value is not None and values.setdefault(zone, value) != value:
            return {}
    return values


def _joined(keys: Set[str], nodes: Iterable[Node]) -> Iterator[str]:
    """Yield the keys in order; ``domain/*`` for a domain of many of which every label is left out."""
    kept = {_domain(key) for node in nodes for key in node.labels if key not in keys}
    domains: dict[str, list[str]] = {}
    for key in sorted(keys):
        domains.setdefault(_domain(key), []).append(key)
    for domain, domain_keys in domains.items():
        if domain and domain not in kept and len(domain_keys) > SHOWN:
            yield f"{domain}/*"
        else:
            yield from domain_keys


def _domain(key: str) -> str:
    return key.rpartition("/")[0]
