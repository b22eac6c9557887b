"""Nodes that pools could add, as nodes: enough of each kind that a bound over them holds for any growth.

A potential node offers what the DaemonSets leave: autoscalers reserve them on every new node. Limits are passed over
here, so that "even so it does not fit" is a proof; ``growth`` heeds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from kubesched_lint.analysis.rollout import fenceposts
from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.nodepools.templates import Template, limits_left, templates
from kubesched_lint.cluster.nodepools.wishes import Wishes, wishes_of
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, positions
from kubesched_lint.controllers.daemonset import targets, with_daemon_tolerations
from kubesched_lint.model.node import HOSTNAME, ZONE, Node
from kubesched_lint.model.nodepool import NodePool
from kubesched_lint.model.pod import Pod, Resources
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import replace
from kubesched_lint.scheduler.framework import static_feasible

if TYPE_CHECKING:
    from kubesched_lint.analysis.facts import Facts

_MOST_OFFERS = 4_000
"""Of all pools together; that many of each pool are looked at."""
_MOST_NODES = 4_000


@dataclass(frozen=True)
class Offer:
    """A kind of node with the DaemonSet pods that it gets; ``room`` is the most they can leave, None if unknown."""

    template: Template
    daemons: tuple[Pod, ...]
    room: Resources | None

    @property
    def size(self) -> tuple[bool, int, int]:
        """Smallest first; unknown last."""
        room = self.template.shape.allocatable
        return (True, 0, 0) if room is None else (False, room.get("cpu", 0), room.get("memory", 0))

    def node(self, number: int) -> Node:
        return self.template.node(number, self.room)


@dataclass(frozen=True)
class Potential:
    """What all pools could add. ``first`` are positions in ``nodes``: one node of each kind."""

    pools: tuple[NodePool, ...] = ()
    offers: tuple[Offer, ...] = ()
    nodes: tuple[Node, ...] = ()
    by_name: Mapping[str, Offer] = field(default_factory=dict)
    first: tuple[int, ...] = ()
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Pool → what its limits leave, as ``templates.limits_left``."""
    idle: frozenset[str] = frozenset()
    """Pools that can make no node."""
    complete: bool = True
    """False when there would be too many nodes: then a bound over them proves nothing."""


def potential_of(facts: Facts) -> Potential:
    """Everything that the pools of manifests and cluster could add for the workloads of the set."""
    pools = facts.pools
    if not pools or facts.cluster is None:
        return Potential()
    real = facts.cluster.inventory.nodes
    wishes = _wishes(facts)
    zones = tuple(dict.fromkeys(n.labels[ZONE] for n in real if ZONE in n.labels))
    daemons = tuple(daemon_pods(facts))
    every: list[Offer] = []
    groups: list[list[Offer]] = []
    complete = True
    for pool in pools:
        kinds = tuple(islice(templates(pool, wishes, zones), _MOST_OFFERS + 1))
        complete = complete and len(kinds) <= _MOST_OFFERS
        offers = tuple(offers_of(kinds[:_MOST_OFFERS], daemons))
        every += offers
        groups += _alike(offers, wishes)
    nodes: list[Node] = []
    by_name: dict[str, Offer] = {}
    first: list[int] = []
    chosen = [offer for group in groups for offer in _largest(group)]
    for offer, count in zip(chosen, _counts(facts, chosen), strict=True):
        first.append(len(nodes))
        for number in range(1, min(count, _MOST_NODES + 1 - len(nodes)) + 1):  # one too many tells that it is not all
            node = offer.node(number)
            nodes.append(node)
            by_name[node.name] = offer
    return Potential(
        pools,
        tuple(every if len(every) <= _MOST_OFFERS else _worth_planning(groups, facts)),
        tuple(nodes[:_MOST_NODES]),
        by_name,
        tuple(at for at in first if at < _MOST_NODES),
        {pool.name: limits_left(pool, real) for pool in pools},
        complete=complete and len(nodes) <= _MOST_NODES,
        idle=frozenset(pool.name for pool in pools) - {offer.template.pool.name for offer in every},
    )


def _wishes(facts: Facts) -> Wishes:
    """A DaemonSet makes no autoscaler add a node, so its wishes do not count; those of volumes do."""
    assert facts.cluster is not None
    pods = (facts.pod(w) for w in facts.manifests.workloads if w.kind != "DaemonSet")
    terms = [
        term
        for volume in (*facts.manifests.volumes, *facts.cluster.inventory.volumes)
        for term in volume.node_terms or ()
    ]
    topologies = [(r.key, r.values) for term in terms for r in term.expressions if r.operator == "In"]
    for storage_class in (*facts.manifests.storage_classes, *facts.cluster.inventory.storage_classes):
        topologies += [pair for term in storage_class.allowed_topologies for pair in term.items()]
    return wishes_of(pods, topologies)


# --- DaemonSets -----------------------------------------------------------------------------------------------------


def daemon_pods(facts: Facts) -> Iterator[Pod]:
    """A pod of every DaemonSet known: of the set, of the snapshot, or told by its running pods alone."""
    assert facts.cluster is not None
    ours = {(w.namespace, w.name): w for w in facts.manifests.workloads if w.kind == "DaemonSet"}
    live = {(w.namespace, w.name): w for w in facts.cluster.inventory.workloads if w.kind == "DaemonSet"}
    for workload in {**live, **ours}.values():
        yield with_daemon_tolerations(facts.pod(workload))
    yield from _running_daemons(facts, {*ours, *live})


