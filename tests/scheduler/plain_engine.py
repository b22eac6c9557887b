"""The filters once more, node by node and pod by pod, as the Go sources read: what the bitset engine must equal.

Shares nothing with it but the model. Sources are those of v1.36 under ``pkg/scheduler/framework/plugins``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.node import Node, Taint
from kubesched_lint.engine.model.pod import (
    BoundPod,
    NodeSelectorTerm,
    Pod,
    PodAffinityTerm,
    SpreadConstraint,
    Toleration,
)
from kubesched_lint.engine.model.storage import Claim, PersistentVolume, StorageClass

UNSCHEDULABLE, UNRESOLVABLE = "Unschedulable", "UnschedulableAndUnresolvable"


class Status(Struct):
    code: str
    reasons: list[str]
    plugin: str


class NodeInfo(Struct):
    node: Node
    pods: list[BoundPod] = field(default_factory=list)

    def requested(self, resource: str) -> int:
        return sum(p.pod.requests.get(resource, 0) for p in self.pods)


class Cluster(Struct):
    nodes: list[NodeInfo]
    namespaces: dict[str, dict[str, str]]
    claims: dict[tuple[str, str], Claim] = field(default_factory=dict)
    volumes: dict[str, PersistentVolume] = field(default_factory=dict)
    classes: dict[str, StorageClass] = field(default_factory=dict)

    @staticmethod
    def of(
        nodes: Iterable[Node],
        pods: Iterable[BoundPod],
        namespaces: dict[str, dict[str, str]],
        claims: Iterable[Claim] = (),
        volumes: Iterable[PersistentVolume] = (),
        classes: Iterable[StorageClass] = (),
    ) -> Cluster:
        infos = {n.name: NodeInfo(n) for n in nodes}
        for pod in pods:
            infos[pod.node].pods.append(pod)
        return Cluster(
            list(infos.values()),
            namespaces,
            {(c.namespace, c.name): c for c in claims},
            {v.name: v for v in volumes},
            {c.name: c for c in classes},
        )


# --- PreFilter ------------------------------------------------------------------------------------------------------


class CycleState:
    """What the PreFilter plugins write down, and what preemption updates pod by pod."""

    def __init__(self, pod: Pod, cluster: Cluster) -> None:
        self.pod, self.cluster = pod, cluster
        self.refusal: Status | None = None
        self.only: set[str] | None = None
        self._node_affinity()
        if self.refusal is None:
            self._claims()
        self._inter_pod_affinity()
        self._spread()
        self.exclusive = {
            v.claim
            for v in pod.volumes
            if v.kind == "persistentVolumeClaim"
            and (c := cluster.claims.get((pod.namespace, v.claim))) is not None
            and "ReadWriteOncePod" in c.access_modes
        }

    def _node_affinity(self) -> None:
        terms = self.pod.required_node_terms
        if not terms:
            return
        names: set[str] = set()
        for term in terms:
            own: set[str] | None = None
            for f in term.fields:
                if f.key == "metadata.name" and f.operator == "In":
                    own = set(f.values) if own is None else own & set(f.values)
            if own is None:
                return
            names |= own
        if not names:
            self.refusal = Status(UNRESOLVABLE, ["pod affinity terms conflict"], "NodeAffinity")
        else:
            self.only = names

    def _claims(self) -> None:
        wanted = [v for v in self.pod.volumes if v.kind == "persistentVolumeClaim"]
        for volume in wanted:
            if (self.pod.namespace, volume.claim) not in self.cluster.claims:
                text = f'persistentvolumeclaim "{volume.claim}" not found'
                self.refusal = Status(UNRESOLVABLE, [text], "VolumeRestrictions")
                return
        for volume in wanted:
            claim = self.cluster.claims[self.pod.namespace, volume.claim]
            if claim.volume_name:
                continue
            storage_class = self.cluster.classes.get(claim.storage_class or "")
            if storage_class is None or storage_class.binding_mode != "WaitForFirstConsumer":
                text = "pod has unbound immediate PersistentVolumeClaims"
                self.refusal = Status(UNRESOLVABLE, [text], "VolumeBinding")
                return

    def _inter_pod_affinity(self) -> None:
        self.existing_anti: Counter[tuple[str, str]] = Counter()
        self.affinity: Counter[tuple[str, str]] = Counter()
        self.anti: Counter[tuple[str, str]] = Counter()
        for info in self.cluster.nodes:
            for existing in info.pods:
                self._count_terms(existing, info.node, 1)

    def _count_terms(self, existing: BoundPod, node: Node, step: int) -> None:
        own_labels = self.cluster.namespaces.get(self.pod.namespace, {})
        for term in existing.pod.required_anti_affinity:
            if matches_term(term, existing.pod.namespace, self.pod, own_labels):
                self._bump(self.existing_anti, node, term.topology_key, step)
        if self.matches_all_own(existing.pod):
            for term in self.pod.required_affinity:
                self._bump(self.affinity, node, term.topology_key, step)
        for term in self.pod.required_anti_affinity:
            if self.own_term_matches(term, existing.pod):
                self._bump(self.anti, node, term.topology_key, step)

    @staticmethod
    def _bump(counter: Counter[tuple[str, str]], node: Node, key: str, step: int) -> None:
        if key in node.labels:
            counter[key, node.labels[key]] += step
            if counter[key, node.labels[key]] == 0:
                del counter[key, node.labels[key]]

    def own_term_matches(self, term: PodAffinityTerm, other: Pod) -> bool:
        """mergeAffinityTermNamespacesIfNotEmpty, then Matches with no namespace labels: the quirk of #141526."""
        namespaces = set(term.namespaces)
        if not term.namespaces and term.namespace_selector is None:
            namespaces = {self.pod.namespace}
        chosen = term.namespace_selector
        if chosen is not None and not chosen.is_empty:
            namespaces |= {n for n, labels in self.cluster.namespaces.items() if chosen.matches(labels)}
        if other.namespace not in namespaces and (chosen is None or not chosen.matches({})):
            return False
        return term.selector is not None and term.selector.matches(other.labels)

    def matches_all_own(self, other: Pod) -> bool:
        terms = self.pod.required_affinity
        return bool(terms) and all(self.own_term_matches(t, other) for t in terms)

    def _spread(self) -> None:
        self.constraints = [c for c in self.pod.spread if c.when_unsatisfiable == "DoNotSchedule"]
        self.domain_counts: list[dict[str, int]] = [{} for _ in self.constraints]
        for info in self.cluster.nodes:
            if not self._has_all_keys(info.node):
                continue
            for i, constraint in enumerate(self.constraints):
                if not self._included(constraint, info.node):
                    continue
                value = info.node.labels[constraint.topology_key]
                count = 0
                selector = self.selector_of(constraint)
                if selector is not None and not selector.is_empty:
                    for existing in info.pods:
                        if existing.terminating or existing.namespace != self.pod.namespace:
                            continue
                        count += selector.matches(existing.pod.labels)
                self.domain_counts[i][value] = self.domain_counts[i].get(value, 0) + count

    def _has_all_keys(self, node: Node) -> bool:
        return all(c.topology_key in node.labels for c in self.constraints)

    def _included(self, constraint: SpreadConstraint, node: Node) -> bool:
        if constraint.node_affinity_policy in ("", "Honor") and not fits_node_affinity(self.pod, node):
            return False
        return not (constraint.node_taints_policy == "Honor" and untolerated(self.pod, node))

    def selector_of(self, constraint: SpreadConstraint) -> Selector | None:
        if constraint.selector is None:
            return None
        own = [Requirement(k, "In", (self.pod.labels[k],)) for k in constraint.match_label_keys if k in self.pod.labels]
        return Selector((*constraint.selector.requirements, *own))

    def update(self, other: BoundPod, node: Node, step: int) -> None:
        """PreFilterExtensions AddPod (step 1) and RemovePod (-1)."""
        self._count_terms(other, node, step)
        if other.namespace != self.pod.namespace or not self._has_all_keys(node):
            return
        for i, constraint in enumerate(self.constraints):
            selector = self.selector_of(constraint)
            if selector is None or not selector.matches(other.pod.labels) or not self._included(constraint, node):
                continue
            self.domain_counts[i][node.labels[constraint.topology_key]] += step


