"""The scheduler's filters once more, node by node and pod by pod, for the exhaustive reference.

Imports nothing of the product but its records. Each function cites the plugin under
``pkg/scheduler/framework/plugins`` (v1.36) that it follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import permutations

from msgspec import Struct, field

from kubesched_lint.engine.model.node import Node, Taint
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, PodAffinityTerm, SpreadConstraint, Toleration
from tests.worlds import hints
from tests.worlds.admission import NotCoveredError
from tests.worlds.inventory import RESOURCE, Held, Inventory, Want
from tests.worlds.schedulers import DEFAULT_PROFILE, Profile
from tests.worlds.storage import Disks, Storage

FITS, FULL, NEVER = "", "Unschedulable", "UnschedulableAndUnresolvable"
FAILS = "Error"
"""It ends the attempt on all nodes."""
MOST_ORDERS = 24
ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
Placed = tuple[int, int]
"""(number of a kind of pod, position of its node)."""


class Kind(Struct, frozen=True, eq=False):
    """Pods that nothing tells apart."""

    number: int
    pod: Pod
    workload: int
    """Its place in the set; -1: nobody's."""
    revision: int = 0
    slot: int | str = ""
    """The ordinal in a StatefulSet, the node of a DaemonSet's pod, the number of a pod with volumes of its own."""
    claims: tuple[tuple[str, str], ...] = ()
    terminating: bool = False
    profile: Profile = DEFAULT_PROFILE
    wants: tuple[Want, ...] = ()
    held: Held = ()
    """What it got when it was bound; pods that hold different devices are of different kinds."""

    @property
    def priority(self) -> int:
        return self.pod.priority or 0