def _running_daemons(facts: Facts, known: set[tuple[str, str]]) -> Iterator[Pod]:
    """Told by running pods: only where every node that seems to be meant has one, for their node affinity is lost.

    The controller replaces it when it pins a pod to its node.
    """
    assert facts.cluster is not None
    found: dict[tuple[str, str], tuple[Pod, set[str]]] = {}
    for bound in facts.cluster.inventory.pods:
        owner = bound.owner
        if owner is not None and owner.kind == "DaemonSet" and (bound.namespace, owner.name) not in known:
            found.setdefault((bound.namespace, owner.name), (bound.pod, set()))[1].add(bound.node)
    if not found:
        return
    index = NodeIndex(facts.cluster.inventory.nodes)
    for pod, nodes in found.values():
        anywhere = replace(pod, required_node_terms=None, node_name="")
        if not targets(anywhere, index)[0] & ~index.named(nodes):
            yield anywhere


def offers_of(kinds: Sequence[Template], daemons: Sequence[Pod]) -> Iterator[Offer]:
    """Each kind of node with the DaemonSet pods that go there."""
    index = NodeIndex([kind.node(1, kind.offered) for kind in kinds])
    going = [(pod, targets(pod, index)[0]) for pod in daemons]
    for position, kind in enumerate(kinds):
        here = tuple(pod for pod, nodes in going if nodes >> position & 1)
        yield Offer(kind, here, room_beside(kind.bound, here))


def room_beside(allocatable: Resources | None, daemons: Iterable[Pod]) -> Resources | None:
    """What the DaemonSet pods leave; never below 0."""
    if allocatable is None:
        return None
    left = dict(allocatable)
    for pod in daemons:
        for name, amount in (("pods", 1), *pod.requests.items()):
            left[name] = max(0, left.get(name, 0) - amount)
    return left


# --- how many of which ----------------------------------------------------------------------------------------------


def _alike(offers: Sequence[Offer], wishes: Wishes) -> Iterator[list[Offer]]:
    """Offers that pods cannot tell apart by label or taint, together; the largest first."""
    alike: dict[tuple[object, ...], list[Offer]] = {}
    for offer in offers:
        labels = offer.template.labels
        told = tuple((key, labels.get(key)) for key in sorted({*wishes.asked, ZONE} - {HOSTNAME}))
        alike.setdefault((offer.template.pool.name, offer.template.taints, told), []).append(offer)
    for group in alike.values():
        yield sorted(group, key=lambda o: o.size, reverse=True)


def _largest(group: Sequence[Offer]) -> Sequence[Offer]:
    """Those of an ordered group that no other one outdoes in every resource."""
    kept: list[Offer] = []
    for offer in group:
        if not any(_outdoes(other, offer) for other in kept):
            kept.append(offer)
    return kept


def _worth_planning(groups: Sequence[Sequence[Offer]], facts: Facts) -> Iterator[Offer]:
    """Of too many offers: of each group that some pod can use, the largest and as many of the others as may be.

    Whether a pod finds room depends on the largest alone; which machine a plan names, on the others as well.
    """
    index = NodeIndex([group[0].template.node(1, None) for group in groups])
    pods = [facts.pod(w) for w in facts.manifests.workloads if w.kind != "DaemonSet"]
    wanted = EMPTY
    for pod in pods:
        wanted |= static_feasible(pod, index)
    used = [groups[position] for position in positions(wanted)]
    step = -(-sum(map(len, used)) // _MOST_OFFERS)
    for group in used:
        yield from _largest(group)
        yield from (offer for offer in group[::step] if offer not in _largest(group))


def _outdoes(one: Offer, other: Offer) -> bool:
    if one.room is None:  # it may be of any size
        return True
    if other.room is None:
        return False
    return all(one.room.get(name, 0) >= amount for name, amount in other.room.items())


def _counts(facts: Facts, offers: Sequence[Offer]) -> Iterator[int]:
    """So many nodes of each kind that every workload could have all its pods there, each on nodes of its own."""
    index = NodeIndex([offer.node(1) for offer in offers])
    counts = [0] * len(offers)
    for workload in facts.manifests.workloads:
        if workload.kind == "DaemonSet":
            continue
        pod, most = facts.pod(workload), most_pods(workload, facts)
        for position in positions(static_feasible(pod, index)):
            counts[position] += -(-most // _each(pod, offers[position], most))
    # One more: that one of them is lost then proves nothing, and one that nobody can use shows what is in the way.
    return (count + 1 for count in counts)


def most_pods(workload: Workload, facts: Facts) -> int:
    """The most pods of a workload at any time: at the maximum of its autoscaler, with surge."""
    scaler = facts.autoscaler(workload)
    wanted = max(facts.replicas(workload), scaler.max_replicas if scaler is not None else 0)
    return wanted + (fenceposts(workload, wanted)[0] if workload.kind == "Deployment" else 0)


def _each(pod: Pod, offer: Offer, most: int) -> int:
    """How many pods surely share a node as far as resources tell; 1 where other pods matter."""
    if pod.host_ports or pod.required_anti_affinity or any(c.is_hard for c in pod.spread):
        return 1
    room = offer.room
    if room is None:
        return max(1, most)
    amounts = [("pods", 1), *((name, amount) for name, amount in pod.requests.items() if amount > 0)]
    return max(1, min(room.get(name, 0) // amount for name, amount in amounts))


def made_by(facts: Facts, pool: NodePool) -> NodeSet:
    """Positions in ``facts.index`` of the potential nodes of a pool."""
    found = EMPTY
    for position in positions(facts.index.all & ~facts.today):
        if facts.potential.by_name[facts.index.names[position]].template.pool.name == pool.name:
            found |= 1 << position
    return found
