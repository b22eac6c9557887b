"""Nodes that pools could add: enough of each kind that a bound over them holds for any growth.

A potential node offers what the DaemonSets leave, because autoscalers reserve their room on every new node. Limits are
ignored here, so that "does not fit even then" is a proof; ``growth`` applies them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.cluster.limits import MOST_KINDS
from kubesched_lint.engine.cluster.nodepools.label_demand import LabelDemand, demand_of, topology_keys
from kubesched_lint.engine.cluster.nodepools.templates import limits_left
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, of, positions
from kubesched_lint.engine.controllers.daemonset import targets, with_daemon_tolerations
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import (
    HOSTNAME,
    PLACE_LIKE,
    REGION,
    ZONE,
    Node,
    NodeOverlay,
    NodePool,
    zone_of,
)
from kubesched_lint.engine.model.pod import Pod, knows_scheduler
from kubesched_lint.engine.model.resources import made_anew
from kubesched_lint.engine.model.storage import PersistentVolume, StorageClass
from kubesched_lint.engine.scenario.limits import MOST_VALUES
from kubesched_lint.engine.scenario.pools.offers import NodeOffer, OfferGroup, made_by, offer_groups
from kubesched_lint.engine.scheduler.framework import static_feasible

_PLACES = (ZONE, REGION, *PLACE_LIKE)


class Potential(Struct, frozen=True):
    """All nodes that pools could add. ``first`` are positions in ``nodes``: one node of each kind."""

    pools: tuple[NodePool, ...] = ()
    offers: tuple[NodeOffer, ...] = ()
    nodes: tuple[Node, ...] = ()
    by_name: Mapping[str, NodeOffer] = field(default_factory=dict)
    first: tuple[int, ...] = ()
    alike: Mapping[str, Sequence[NodeOffer]] = field(default_factory=dict)
    """Name of a node → the kinds that pods cannot distinguish from it, the largest first."""
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Pool → remaining limits, from ``templates.limits_left``."""
    idle: frozenset[str] = frozenset()
    """Pools that can make no node."""
    complete: bool = True
    """False if there would be too many nodes: then a bound over them proves nothing."""


class Asked(Struct, frozen=True):
    """The pods for which pools make room, and the DaemonSet pods on every node."""

    pods: tuple[tuple[Pod, int], ...]
    """The pod of each workload, with its largest number; an autoscaler adds no node for a DaemonSet."""
    daemons: Mapping[tuple[str, str], Pod]
    """(namespace, name) of each known DaemonSet → its pod."""
    volumes: tuple[PersistentVolume, ...]
    storage_classes: tuple[StorageClass, ...]
    quota_namespaces: frozenset[str] = frozenset()
    """Namespaces where a quota may keep pods from being created."""
    device_resources: frozenset[str] = frozenset()
    """Extended resources that a DeviceClass serves."""

    def certain(self, daemons: Sequence[Pod]) -> tuple[bool, ...]:
        """Return for each DaemonSet's pod whether it takes its room on a new node before any other pod, for sure.

        It tolerates the taints of a node that is not ready yet, so it comes first, unless something keeps it out: a
        gate, affinity, a spread, a port of another DaemonSet, a claim, a quota, or a pod of higher priority.
        """
        priorities = [priority for pod, _ in self.pods if (priority := _priority(pod)) is not None]
        if len(priorities) < len(self.pods):
            return (False,) * len(daemons)
        highest = max(priorities, default=0)
        ports = Counter(port.port for pod in daemons for port in pod.host_ports)
        return tuple(
            not (
                pod.scheduling_gates
                or not knows_scheduler(pod)
                or pod.required_affinity
                or pod.required_anti_affinity
                or any(c.is_hard for c in pod.spread)
                or any(ports[port.port] > 1 for port in pod.host_ports)
                or any(volume.claim for volume in pod.volumes)
                or pod.namespace in self.quota_namespaces
                or (priority := _priority(pod)) is None
                or priority < highest
            )
            for pod in daemons
        )


def _priority(pod: Pod) -> int | None:
    """Return the priority; None if a class sets it that is not known."""
    return None if pod.priority is None and pod.priority_class else pod.priority or 0


def potential_of(
    pools: Sequence[NodePool], live: Inventory, asked: Asked, overlays: Sequence[NodeOverlay] = ()
) -> Potential:
    """Return everything that the pools could add to the live objects for these pods."""
    if not pools:
        return Potential()
    real = live.nodes
    demand = _demand(asked, real)
    zones = tuple(dict.fromkeys(zone for node in real if (zone := zone_of(node.labels))))
    daemons = tuple(daemon_pods(asked.daemons, live))
    known = tuple(zip(daemons, asked.certain(daemons), strict=True))
    made = made_by(tuple(pools), demand, zones, known, asked.device_resources, tuple(overlays))
    every, groups = made.offers, made.groups
    nodes: list[Node] = []
    by_name: dict[str, NodeOffer] = {}
    first: list[int] = []
    alike: dict[str, Sequence[NodeOffer]] = {}
    chosen = [offer for group in groups for offer in group.largest]
    kinds = (group.offers for group in groups for _ in group.largest)
    for offer, count, like in zip(chosen, _counts(asked, chosen, demand), kinds, strict=True):
        first.append(len(nodes))
        stem = offer.template.stem
        for number in range(1, min(count, MOST_KINDS + 1 - len(nodes)) + 1):  # one too many shows that it is not all
            node = offer.template.named(f"{stem}-{number}", offer.room)
            nodes.append(node)
            by_name[node.name] = offer
            alike[node.name] = like
    return Potential(
        tuple(pools),
        tuple(every if len(every) <= MOST_KINDS else _worth_planning(groups, asked)),
        tuple(nodes[:MOST_KINDS]),
        by_name,
        tuple(at for at in first if at < MOST_KINDS),
        alike,
        {pool.name: limits_left(pool, real) for pool in pools},
        complete=made.complete and len(nodes) <= MOST_KINDS,
        idle=made.idle,
    )