# --- Filter, in the default order -----------------------------------------------------------------------------------


def filter_node(state: CycleState, info: NodeInfo) -> Status | None:
    """The first plugin's refusal of a node; None when it passes. The kubelet checks a pod that names its node."""
    of_kubelet = (_node_name, _taint_toleration, _node_affinity, _node_ports, _node_resources_fit)
    of_scheduler = (
        _node_unschedulable,
        *of_kubelet,
        _volume_restrictions,
        _volume_binding,
        _volume_zone,
        _pod_topology_spread,
        _inter_pod_affinity,
    )
    for plugin in of_kubelet if state.pod.node_name else of_scheduler:
        status = plugin(state, info)
        if status is not None:
            return status
    return None


def _node_unschedulable(state: CycleState, info: NodeInfo) -> Status | None:
    cordon = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
    if info.node.unschedulable and not any(tolerates(t, cordon) for t in state.pod.tolerations):
        return Status(UNRESOLVABLE, ["node(s) were unschedulable"], "NodeUnschedulable")
    return None


def _node_name(state: CycleState, info: NodeInfo) -> Status | None:
    if state.pod.node_name and state.pod.node_name != info.node.name:
        return Status(UNRESOLVABLE, ["node(s) didn't match the requested node name"], "NodeName")
    return None