class Filters(Struct, dict=True):
    nodes: Sequence[Node]
    namespaces: dict[str, dict[str, str]]
    storage: Storage
    devices: Inventory
    kinds: list[Kind] = field(default_factory=list)
    has_budgets: bool = False

    def __post_init__(self) -> None:
        self._static = cache(self._static_code)
        self._selected = cache(self._term_selects)
        self._counted = cache(self._constraint_counts)
        self._included = cache(self._is_included)

    def codes(self, number: int, placed: Sequence[Placed], disks: Disks) -> list[str]:
        """For each node whether a pod of this kind fits beside those that are placed, or why not."""
        kind = self.kinds[number]
        if self.storage.refuses(kind.claims, disks):
            return [NEVER] * len(self.nodes)
        around = _Around(self, kind, placed)
        found = [self._code(around, position, disks) for position in range(len(self.nodes))]
        return [NEVER] * len(found) if FAILS in found else found

    def _code(self, around: _Around, position: int, disks: Disks) -> str:
        return next((code for _, code in self._checks(around, position, disks) if code), FITS)

    def _checks(self, around: _Around, position: int, disks: Disks) -> Iterator[tuple[str, str]]:
        """What each plugin says, in their order; upstream asks none after the first that turns the pod away."""
        kind, node = around.kind, self.nodes[position]
        here = [self.kinds[k].pod for k, p in around.placed if p == position]
        yield hints.NODE, self._static(kind.number, position)
        yield hints.PORTS, _ports(kind.pod, here)
        yield hints.RESOURCES, _resources(kind, node, here)
        yield hints.EXCLUSIVE, self._exclusive(around)
        yield hints.STORAGE, self.storage.code(kind.claims, node, disks)
        for name, check in ((hints.SPREAD, self._spread), (hints.AFFINITY, self._affinity)):
            if name not in kind.profile.disabled:
                yield name, NEVER if name in kind.profile.failing else check(around, position)
        asked = self._asked(kind, position, around.holders)
        if self.devices.fails(*asked):
            yield hints.DEVICES, FAILS
        yield hints.DEVICES, FITS if self.devices.allocated(*asked) is not None else NEVER

    def given(self, kind: Kind, position: int, holders: Sequence[Placed]) -> Held | None:
        """The devices that a pod would get on a node, as upstream beside those of victims too."""
        return self.devices.allocated(*self._asked(kind, position, holders))

    def _asked(self, kind: Kind, position: int, holders: Sequence[Placed]) -> tuple[list[Want], str, list[Held]]:
        """What a pod wants of the devices of a node, and what others hold."""
        node = self.nodes[position]
        wants = [want for want in kind.wants if want.of_node or not (node.allocatable or {}).get(RESOURCE)]
        return wants, node.name, [self.kinds[k].held for k, _ in holders if self.kinds[k].held]

    def rejecting(self, number: int, placed: Sequence[Placed], disks: Disks) -> frozenset[str]:
        """The plugins that turn a pod of this kind away, one for each node; none if an error ends the attempt."""
        kind = self.kinds[number]
        if self.storage.refuses(kind.claims, disks):
            return frozenset([hints.STORAGE])
        around = _Around(self, kind, placed)
        checks = [list(self._checks(around, position, disks)) for position in range(len(self.nodes))]
        if any(next((code for _, code in node if code), "") == FAILS for node in checks):
            return frozenset()
        return frozenset(found for node in checks if (found := next((name for name, code in node if code), "")))

    # --- what only the node decides ---------------------------------------------------------------------------------

    def _static_code(self, number: int, position: int) -> str:
        """NodeUnschedulable, TaintToleration, NodeAffinity; a DaemonSet's pod has one node."""
        kind, node = self.kinds[number], self.nodes[position]
        if isinstance(kind.slot, str) and kind.slot and kind.slot != node.name:
            return NEVER
        cordon = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
        off, added = kind.profile.disabled, kind.profile.added
        tolerated = any(tolerates(t, cordon) for t in kind.pod.tolerations)
        if node.unschedulable and not tolerated and "NodeUnschedulable" not in off:
            return NEVER
        if untolerated(kind.pod, node) and "TaintToleration" not in off:
            return NEVER
        if added is not None and not any(fits_term(term, node) for term in added):
            return NEVER
        return FITS if fits_node_affinity(kind.pod, node) else NEVER

    # --- VolumeRestrictions -----------------------------------------------------------------------------------------

    def _exclusive(self, around: _Around) -> str:
        """A ReadWriteOncePod claim that any placed pod uses."""
        for claim in around.kind.claims:
            if self.storage.is_exclusive(claim) and any(claim in self.kinds[k].claims for k, _ in around.placed):
                return FULL
        return FITS

    # --- PodTopologySpread ------------------------------------------------------------------------------------------

    def _spread(self, around: _Around, position: int) -> str:
        node = self.nodes[position]
        for number, constraint in around.constraints:
            if constraint.topology_key not in node.labels:
                return NEVER
            counts = around.domains[number]
            least = min(counts.values(), default=0)
            if len(counts) < (constraint.min_domains or 1):
                least = 0
            itself = constraint.selector is not None and constraint.selector.matches(around.kind.pod.labels)
            if counts.get(node.labels[constraint.topology_key], 0) + itself - least > constraint.max_skew:
                return FULL
        return FITS

    def _constraint_counts(self, number: int, place: int, other: int) -> bool:
        """Whether a pod of another kind counts: not when it terminates, nor by an empty selector."""
        kind, beside = self.kinds[number], self.kinds[other]
        selector = kind.pod.spread[place].selector
        if selector is None or not selector.requirements or beside.terminating:
            return False
        return beside.pod.namespace == kind.pod.namespace and selector.matches(beside.pod.labels)

    def _is_included(self, number: int, place: int, position: int) -> bool:
        pod, node = self.kinds[number].pod, self.nodes[position]
        hard = [c for c in pod.spread if c.when_unsatisfiable == "DoNotSchedule"]
        if any(c.topology_key not in node.labels for c in hard):
            return False
        constraint = pod.spread[place]
        pinned = self.kinds[number].slot
        if constraint.node_affinity_policy in ("", "Honor") and (
            not fits_node_affinity(pod, node) or (isinstance(pinned, str) and pinned not in ("", node.name))
        ):
            return False
        return not (constraint.node_taints_policy == "Honor" and untolerated(pod, node))

    # --- InterPodAffinity -------------------------------------------------------------------------------------------

    def _affinity(self, around: _Around, position: int) -> str:
        labels, terms = self.nodes[position].labels, around.kind.pod.required_affinity
        if terms:
            if any(t.topology_key not in labels for t in terms):
                return NEVER
            if any((t.topology_key, labels[t.topology_key]) not in around.friends for t in terms) and (
                around.friends or not self._matches_all(around.kind.number, around.kind.number)
            ):
                return NEVER
        if any((t.topology_key, labels.get(t.topology_key)) in around.foes[i] for i, t in around.anti):
            return FULL
        return FULL if any(pair in around.repelled for pair in labels.items()) else FITS

    def _matches_all(self, number: int, other: int) -> bool:
        terms = self.kinds[number].pod.required_affinity
        return bool(terms) and all(self._selected(number, "affinity", i, other) for i in range(len(terms)))

    def _term_selects(self, number: int, side: str, place: int, other: int) -> bool:
        """Whether a term of the incoming kind selects pods of another: no labels of namespaces are read (#141526)."""
        kind, beside = self.kinds[number].pod, self.kinds[other].pod
        term = getattr(kind, f"required_{side}")[place]
        chosen = term.namespace_selector
        namespaces = set(term.namespaces)
        if not term.namespaces and chosen is None:
            namespaces = {kind.namespace}
        if chosen is not None and chosen.requirements:
            namespaces |= {n for n, labels in self.namespaces.items() if chosen.matches(labels)}
        if beside.namespace not in namespaces and (chosen is None or not chosen.matches({})):
            return False
        return term.selector is not None and term.selector.matches(beside.labels)

    def repels(self, holder: int, incoming: int) -> Iterator[str]:
        """The topology keys over which pods of ``holder`` keep ``incoming`` away (existingAntiAffinityCounts)."""
        standing, pod = self.kinds[holder].pod, self.kinds[incoming].pod
        for term in standing.required_anti_affinity:
            if _existing_selects(term, standing.namespace, pod, self.namespaces.get(pod.namespace, {})):
                yield term.topology_key

    # --- DefaultPreemption ------------------------------------------------------------------------------------------

    def evictions(
        self, number: int, placed: Sequence[Placed], disks: Disks, codes: Sequence[str]
    ) -> list[tuple[int, tuple[Placed, ...]]]:
        """(node, victims) that the default preemption may choose, whatever the ages of equal pods."""
        kind = self.kinds[number]
        if kind.pod.preemption_policy == "Never" or not kind.profile.preempts:
            return []
        found: list[tuple[int, tuple[Placed, ...]]] = []
        for position, code in enumerate(codes):
            if code == FULL:
                found.extend((position, victims) for victims in self._victims(number, placed, disks, position))
        if found and self.has_budgets:
            raise NotCoveredError("budgets weigh on the choice of victims")
        return list(dict.fromkeys(self._best(found)))

    def _victims(
        self, number: int, placed: Sequence[Placed], disks: Disks, position: int
    ) -> Iterator[tuple[Placed, ...]]:
        priority = self.kinds[number].priority
        lower = [one for one in placed if one[1] == position and self.kinds[one[0]].priority < priority]
        rest = list(placed)
        for one in lower:
            rest.remove(one)
        if not lower or not self._fits(number, rest, disks, position, placed):
            return
        if len(lower) > 4:
            raise NotCoveredError("more than four possible victims")
        for order in dict.fromkeys(permutations(lower)):
            ranks = [self.kinds[k].priority for k, _ in order]
            if ranks != sorted(ranks, reverse=True):
                continue
            kept, victims = list(rest), []
            for one in order:
                if self._fits(number, [*kept, one], disks, position, placed):
                    kept.append(one)
                else:
                    victims.append(one)
            yield tuple(sorted(victims))

    def _fits(
        self, number: int, placed: Sequence[Placed], disks: Disks, position: int, holders: Sequence[Placed]
    ) -> bool:
        return not self._code(_Around(self, self.kinds[number], placed, holders), position, disks)

    def _best(self, found: list[tuple[int, tuple[Placed, ...]]]) -> list[tuple[int, tuple[Placed, ...]]]:
        """pickOneNodeForPreemption but for its last criterion, the age of the victims."""

        def rank(one: tuple[int, tuple[Placed, ...]]) -> tuple[int, int, int]:
            priorities = [self.kinds[k].priority for k, _ in one[1]]
            return max(priorities, default=-(2**31)), sum(p + 2**31 for p in priorities), len(priorities)

        best = min(map(rank, found), default=None)
        return [one for one in found if rank(one) == best]