def _demand(asked: Asked, nodes: Sequence[Node]) -> LabelDemand:
    """Return the labels that pods, volumes and classes ask for; a topology key asks for the values of today's nodes."""
    terms = [term for volume in asked.volumes for term in volume.node_terms or ()]
    topologies = [(r.key, r.values) for term in terms for r in term.expressions if r.operator == "In"]
    for volume in asked.volumes:
        topologies += [(key, tuple(volume.labels[key].split("__"))) for key in _PLACES if key in volume.labels]
    for storage_class in asked.storage_classes:
        topologies += [pair for term in storage_class.allowed_topologies for pair in term.items()]
    keys = {key for pod, _ in asked.pods for key in topology_keys(pod)} - {HOSTNAME, ZONE, *PLACE_LIKE}
    today = {key: dict[str, None]() for key in sorted(keys)}
    for node in nodes if keys else ():
        for key in keys & node.labels.keys():
            today[key][node.labels[key]] = None
    topologies += [(key, tuple(values)[:MOST_VALUES]) for key, values in today.items()]
    label_demand = demand_of((pod for pod, _ in asked.pods), topologies)
    if asked.device_resources.isdisjoint(label_demand.devices):
        return label_demand
    return replace(
        label_demand, devices=tuple(name for name in label_demand.devices if name not in asked.device_resources)
    )


# --- DaemonSets -----------------------------------------------------------------------------------------------------


def daemon_pods(known: Mapping[tuple[str, str], Pod], live: Inventory) -> Iterator[Pod]:
    """Yield a pod of every DaemonSet: of the ``known`` ones, and of those inferred from running pods."""
    yield from map(with_daemon_tolerations, known.values())
    yield from _running_daemons(live, known.keys())


def _running_daemons(live: Inventory, known: Collection[tuple[str, str]]) -> Iterator[Pod]:
    """Yield DaemonSet pods inferred from running pods, if every node that they seem to target has one.

    Otherwise their node affinity is unknown: the controller replaces it when it pins a pod to its node.
    """
    daemons: dict[tuple[str, str], tuple[Pod, set[str]]] = {}
    for bound in live.pods:
        owner = bound.owner
        if owner is not None and owner.kind == "DaemonSet" and (bound.namespace, owner.name) not in known:
            daemons.setdefault((bound.namespace, owner.name), (bound.pod, set()))[1].add(bound.node)
    if not daemons:
        return
    index = NodeIndex(live.nodes)
    for pod, nodes in daemons.values():
        anywhere = replace(made_anew(pod), required_node_terms=None, node_name="")
        if not targets(anywhere, index)[0] & ~index.named(nodes):
            yield anywhere


# --- how many nodes of each kind --------------------------------------------------------------------------------------


def _worth_planning(groups: Sequence[OfferGroup], asked: Asked) -> Iterator[NodeOffer]:
    """Yield, from too many offers, the largest of each group that some pod can use, and as many others as allowed.

    Whether a pod finds room depends only on the largest; which machine a plan names depends on the others as well.
    """
    index = NodeIndex([group.offers[0].template.node(1, None) for group in groups], asked.device_resources)
    wanted = EMPTY
    for pod, _ in asked.pods:
        wanted |= static_feasible(pod, index)
    used = [groups[position] for position in positions(wanted)]
    step = -(-sum(len(group.offers) for group in used) // MOST_KINDS)
    for group in used:
        yield from group.largest
        largest = set(group.largest)
        yield from (offer for offer in group.offers[::step] if offer not in largest)


def _counts(asked: Asked, offers: Sequence[NodeOffer], demand: LabelDemand) -> Iterator[int]:
    """Return enough nodes of each kind that every workload could have all its pods there, each on nodes of its own.

    Of kinds that pods cannot distinguish, whatever their pools, one node is enough of those that another exceeds.
    """
    kept = {offer for group in offer_groups(offers, demand) for offer in group.largest}
    largest = of(position for position, offer in enumerate(offers) if offer in kept)
    index = NodeIndex([offer.node(1) for offer in offers], asked.device_resources)
    kinds: dict[object, list[tuple[Pod, int, NodeSet]]] = {}
    for pod, most in asked.pods:
        nodes = static_feasible(pod, index) & largest
        kind = nodes, most, _stays_alone(pod), tuple(pod.requests.items())
        kinds.setdefault(kind, []).append((pod, most, nodes))
    counts = [0] * len(offers)
    for equal in kinds.values():
        pod, most, nodes = equal[0]
        for position in positions(nodes):
            counts[position] += len(equal) * -(-most // _each(pod, offers[position], most))
    # One more: so the loss of one of them proves nothing, and an unusable kind still shows what excludes the pod.
    return (count + 1 for count in counts)


def _stays_alone(pod: Pod) -> bool:
    """Return whether more than resources decides which pods share a node with it."""
    by_others = pod.host_ports or pod.resource_claims or pod.required_anti_affinity
    return bool(by_others) or any(c.is_hard for c in pod.spread)


def _each(pod: Pod, offer: NodeOffer, most: int) -> int:
    """Return how many pods certainly share a node by their resources; 1 if other pods matter."""
    if _stays_alone(pod):
        return 1
    room = offer.room
    if room is None:
        return max(1, most)
    amounts = [("pods", 1), *((name, amount) for name, amount in pod.requests.items() if amount > 0)]
    return max(1, min(room.get(name, 0) // amount for name, amount in amounts))