def _taint_toleration(state: CycleState, info: NodeInfo) -> Status | None:
    if untolerated(state.pod, info.node):
        return Status(UNRESOLVABLE, ["node(s) had untolerated taint(s)"], "TaintToleration")
    return None


def _node_affinity(state: CycleState, info: NodeInfo) -> Status | None:
    if not fits_node_affinity(state.pod, info.node):
        return Status(UNRESOLVABLE, ["node(s) didn't match Pod's node affinity/selector"], "NodeAffinity")
    return None


def _node_ports(state: CycleState, info: NodeInfo) -> Status | None:
    for wanted in state.pod.host_ports:
        for existing in info.pods:
            for used in existing.pod.host_ports:
                if (used.protocol, used.port) != (wanted.protocol, wanted.port):
                    continue
                if "0.0.0.0" in (used.host_ip, wanted.host_ip) or used.host_ip == wanted.host_ip:
                    text = "node(s) didn't have free ports for the requested pod ports"
                    return Status(UNSCHEDULABLE, [text], "NodePorts")
    return None


def _node_resources_fit(state: CycleState, info: NodeInfo) -> Status | None:
    allocatable = info.node.allocatable
    if allocatable is None:
        return None
    reasons, code = [], UNSCHEDULABLE
    if len(info.pods) + 1 > allocatable.get("pods", 0):
        reasons.append("Too many pods")
    for resource, amount in state.pod.requests.items():
        if amount > 0 and amount > allocatable.get(resource, 0) - info.requested(resource):
            reasons.append(f"Insufficient {resource}")
            if amount > allocatable.get(resource, 0):
                code = UNRESOLVABLE
    return Status(code, reasons, "NodeResourcesFit") if reasons else None


def _volume_restrictions(state: CycleState, info: NodeInfo) -> Status | None:
    users = sum(
        v.kind == "persistentVolumeClaim" and v.claim in state.exclusive and p.namespace == state.pod.namespace
        for other in state.cluster.nodes
        for p in other.pods
        for v in p.pod.volumes
    )
    if users:
        text = (
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use "
            "by another pod"
        )
        return Status(UNSCHEDULABLE, [text], "VolumeRestrictions")
    return None