class _Around:
    """What the PreFilter plugins count once for all nodes."""

    def __init__(
        self, filters: Filters, kind: Kind, placed: Sequence[Placed], holders: Sequence[Placed] | None = None
    ) -> None:
        self.kind, self.placed = kind, placed
        self.holders = placed if holders is None else holders
        nodes, pod, me = filters.nodes, kind.pod, kind.number
        self.constraints = [(i, c) for i, c in enumerate(pod.spread) if c.when_unsatisfiable == "DoNotSchedule"]
        self.domains = {i: self._domains(filters, i, c) for i, c in self.constraints}
        self.anti = list(enumerate(pod.required_anti_affinity))
        self.friends: set[tuple[str, str]] = set()
        self.foes: list[set[tuple[str, str]]] = [set() for _ in self.anti]
        self.repelled: set[tuple[str, str]] = set()
        for other, position in placed:
            labels = nodes[position].labels
            if pod.required_affinity and filters._matches_all(me, other):
                self.friends |= {
                    (t.topology_key, labels[t.topology_key]) for t in pod.required_affinity if t.topology_key in labels
                }
            for i, term in self.anti:
                if term.topology_key in labels and filters._selected(me, "anti_affinity", i, other):
                    self.foes[i].add((term.topology_key, labels[term.topology_key]))
            if filters.kinds[other].pod.required_anti_affinity:
                self.repelled |= {(key, labels[key]) for key in filters.repels(other, me) if key in labels}

    def _domains(self, filters: Filters, place: int, constraint: SpreadConstraint) -> dict[str, int]:
        found: dict[str, int] = {}
        included = [filters._included(self.kind.number, place, p) for p in range(len(filters.nodes))]
        for position, node in enumerate(filters.nodes):
            if included[position]:
                found.setdefault(node.labels[constraint.topology_key], 0)
        for other, position in self.placed:
            if included[position] and filters._counted(self.kind.number, place, other):
                found[filters.nodes[position].labels[constraint.topology_key]] += 1
        return found


