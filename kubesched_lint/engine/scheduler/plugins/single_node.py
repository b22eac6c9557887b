"""The short filters, which judge each node by itself; each class is a kube-scheduler plugin of the same name."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.quirks import NODE_DECLARED_FEATURES, has
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, of, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, profile_of
from kubesched_lint.engine.model.resources import is_ignored
from kubesched_lint.engine.scheduler.plugins.verdict import PreFilterRefusal, Rejection
from kubesched_lint.engine.scheduler.tolerance import CORDON, repelled_pods, tolerates_any

ENFORCED = "node(s) didn't match scheduler-enforced node affinity"


class NodeUnschedulable:
    """Cordoned nodes refuse pods that do not tolerate the cordon.

    Mirrors ``pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go`` (v1.36).
    """

    NAME = "NodeUnschedulable"

    @staticmethod
    def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
        cordoned = among & state.index.cordoned
        if cordoned and not tolerates_any(pod.tolerations, CORDON):
            yield Rejection(NodeUnschedulable.NAME, "node(s) were unschedulable", cordoned, resolvable=False)


class NodeName:
    """A pod that names its node can run on no other.

    Mirrors ``pkg/scheduler/framework/plugins/nodename/node_name.go`` (v1.36). Such a pod goes directly to the kubelet,
    so the scheduler sees it only in simulations.
    """

    NAME = "NodeName"

    @staticmethod
    def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
        if pod.node_name:
            others = among & ~state.index.named([pod.node_name])
            yield Rejection(NodeName.NAME, "node(s) didn't match the requested node name", others, resolvable=False)


class TaintToleration:
    """A taint excludes every pod that does not tolerate it.

    Mirrors ``pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go`` (v1.36).
    """

    NAME = "TaintToleration"

    @staticmethod
    def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
        repelling = among & repelled_pods(state.index, pod)
        if repelling:
            yield Rejection(TaintToleration.NAME, "node(s) had untolerated taint(s)", repelling, resolvable=False)


class NodeAffinity:
    """A pod's nodeSelector and required node affinity select the nodes it can use, and its profile's addedAffinity.

    Mirrors ``pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go`` (v1.36).
    """

    NAME = "NodeAffinity"

    @staticmethod
    def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
        added = profile_of(pod).added_node_terms
        if added is not None:
            others = among & ~state.index.matching({}, added)
            yield Rejection(NodeAffinity.NAME, ENFORCED, others, resolvable=False)
            among &= ~others
        if pod.node_selector or pod.required_node_terms is not None:
            others = among & ~state.index.matching(pod.node_selector, pod.required_node_terms)
            yield Rejection(
                NodeAffinity.NAME, "node(s) didn't match Pod's node affinity/selector", others, resolvable=False
            )

    @staticmethod
    def prefilter(pod: Pod, state: ClusterState) -> PreFilterRefusal | NodeSet | None:
        """Return the named nodes if every term pins metadata.name; only these are checked."""
        if not pod.required_node_terms:
            return None
        names: frozenset[str] = frozenset()
        for term in pod.required_node_terms:
            pinned = _pinned(term)
            if pinned is None:
                return None
            names |= pinned
        if not names:
            return PreFilterRefusal(NodeAffinity.NAME, "pod affinity terms conflict", resolvable=False)
        return state.index.named(names)


def _pinned(term: NodeSelectorTerm) -> frozenset[str] | None:
    """Return the node names common to all ``metadata.name In`` fields of a term; None without such a field."""
    names: frozenset[str] | None = None
    for field in term.fields:
        if field.key == "metadata.name" and field.operator == "In":
            values = frozenset(field.values)
            names = values if names is None else names & values
    return names


class NodePorts:
    """Two pods cannot use the same host port of a node.

    Mirrors ``pkg/scheduler/framework/plugins/nodeports/node_ports.go`` (v1.36).
    """

    NAME = "NodePorts"

    @staticmethod
    def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
        taken = EMPTY
        for port in pod.host_ports:
            taken |= state.port_conflicts(port)
        if taken:
            yield Rejection(
                NodePorts.NAME,
                "node(s) didn't have free ports for the requested pod ports",
                among & taken,
                resolvable=True,
            )


class NodeResourcesFit:
    """A node must have enough free resources for a pod's requests, and room for one more pod.

    Mirrors ``pkg/scheduler/framework/plugins/noderesources/fit.go`` (v1.36), fitsRequest. A node of unknown
    allocatable, as a sketch may have, has room for everything.
    """

    NAME = "NodeResourcesFit"

    @staticmethod
    def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
        """Yield one rejection per lacking resource; preemption cannot help if the request exceeds bare allocatable."""
        ledger, index, profile = state.ledger, state.index, profile_of(pod)
        full = among & ledger.short_of(PODS, 1)
        if full:
            yield Rejection(NodeResourcesFit.NAME, "Too many pods", full, resolvable=True)
        for resource, amount in pod.requests.items():
            if amount <= 0 or is_ignored(resource, profile):
                continue
            short = among & ledger.short_of(resource, amount)
            if short:
                never = short & index.short_of(resource, amount)
                if never:
                    yield Rejection(NodeResourcesFit.NAME, f"Insufficient {resource}", never, resolvable=False)
                if short != never:
                    yield Rejection(NodeResourcesFit.NAME, f"Insufficient {resource}", short & ~never, resolvable=True)


class NodeDeclaredFeatures:
    """A pod that needs a kubelet feature runs only on nodes whose kubelet declares it.

    Mirrors ``pkg/scheduler/framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go`` (v1.36). A sketched node of
    unknown resources has unknown features too, and accepts the pod.
    """

    NAME = "NodeDeclaredFeatures"

    @staticmethod
    def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
        if not pod.required_features or not has(state.kubernetes_version, NODE_DECLARED_FEATURES):
            return
        wanted = frozenset(pod.required_features)
        lacking = of(
            i
            for i in positions(among & ~state.index.unknown_resources)
            if not wanted <= frozenset(state.index.nodes[i].declared_features)
        )
        yield Rejection(
            NodeDeclaredFeatures.NAME, "node(s) didn't match Pod's required features", lacking, resolvable=False
        )