def _volume_binding(state: CycleState, info: NodeInfo) -> Status | None:
    reasons = []
    claims = [
        state.cluster.claims[state.pod.namespace, v.claim]
        for v in state.pod.volumes
        if v.kind == "persistentVolumeClaim"
    ]
    for claim in claims:
        volume = state.cluster.volumes.get(claim.volume_name)
        if volume is not None and not reaches(volume, info.node):
            reasons.append("node(s) didn't match PersistentVolume's node affinity")
            break
    chosen: set[str] = set()
    left = []
    for claim in sorted((c for c in claims if not c.volume_name), key=lambda c: c.request):
        found = find_matching_volume(claim, info.node, state.cluster, chosen)
        if found is None:
            left.append(claim)
        else:
            chosen.add(found.name)
    for claim in left:
        storage_class = state.cluster.classes[claim.storage_class or ""]
        if storage_class.provisioner == "kubernetes.io/no-provisioner" or not allowed_topology(
            storage_class, info.node
        ):
            reasons.append("node(s) didn't find available persistent volumes to bind")
            break
    return Status(UNRESOLVABLE, reasons, "VolumeBinding") if reasons else None


def _volume_zone(state: CycleState, info: NodeInfo) -> Status | None:
    keys = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
    if not any(k in info.node.labels for k in keys):
        return None
    for volume in state.pod.volumes:
        claim = state.cluster.claims.get((state.pod.namespace, volume.claim))
        bound = state.cluster.volumes.get(claim.volume_name) if claim is not None else None
        for key in keys:
            if bound is not None and key in bound.labels:
                zones = bound.labels[key].split("__")
                if info.node.labels.get(key) not in zones:
                    return Status(UNRESOLVABLE, ["node(s) had no available volume zone"], "VolumeZone")
    return None


def _pod_topology_spread(state: CycleState, info: NodeInfo) -> Status | None:
    text = "node(s) didn't match pod topology spread constraints"
    for constraint, counts in zip(state.constraints, state.domain_counts, strict=True):
        if constraint.topology_key not in info.node.labels:
            return Status(UNRESOLVABLE, [f"{text} (missing required label)"], "PodTopologySpread")
        least = min(counts.values(), default=0)
        if len(counts) < (constraint.min_domains or 1):
            least = 0
        selector = state.selector_of(constraint)
        itself = int(selector is not None and selector.matches(state.pod.labels))
        here = counts.get(info.node.labels[constraint.topology_key], 0)
        if here + itself - least > constraint.max_skew:
            return Status(UNSCHEDULABLE, [text], "PodTopologySpread")
    return None


def _inter_pod_affinity(state: CycleState, info: NodeInfo) -> Status | None:
    labels, terms = info.node.labels, state.pod.required_affinity
    pods_exist = True
    for term in terms:
        if term.topology_key not in labels:
            return Status(UNRESOLVABLE, ["node(s) didn't match pod affinity rules"], "InterPodAffinity")
        if state.affinity.get((term.topology_key, labels[term.topology_key]), 0) <= 0:
            pods_exist = False
    if not pods_exist and not (not state.affinity and state.matches_all_own(state.pod)):
        return Status(UNRESOLVABLE, ["node(s) didn't match pod affinity rules"], "InterPodAffinity")
    for term in state.pod.required_anti_affinity:
        if term.topology_key in labels and state.anti.get((term.topology_key, labels[term.topology_key]), 0) > 0:
            return Status(UNSCHEDULABLE, ["node(s) didn't match pod anti-affinity rules"], "InterPodAffinity")
    for pair in labels.items():
        if state.existing_anti.get(pair, 0) > 0:
            text = "node(s) didn't satisfy existing pods anti-affinity rules"
            return Status(UNSCHEDULABLE, [text], "InterPodAffinity")
    return None


