"""The nodes of a cluster, indexed once: each query about labels and taints is a few set operations."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, reduce
from itertools import compress, repeat
from math import inf
from operator import and_, attrgetter, is_, or_
from weakref import WeakKeyDictionary

from kubesched_lint.engine.base.identity import ByIdentity, Itself
from kubesched_lint.engine.base.limits import LONGEST_VALUE
from kubesched_lint.engine.base.text import distinct_names
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, lowest, of, only, positions
from kubesched_lint.engine.cluster.selecting.labelled import LabelIndex
from kubesched_lint.engine.model.labels import Labels
from kubesched_lint.engine.model.nodes.node import Node, Taint
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, PodAffinityTerm, Toleration

AMPLE = 1 << 60
"""More of a resource than any pods request: where something else limits it, or nothing does."""
_NAME, _TAINTS, _CORDONED, _ALLOCATABLE = map(attrgetter, ("name", "taints", "unschedulable", "allocatable"))


def is_ample(amount: float) -> bool:
    """Return whether an amount, of which pods may have taken some, limits nothing."""
    return amount > AMPLE >> 1


class NodeIndex(LabelIndex):
    """Immutable. A node is identified by its position in ``nodes``; results are NodeSets over these positions."""

    def __init__(self, nodes: Sequence[Node], device_resources: Collection[str] = ()) -> None:
        """``device_resources``: what a DeviceClass serves where no device plugin offers it; there it limits nothing.

        Mirrors shouldDelegateResourceToDRA of ``pkg/scheduler/framework/plugins/noderesources/fit.go`` (v1.36).
        """
        self.nodes: tuple[Node, ...] = tuple(nodes)
        super().__init__(len(self.nodes))
        self.device_resources = device_resources
        self.names: tuple[str, ...] = tuple(map(_NAME, self.nodes))
        self.positions: Mapping[str, int] = dict(zip(self.names, range(len(self.names)), strict=True))
        self.unknown_resources: NodeSet = of(
            compress(range(len(self.nodes)), map(is_, map(_ALLOCATABLE, self.nodes), repeat(None)))
        )
        """Nodes of a sketch without resources: rules about resources skip them."""
        self._single: dict[str, bool] = {}
        self._terms: dict[NodeSelectorTerm, NodeSet] = {}
        self._chosen: ByIdentity[Sequence[NodeSelectorTerm], NodeSet] = ByIdentity()
        """The terms of a pod or volume → the nodes that match any of them."""
        self._stated: dict[str, list[float]] = {}
        self._allocatable: dict[str, list[float]] = {}
        self._ranked: dict[str, list[int]] = {}
        self._by_devices: dict[str, NodeSet] = {}
        self._short: dict[tuple[str, int], NodeSet] = {}
        self._images: dict[str, tuple[int, NodeSet]] = {}
        self.changed: dict[tuple[Itself[NodeIndex], Hashable], NodeIndex] = {}
        """What timelines keep: (nodes, a change of them) → the nodes after it."""
        self.hard_keyed: dict[Itself[tuple[object, ...]], NodeSet] = {}
        """What ``engine.scheduler.topology`` keeps: the constraints of a pod → the nodes with the keys of all hard
        ones."""
        self._read_taints()

    def _read_taints(self) -> None:
        """Set what depends on taints and cordons."""
        alike: ByIdentity[tuple[Taint, ...], list[int]] = ByIdentity()  # nodes of a sketch's entry share their taints
        at = range(len(self.nodes))
        for i in compress(at, map(_TAINTS, self.nodes)):
            alike.setdefault(self.nodes[i].taints, []).append(i)
        self.taint_sets: Sequence[tuple[tuple[Taint, ...], NodeSet]] = [
            (shared_taints, of(some)) for shared_taints, some in alike.items()
        ]
        """The taints of nodes, with the nodes that share them; other nodes may have the same taints once more."""
        self.cordoned: NodeSet = of(compress(at, map(_CORDONED, self.nodes)))
        taints: dict[Taint, NodeSet] = {}
        for shared_taints, nodes_with in self.taint_sets:
            for taint in shared_taints:
                taints[taint] = taints.get(taint, EMPTY) | nodes_with
        self.taints: Mapping[Taint, NodeSet] = taints
        """Each distinct taint → the nodes that have it."""
        self.taint_keys = frozenset(taint.key for taint in taints)
        self.disliked = [taint for taint in taints if taint.effect == "PreferNoSchedule"]
        """The taints that only lower the score of a node."""
        self._taints_of: dict[str, dict[str | None, list[Taint]]] = {}
        self._tainted: dict[frozenset[str], tuple[NodeSet, Mapping[Taint, NodeSet]]] = {}
        self.repelled: dict[tuple[tuple[Toleration, ...], frozenset[str]], NodeSet] = {}
        """What ``engine.scheduler.tolerance`` keeps: tolerations and effects → the nodes that repel such pods."""
        self.repelling: WeakKeyDictionary[Pod, NodeSet] = WeakKeyDictionary()
        """The same: a pod → the nodes that repel it."""

    def with_taints(self, nodes: Mapping[int, Node]) -> NodeIndex:
        """Return the index after some nodes changed, by position, in nothing but taints and cordons."""
        index = copy(self)  # shares all answers about names, labels and amounts
        after = list(self.nodes)
        for position, node in nodes.items():
            after[position] = node
        index.nodes = tuple(after)
        index._read_taints()
        return index

    def __len__(self) -> int:
        return len(self.nodes)

    def position(self, name: str) -> int:
        """Return the position of a name. Raises KeyError if no node has it."""
        return self.positions[name]

    @cached_property
    def short_names(self) -> Mapping[str, str]:
        """Name of a node → what distinguishes it from the others, for people."""
        return distinct_names(self.names, LONGEST_VALUE)

    def names_of(self, nodes: NodeSet) -> list[str]:
        return [self.names[i] for i in positions(nodes)]

    def nodes_of(self, nodes: NodeSet) -> Iterator[Node]:
        return (self.nodes[i] for i in positions(nodes))

    def named(self, names: Iterable[str]) -> NodeSet:
        """Return the nodes with these names; unknown names are skipped."""
        return of(self.positions[name] for name in names if name in self.positions)

    # --- taints -----------------------------------------------------------------------------------------------------

    def taints_of(self, key: str, value: str | None = None) -> Sequence[Taint]:
        """Return the distinct taints with a key, and with a value if one is given."""
        if not self._taints_of:
            for taint in self.taints:
                values = self._taints_of.setdefault(taint.key, {})
                values.setdefault(None, []).append(taint)
                values.setdefault(taint.value, []).append(taint)
        return self._taints_of.get(key, {}).get(value, ())

    def taints_on(self, nodes: NodeSet) -> Iterable[tuple[tuple[Taint, ...], int]]:
        """Return the taints of some nodes with how many of the nodes share them, in the order of the nodes."""
        if nodes.bit_count() < len(self.taint_sets):
            own = (self.nodes[position].taints for position in positions(nodes))
            return [(taints, 1) for taints in own if taints]
        some = [(there, taints) for taints, with_them in self.taint_sets if (there := with_them & nodes)]
        some.sort(key=lambda pair: lowest(pair[0]))
        return [(taints, there.bit_count()) for there, taints in some]

    def tainted(self, effects: frozenset[str]) -> tuple[NodeSet, Mapping[Taint, NodeSet]]:
        """Return the nodes with exactly one taint of these effects, and the taints of the nodes with several."""
        tainted = self._tainted.get(effects)
        if tainted is None:
            taints = {taint: nodes for taint, nodes in self.taints.items() if taint.effect in effects}
            some = several = EMPTY
            for nodes in taints.values():
                some, several = some | nodes, several | some & nodes
            beside = {taint: crowded for taint, nodes in taints.items() if (crowded := nodes & several)}
            tainted = self._tainted[effects] = (some & ~several, beside)
        return tainted

    # --- resources --------------------------------------------------------------------------------------------------

    @cached_property
    def offered(self) -> frozenset[str]:
        """The names of all resources of which some node offers an amount."""
        return frozenset(name for node in self.nodes for name, amount in (node.allocatable or {}).items() if amount)

    def stated(self, resource: str) -> list[float]:
        """Return the amount per position: 0 without the resource, infinite if the node's resources are unknown.

        All finite values are integers. Callers must not change the list.
        """
        amounts = self._stated.get(resource)
        if amounts is None:
            amounts = self._stated[resource] = self._unstated.copy()
            for position, amount in self._amounts.get(resource, ()):
                amounts[position] = amount
        return amounts

    @cached_property
    def _unstated(self) -> list[float]:
        return [inf if node.allocatable is None else 0 for node in self.nodes]

    @cached_property
    def _amounts(self) -> Mapping[str, Sequence[tuple[int, float]]]:
        amounts: dict[str, list[tuple[int, float]]] = {}
        for position, node in enumerate(self.nodes):
            for resource, amount in (node.allocatable or {}).items():
                amounts.setdefault(resource, []).append((position, amount))
        return amounts

    def largest(self, resource: str, among: NodeSet) -> int:
        """Return the first of some nodes with the most of a resource; they must not be empty."""
        amounts = self.allocatable(resource)
        ranked = self._ranked.get(resource)
        if ranked is None:
            ranked = self._ranked[resource] = sorted(range(len(amounts)), key=amounts.__getitem__, reverse=True)
        return next(i for i in ranked if among >> i & 1)

    def allocatable(self, resource: str) -> list[float]:
        """Return ``stated``, but ample on nodes whose devices serve the resource: the allocator limits it there."""
        if resource not in self.device_resources:
            return self.stated(resource)
        amounts = self._allocatable.get(resource)
        if amounts is None:
            amounts = self._allocatable[resource] = [amount or AMPLE for amount in self.stated(resource)]
        return amounts

    def by_devices(self, resource: str) -> NodeSet:
        """Return the nodes where only devices can serve a resource: they state none of it."""
        if resource not in self.device_resources:
            return EMPTY
        served = self._by_devices.get(resource)
        if served is None:
            amounts = enumerate(self.stated(resource))
            served = self._by_devices[resource] = of(i for i, amount in amounts if not amount)
        return served

    def short_of(self, resource: str, want: int) -> NodeSet:
        """Return the nodes whose allocatable is less than ``want``: no eviction helps there."""
        short_nodes = self._short.get((resource, want))
        if short_nodes is None:
            short_nodes = self._short[resource, want] = of(
                [i for i, amount in enumerate(self.allocatable(resource)) if amount < want]
            )
        return short_nodes

    # --- labels -----------------------------------------------------------------------------------------------------

    @cached_property
    def labels(self) -> Sequence[Labels]:
        return [node.labels for node in self.nodes]

    def domains_with(self, key: str, nodes: NodeSet) -> Mapping[str, NodeSet]:
        """Return the domains of ``key`` that have at least one of ``nodes``, each whole."""
        if self.one_node_each(key):
            return {self.nodes[i].labels[key]: only(i) for i in positions(nodes & self.with_key(key))}
        return {name: domain for name, domain in self.domains(key).items() if domain & nodes}

    @cached_property
    def _by_images(self) -> Sequence[tuple[Mapping[str, int], Sequence[int]]]:
        """The images of nodes, with the nodes that share them."""
        nodes_of_images: ByIdentity[Mapping[str, int], list[int]] = ByIdentity()
        for i, node in enumerate(self.nodes):
            if node.images:
                nodes_of_images.setdefault(node.images, []).append(i)
        return [*nodes_of_images.items()]

    def image(self, name: str) -> tuple[int, NodeSet]:
        """Return an image's size in bytes on the first node that has it (0 if none), and the nodes that have it."""
        size_and_holders = self._images.get(name)
        if size_and_holders is None:
            holders = sorted(i for images, at in self._by_images if name in images for i in at)
            size_and_holders = self._images[name] = (self.nodes[holders[0]].images[name] if holders else 0, of(holders))
        return size_and_holders

    def domain_of(self, key: str, position: int) -> NodeSet:
        """Return all nodes in the same domain of ``key`` as this node; empty if it lacks the key."""
        value = self.nodes[position].labels.get(key)
        return EMPTY if value is None else self.domains(key)[value]

    def one_node_each(self, key: str) -> bool:
        """Return whether every domain of ``key`` is a single node, as for kubernetes.io/hostname."""
        is_single = self._single.get(key)
        if is_single is None:
            there = self.with_key(key).bit_count()
            is_single = self._single[key] = len(set(self.values(key))) - (there < len(self.nodes)) == there
        return is_single

    def domains_of(self, key: str, nodes: NodeSet) -> int:
        """Return the number of domains of ``key`` that contain at least one of ``nodes``."""
        if self.one_node_each(key):
            return (nodes & self.with_key(key)).bit_count()
        return sum(bool(domain & nodes) for domain in self.domains(key).values())

    def near(self, terms: Iterable[PodAffinityTerm], nodes: NodeSet) -> NodeSet:
        """Return all nodes that share the domain of each term's key with one of ``nodes``."""
        return reduce(and_, (self.spanned(term.topology_key, nodes) for term in terms), self.all)

    def spanned(self, key: str, nodes: NodeSet) -> NodeSet:
        """Return all nodes whose domain of ``key`` contains at least one of ``nodes``."""
        if self.one_node_each(key):
            return nodes & self.with_key(key)
        spanned = EMPTY
        for domain in self.domains(key).values():
            if domain & nodes:
                spanned |= domain
        return spanned

    # --- selectors --------------------------------------------------------------------------------------------------

    def matching_term(self, term: NodeSelectorTerm) -> NodeSet:
        """Return the nodes of one NodeSelectorTerm; an empty term and an invalid one match none.

        Mirrors ``component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go`` (v1.36), nodeSelectorTerm.match.
        """
        matching = self._terms.get(term)
        if matching is None:
            matching = self._terms[term] = self._matching_term(term)
        return matching

    def _matching_term(self, term: NodeSelectorTerm) -> NodeSet:
        if not (term.expressions or term.fields):
            return EMPTY
        matching = self.all
        for requirement in term.expressions:
            matching &= self.where(requirement)
        for field in term.fields:
            if field.key != "metadata.name" or len(field.values) != 1:
                return EMPTY
            named = self.named(field.values)
            match field.operator:
                case "In":
                    matching &= named
                case "NotIn":
                    matching &= ~named
                case _:
                    return EMPTY
        return matching

    def matching(self, node_selector: Labels, terms: Sequence[NodeSelectorTerm] | None) -> NodeSet:
        """Return the nodes that satisfy a pod's nodeSelector and required node affinity (``terms`` None: no affinity).

        Terms are ORed; an empty sequence of terms matches no node.
        """
        matching = self.with_labels(node_selector)
        if terms is None:
            return matching
        chosen = self._chosen.get(terms)
        if chosen is None:
            chosen = self._chosen[terms] = reduce(or_, map(self.matching_term, terms), EMPTY)
        return matching & chosen