# --- single plugins -------------------------------------------------------------------------------------------------


def _ports(pod: Pod, here: Iterable[Pod]) -> str:
    """NodePorts."""
    for wanted in pod.host_ports:
        for used in (p for other in here for p in other.host_ports):
            same = (used.protocol, used.port) == (wanted.protocol, wanted.port)
            if same and ("0.0.0.0" in (used.host_ip, wanted.host_ip) or used.host_ip == wanted.host_ip):
                return FULL
    return FITS


def _resources(kind: Kind, node: Node, here: Sequence[Pod]) -> str:
    """NodeResourcesFit; it passes over what devices serve."""
    pod, room = kind.pod, node.allocatable or {}
    by_devices = [RESOURCE] if not all(want.of_node for want in kind.wants) and not room.get(RESOURCE) else []
    code = FULL if len(here) + 1 > room.get("pods", 0) else FITS
    for name, amount in pod.requests.items():
        if (
            name not in by_devices
            and amount > 0
            and amount > room.get(name, 0) - sum(p.requests.get(name, 0) for p in here)
        ):
            if amount > room.get(name, 0):
                return NEVER
            code = FULL
    return code


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.operator == "Equal" and toleration.value == taint.value)


def untolerated(pod: Pod, node: Node) -> bool:
    hard = [t for t in node.taints if t.effect in ("NoSchedule", "NoExecute")]
    return any(not any(tolerates(t, taint) for t in pod.tolerations) for taint in hard)


def fits_node_affinity(pod: Pod, node: Node) -> bool:
    if any(node.labels.get(key) != value for key, value in pod.node_selector.items()):
        return False
    return pod.required_node_terms is None or any(fits_term(t, node) for t in pod.required_node_terms)


def fits_term(term: NodeSelectorTerm, node: Node) -> bool:
    if not term.expressions and not term.fields:
        return False
    names = all((node.name in f.values) == (f.operator == "In") for f in term.fields)
    return names and all(e.matches(node.labels) for e in term.expressions)


def _existing_selects(term: PodAffinityTerm, holder: str, pod: Pod, namespace_labels: dict[str, str]) -> bool:
    chosen = term.namespace_selector
    namespaces = set(term.namespaces)
    if not term.namespaces and chosen is None:
        namespaces = {holder}
    if pod.namespace not in namespaces and (chosen is None or not chosen.matches(namespace_labels)):
        return False
    return term.selector is not None and term.selector.matches(pod.labels)