# --- helpers of the plugins -----------------------------------------------------------------------------------------


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def untolerated(pod: Pod, node: Node) -> bool:
    for taint in node.taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not any(tolerates(t, taint) for t in pod.tolerations):
            return True
    return False


def fits_node_affinity(pod: Pod, node: Node) -> bool:
    for key, value in pod.node_selector.items():
        if node.labels.get(key) != value:
            return False
    if pod.required_node_terms is None:
        return True
    return any(fits_term(term, node) for term in pod.required_node_terms)


def fits_term(term: NodeSelectorTerm, node: Node) -> bool:
    if not term.expressions and not term.fields:
        return False
    for f in term.fields:
        if len(f.values) != 1:
            return False
        if (node.name == f.values[0]) != (f.operator == "In"):
            return False
    return all(e.matches(node.labels) for e in term.expressions)


def matches_term(term: PodAffinityTerm, holder: str, pod: Pod, namespace_labels: dict[str, str]) -> bool:
    namespaces = set(term.namespaces)
    if not term.namespaces and term.namespace_selector is None:
        namespaces = {holder}
    chosen = term.namespace_selector
    if pod.namespace not in namespaces and (chosen is None or not chosen.matches(namespace_labels)):
        return False
    return term.selector is not None and term.selector.matches(pod.labels)


def reaches(volume: PersistentVolume, node: Node) -> bool:
    return volume.node_terms is None or any(fits_term(t, node) for t in volume.node_terms)


def find_matching_volume(claim: Claim, node: Node, cluster: Cluster, chosen: set[str]) -> PersistentVolume | None:
    smallest = None
    for volume in cluster.volumes.values():
        if volume.name in chosen or volume.storage_class != (claim.storage_class or ""):
            continue
        if volume.claim_ref is not None and volume.claim_ref[:2] != (claim.namespace, claim.name):
            continue
        if volume.capacity < claim.request:
            continue
        if volume.claim_ref is not None:
            return volume if reaches(volume, node) else None
        if not reaches(volume, node) or not set(claim.access_modes) <= set(volume.access_modes):
            continue
        if smallest is None or volume.capacity < smallest.capacity:
            smallest = volume
    return smallest


def allowed_topology(storage_class: StorageClass, node: Node) -> bool:
    if not storage_class.allowed_topologies:
        return True
    return any(
        term and all(node.labels.get(key) in values for key, values in term.items())
        for term in storage_class.allowed_topologies
    )


# --- one attempt ----------------------------------------------------------------------------------------------------


class Attempt(Struct):
    feasible: list[str]
    message: str
    statuses: dict[str, Status]
    """Explicit ones; the nodes outside a PreFilterResult have none."""
    refused: bool = False


def attempt(pod: Pod, cluster: Cluster) -> Attempt:
    state = CycleState(pod, cluster)
    if pod.node_name:  # it goes to the kubelet: no PreFilter, and taints of NoSchedule are past
        state.refusal, state.only = None, None
        state.pod = replace(pod, tolerations=(*pod.tolerations, Toleration(operator="Exists", effect="NoSchedule")))
    lead = f"0/{len(cluster.nodes)} nodes are available:"
    if state.refusal is not None:
        return Attempt([], f"{lead} {state.refusal.reasons[0]}.", {}, refused=True)
    feasible, statuses = [], {}
    for info in cluster.nodes:
        if state.only is not None and info.node.name not in state.only:
            continue
        status = filter_node(state, info)
        if status is None:
            feasible.append(info.node.name)
        else:
            statuses[info.node.name] = status
    histogram = Counter(reason for status in statuses.values() for reason in status.reasons)
    outside = len(cluster.nodes) - len(statuses) - len(feasible)
    if outside:
        histogram["node(s) didn't satisfy plugin(s) [NodeAffinity]"] += outside
    text = ", ".join(sorted(f"{count} {reason}" for reason, count in histogram.items()))
    return Attempt(feasible, f"{lead} {text}." if text else lead, statuses)
