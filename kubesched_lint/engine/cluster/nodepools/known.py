"""What is known of the node groups of a cluster: which ones its nodes show, and whether there may be others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from kubesched_lint.engine.base.text import first_few, many, plural
from kubesched_lint.engine.cluster.cluster import MAY_ADD_NODES, Cluster
from kubesched_lint.engine.cluster.nodepools.groups import inferred_groups
from kubesched_lint.engine.cluster.nodepools.unshown import unseen_groups
from kubesched_lint.engine.cluster.nodes.elastic import OPEN, is_of_known, known_groups
from kubesched_lint.engine.model.nodes.node import CLUSTER_AUTOSCALER, Node, NodePool


class KnownGroups:
    """The node groups of a cluster, given its pools and the ``pools`` of the manifests."""

    def __init__(self, cluster: Cluster, pools: Iterable[NodePool] = ()) -> None:
        self._cluster = cluster
        self._pools = (*cluster.inventory.node_pools, *pools)

    @cached_property
    def is_elastic(self) -> bool:
        """Whether nodes may appear that are neither in the snapshot nor from a known pool."""
        cluster = self._cluster
        if cluster.is_elastic_by_option or cluster.node_groups == OPEN:
            return bool(cluster.group_sizes) or any(node.elastic for node in cluster.inventory.nodes)
        if cluster.grown:
            return False
        return (self._has_unseen and not cluster.node_groups) or any(map(self._comes_again, cluster.inventory.nodes))

    @cached_property
    def inferred(self) -> tuple[NodePool, ...]:
        """The node groups that only nodes show, besides the pools; none under ``--elastic``."""
        if self._cluster.is_elastic_by_option or self._cluster.grown:
            return ()
        return inferred_groups(self._cluster.inventory.nodes, self._pools)

    @cached_property
    def are_all(self) -> bool:
        """Whether there is no node group besides the pools and those that nodes show: stated or established."""
        cluster = self._cluster
        if cluster.node_groups or cluster.pools_written:
            return cluster.node_groups != OPEN
        if not cluster.group_sizes or self._has_unseen:
            return False
        others = any(node.elastic and not node.group for node in cluster.inventory.nodes)
        made_on_demand = any("-nap-" in name for name in cluster.group_sizes)  # by GKE's node auto-provisioning
        # cluster-autoscaler names every group that it scales; what other autoscalers may make, nodes do not show.
        is_named = all(group.maker == CLUSTER_AUTOSCALER for group in self.inferred)
        return is_named and not others and not made_on_demand

    @cached_property
    def has_fargate(self) -> bool:
        """Whether EKS makes nodes for single pods."""
        nodes = self._cluster.inventory.nodes
        return any(node.labels.get("eks.amazonaws.com/compute-type") == "fargate" for node in nodes)

    @property
    def are_undecided(self) -> bool:
        """Whether proofs about nodes wait for the user's word on whether all node groups are known."""
        cluster = self._cluster
        asks = not cluster.node_groups and not cluster.is_elastic_by_option
        return asks and cluster.knows_nodes and self.is_elastic and not self.are_all

    @property
    def decision(self) -> str:
        """What the user has to decide about the node groups, as a sentence; empty if nothing."""
        if not self.are_undecided:
            return ""
        empty = self._empty
        if empty:
            return (
                f"cluster-autoscaler has {many(len(empty), 'node group')} without a node ({first_few(empty)}): "
                f"describe {plural(len(empty), 'it', 'them')} in `declared-groups` of kubesched.toml, or say "
                '`node-groups = "open"`; until then every error about nodes is a warning'
            )
        names = [group.name for group in self.inferred]
        count = f"{len(names)} " if len(names) > 1 else ""
        groups = f"{count}{plural(len(names), 'node group')}"
        seen = f"the {groups} seen ({first_few(names)})" if names else "these nodes"
        are = "is" if len(names) == 1 else "are"
        return (
            f'{are} {seen} all there {are}? Add `node-groups = "complete"` to kubesched.toml, or "open" if pods may '
            "land on other groups; until then every error about nodes is a warning"
        )

    @property
    def notes(self) -> Iterator[str]:
        """A line for the footer: why an autoscaler may add nodes, or that errors hold for further nodes."""
        if not self.is_elastic:
            return
        names = [group.name for group in self.inferred]
        if names and self.are_all:
            yield (
                f"nodes may come from {many(len(names), 'node group')} ({first_few(names)}): an error holds "
                "for any number of their nodes"
            )
        else:
            because = self._cluster.elastic_because
            yield f"{MAY_ADD_NODES} ({because}): proofs about nodes are warnings; --fixed if none does"

    def _comes_again(self, node: Node) -> bool:
        """Return whether a node like this one may come from a group that is no known pool."""
        has_maker = bool(node.group) or not self._cluster.pools_written or bool(self._cluster.node_groups)
        return node.elastic and has_maker and not is_of_known(node, self._known)

    @cached_property
    def _known(self) -> frozenset[tuple[bool, str]]:
        return frozenset(known_groups(self._pools))

    @cached_property
    def _has_unseen(self) -> bool:
        """Whether cluster-autoscaler's status counts more nodes, or names more groups, than nodes and pools show."""
        return self._cluster.has_unshown or bool(self._empty)

    @cached_property
    def _empty(self) -> Sequence[str]:
        """The groups without a node that cluster-autoscaler's status names and nobody declares."""
        if not self._cluster.group_sizes:
            return ()
        declared = [pool.name for pool in self._pools if pool.maker == CLUSTER_AUTOSCALER]
        return unseen_groups(self._cluster.group_sizes, declared)
