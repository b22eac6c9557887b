"""What autoscalers add for the set: pods are placed on today's nodes, and the rest on as few new nodes as possible.

One possible outcome, not a proof: an autoscaler's choice also depends on prices and batches. Filters are the
scheduler's own. Karpenter and Autopilot count every zone that their pools serve as a topology domain, so one empty node
of every kind stands in the state while they choose; cluster-autoscaler asks the filters about one new node alone.
Karpenter keeps preferences as long as it can (``preferences``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kubesched_lint import work
from kubesched_lint.admission.schedulers import owner_selector
from kubesched_lint.analysis.plan import GROWN, LIMITED, NEVER, TODAY, Added, Plan, Verdict
from kubesched_lint.analysis.preferences import PodVariant, relaxed
from kubesched_lint.analysis.trial import Queued, queued_pods, scheduled_pod
from kubesched_lint.analysis.wanted import pods_of_the_set
from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.nodepools.templates import fits_limits, take
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, first, of, only, positions
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.controllers.daemonset import pinned
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.node import HOSTNAME, KARPENTER, Node
from kubesched_lint.model.pod import Pod
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import replace
from kubesched_lint.scheduler.binding import bind, placed
from kubesched_lint.scheduler.capacity import copies
from kubesched_lint.scheduler.framework import diagnose, message
from kubesched_lint.scheduler.placement import Placer
from kubesched_lint.world.devices import lacks_devices
from kubesched_lint.world.potential import Offer
from kubesched_lint.world.running import lasting_state
from kubesched_lint.world.world import World, once_per_world

MOST_PODS = 2_000
_FIRST_STOCK = 2
"""Initial number of spare nodes per offer; with only one, every added node would force a rebuild of the state."""
_STEPS = 10
"""Work units (see ``work``) per node when a state is built."""
_MOST_NODES = 500


@once_per_world
def growth_plan(world: World) -> Plan:
    """The nodes that the pools add for the set, and the verdict on each workload. Empty without pools."""
    return planned_growth(world, 1)


def planned_growth(world: World, seed: int) -> Plan:
    """``growth_plan`` with the scheduler's random choices taken from ``seed``."""
    if not world.pools or world.cluster is None:
        return Plan()
    wanted = pods_of_the_set(world.without_pools)
    if wanted > MOST_PODS:
        return Plan(skipped=f"growth is planned for at most {MOST_PODS:,} pods; these manifests make {wanted:,}")
    return _Growth(world, seed).plan()


@dataclass(slots=True)
class _Queue:
    """Waiting pods of one workload, with one entry for identical pods."""

    workload: Workload
    waiting: list[Queued]
    like: Pod
    """Any of its pods."""
    owner: Selector | None
    today: int = 0
    at: list[str] = field(default_factory=list)
    """Names of the new nodes that hold its pods."""
    limited: tuple[str, ...] = ()
    message: str = ""

    @property
    def left(self) -> int:
        return sum(entry.left for entry in self.waiting)

    @property
    def pod(self) -> Pod:
        """The pod whose turn it is."""
        return next((entry.pod for entry in self.waiting if entry.left), self.like)

    def take(self) -> None:
        """Remove one waiting pod, which has found a place."""
        next(entry for entry in self.waiting if entry.left).left -= 1


class _Growth:
    """The search: a state of nodes that exist, nodes added so far, and spares that could be added next."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.seed = seed
        now = world.without_pools
        self.objects: Inventory = lasting_state(now).objects
        self.real: tuple[Node, ...] = now.index.nodes
        self.placed: list[tuple[Pod, str]] = []
        self.new: dict[str, Offer] = {}
        self.nodes: dict[str, Node] = {}
        self.limits = {name: dict(left) for name, left in world.potential.limits.items()}
        self.blind = [o for o in world.potential.offers if not o.template.pool.sees_empty_zones]
        """Offers of autoscalers that do not count empty zones as domains."""
        self.stock: dict[int, int] = {}
        """Number of spare nodes to hold, by ``id(offer)``."""
        self.made: dict[tuple[int, int], Node] = {}
        """Nodes made so far, by ``id(offer)`` and number."""
        self.counts: dict[int, int] = {}
        """Number of added nodes, by ``id(offer)``."""
        self.spares: dict[int, Offer] = {}
        self.free: dict[int, list[int]] = {}
        self.there: NodeSet = EMPTY
        """The nodes that exist or were added; the others of ``state`` are spares."""
        self.state = lasting_state(now)

    def plan(self) -> Plan:
        queues = self._today()
        waiting = [q for q in queues if q.left]
        if waiting:
            self._grow(waiting)
        return Plan(
            tuple(_added(self.new.values())),
            tuple(self.nodes.values()),
            tuple(self._verdict(q) for q in queues if not (q.left and lacks_devices(q.workload.pod, self.world))),
            self.limits,
            tuple(self.placed),
        )

    def _today(self) -> list[_Queue]:
        """Place pods on the existing nodes as kube-scheduler would. Return the queues with the pods that are left."""
        now = self.world.without_pools
        state = lasting_state(now)
        mark = state.mark()
        queues: dict[int, _Queue] = {}
        try:
            entries = [entry for w in now.as_created for entry in queued_pods(now.member(w))]
            progress = True
            while progress:
                progress = False
                for entry in entries:
                    placer = Placer(entry.pod, state, entry.owner, seed=self.seed)
                    for placement in placer.place_all(entry.left):
                        entry.left -= 1
                        progress = True
                        self.placed.append((entry.pod, state.index.names[placement.position]))
                entries = [e for e in entries if e.left] if progress else entries
            left: dict[int, list[Queued]] = {}
            for entry in entries:
                if entry.left and entry.workload.stays:
                    left.setdefault(id(entry.workload), []).append(entry)
        finally:
            state.undo(mark)
        for workload in now.manifests.workloads:
            pod = scheduled_pod(now.member(workload))
            if workload.stays and pod is not None:
                waiting = left.get(id(workload), [])
                today = now.member(workload).replicas - sum(entry.left for entry in waiting)
                queues[id(workload)] = _Queue(workload, waiting, pod, owner_selector(workload, pod.labels), today)
        return list(queues.values())

    # --- growing ------------------------------------------------------------------------------------------------

    def _grow(self, waiting: Sequence[_Queue]) -> None:
        """Place waiting pods, largest first (as Karpenter sorts them), until none finds a place any more."""
        self._rebuild()
        ordered = sorted(waiting, key=lambda q: _bulk(q.pod), reverse=True)
        progress = True
        while progress and len(self.new) < _MOST_NODES:
            progress = False
            for queue in ordered:
                while queue.left and len(self.new) < _MOST_NODES and self._place_one(queue):
                    progress = True

    def _place_one(self, queue: _Queue) -> bool:
        """Place one pod on an existing or a new node. Return whether it found a place."""
        if any(self._placed_as(variant, queue, only_karpenter=True) for variant in self._variants(queue.pod)):
            return True
        if self._placed_as(PodVariant(queue.pod), queue):
            return True
        # Without any existing node, only the potential nodes show why the pod does not fit.
        state = self._without_spares() if self.there else self.state
        queue.message = message(diagnose(queue.pod, state))
        return False

    def _variants(self, pod: Pod) -> Sequence[PodVariant]:
        """Variants of the pod with preferences as requirements (see ``preferences``); none without a Karpenter pool."""
        has_karpenter = any(pool.maker == KARPENTER for pool in self.world.pools)
        return tuple(relaxed(pod))[:-1] if has_karpenter else ()

    def _placed_as(self, variant: PodVariant, queue: _Queue, *, only_karpenter: bool = False) -> bool:
        """Place one of the queue's pods where ``variant``, a variant of it, fits. Return whether that was possible."""
        pod = variant.pod
        placer = Placer(pod, self.state, queue.owner, seed=self.seed)
        found = placer.diagnosis()
        if variant.term is not None:
            found = replace(found, feasible=found.feasible & self.state.index.matching({}, (variant.term,)))
        here = found.feasible & self.there
        if here:
            position = placer.choose(replace(found, feasible=here))
            assert position is not None
            self._bind(queue, position)
            return True
        offer = self._chosen(pod, queue, found.feasible & ~self.there, only_karpenter)
        if offer is None:
            return False
        self._bind(queue, self._add(offer))
        return True

    def _bind(self, queue: _Queue, position: int) -> None:
        bind(queue.pod, position, self.state)
        name = self.state.index.names[position]
        self.placed.append((queue.pod, name))
        queue.take()
        if name in self.new:
            queue.at.append(name)
        else:
            queue.today += 1

    def _chosen(self, pod: Pod, queue: _Queue, feasible: NodeSet, only_karpenter: bool) -> Offer | None:
        """The offer for a new node: highest pool weight, then most pods, then smallest, then first in the list."""
        options = list({id(o): o for o in map(self.spares.__getitem__, positions(feasible))}.values())
        options = [o for o in options if o.template.pool.sees_empty_zones]
        if only_karpenter:
            options = [o for o in options if o.template.pool.maker == KARPENTER]
        else:
            options += [o for o in self.blind if self._fits_alone(pod, o)]
        rooms = [self._room_for(o) for o in options]
        allowed = [o for o, room in zip(options, rooms, strict=True) if room != 0]
        full = (o for o, room in zip(options, rooms, strict=True) if room == 0)
        queue.limited = tuple(dict.fromkeys(o.template.pool.name for o in full))
        if not allowed:
            return None
        weight = max(o.template.pool.weight for o in allowed)
        allowed = [o for o in allowed if o.template.pool.weight == weight]
        known = [o for o in allowed if o.template.shape.allocatable is not None] or allowed
        takes = self._takes(pod, queue.left, known)
        most = max(takes.values())
        return min((o for o in known if takes[id(o)] == most), key=lambda o: o.size)

    def _room_for(self, offer: Offer) -> int | None:
        return fits_limits(offer.template, self.limits.get(offer.template.pool.name, {}))

    def _takes(self, pod: Pod, left: int, offers: Sequence[Offer]) -> Mapping[int, int]:
        """Return ``id(offer)`` → how many of the ``left`` waiting pods an empty node holds, by every filter.

        Offers that differ only in the machine are one group. A smaller machine never holds more pods, so only the
        largest is tried with all filters; the others are counted.
        """
        pod, fair = self._unbalanced(pod, left)
        found: dict[int, int] = {}
        spares = {id(offer): self._spare_of(offer) for offer in offers}
        rooms = dict(copies(pod, self.state, of(spares.values()), fair))
        alike: dict[tuple[object, ...], list[Offer]] = {}
        for offer in offers:
            template = offer.template
            alike.setdefault((template.pool.name, template.zone, template.taints), []).append(offer)
        for group in alike.values():
            group.sort(key=lambda o: o.size, reverse=True)
            most = fair
            for number, offer in enumerate(group):
                count = max(1, min(rooms[spares[id(offer)]], most))
                if number == 0:
                    count = most = self._held(pod, offer, count)
                found[id(offer)] = count
        return found

    def _unbalanced(self, pod: Pod, left: int) -> tuple[Pod, int]:
        """The pod without hard spread over zones and similar keys, and the number of waiting pods per domain.

        Nodes of several zones are filled in turn, so what skew allows at this moment says little about the end.
        """
        keys = [c.topology_key for c in pod.spread if c.is_hard and c.topology_key != HOSTNAME]
        if not keys:
            return pod, left
        offers = self.world.potential.offers
        domains = max(len({o.template.labels[key] for o in offers if key in o.template.labels}) for key in keys)
        kept = tuple(c for c in pod.spread if c.topology_key not in keys)
        return replace(pod, spread=kept), -(-left // max(1, domains))

    def _held(self, pod: Pod, offer: Offer, most: int) -> int:
        position = self._spare_of(offer)
        mark = self.state.mark()
        count = 0
        try:
            while count < most and diagnose(pod, self.state).feasible >> position & 1:
                bind(pod, position, self.state)
                count += 1
        finally:
            self.state.undo(mark)
        return max(1, count)

    def _spare_of(self, offer: Offer) -> int:
        return self.free[id(offer)][0]

    # --- the state ----------------------------------------------------------------------------------------------

    def _add(self, offer: Offer) -> int:
        """Turn a spare of the offer into a node. Return its position in the state."""
        position = self.free[id(offer)].pop(0)
        node = self.state.index.nodes[position]
        self.new[node.name] = offer
        self.counts[id(offer)] = self.counts.get(id(offer), 0) + 1
        self.nodes[node.name] = node
        self.there |= only(position)
        take(offer.template, self.limits.get(offer.template.pool.name, {}))
        if not self.free[id(offer)]:
            self.stock[id(offer)] *= 2
            self._rebuild()
        return self.state.index.positions[node.name]

    def _rebuild(self) -> None:
        """Build a state of all existing and added nodes, followed by spares of every offer."""
        there = (*self.real, *self.nodes.values())
        self.there = first(len(there))
        spares = [spare for offer in self.world.potential.offers for spare in self._spares(offer)]
        work.spend(_STEPS * (len(there) + len(spares)))
        self.spares = {position: offer for position, (_, offer) in enumerate(spares, len(there))}
        self.free = {}
        for position, offer in self.spares.items():
            self.free.setdefault(id(offer), []).append(position)
        self.state = self._state((*there, *(node for node, _ in spares)), self.spares.values())

    def _spares(self, offer: Offer) -> Iterator[tuple[Node, Offer]]:
        """Spare nodes without pods; their DaemonSet pods are placed later, so that their ports and terms count too."""
        template = offer.template
        taken = self.counts.get(id(offer), 0)
        for number in range(taken + 1, taken + 1 + self.stock.setdefault(id(offer), _FIRST_STOCK)):
            made = self.made.get((id(offer), number))
            if made is None:
                made = self.made[id(offer), number] = template.node(number, template.offered)
            yield made, offer

    def _state(self, nodes: Sequence[Node], spares: Iterable[Offer] = ()) -> ClusterState:
        version, index = self.world.premises.kubernetes_version, NodeIndex(nodes, self.world.device_resources)
        state = ClusterState(index, self.objects, kubernetes_version=version)
        offers = [*self.new.values(), *spares]
        for position, offer in enumerate(offers, len(self.real)):
            for daemon in offer.daemons:
                placed(pinned(daemon, state.index.names[position]), position, state)
        for pod, name in self.placed:
            bind(pod, state.index.positions[name], state)
        return state

    def _without_spares(self) -> ClusterState:
        return self._state((*self.real, *self.nodes.values()))

    def _fits_alone(self, pod: Pod, offer: Offer) -> bool:
        """Whether the pod fits on one new node of the offer when no other spare node exists."""
        spare, _ = next(iter(self._spares(offer)))
        nodes = (*self.real, *self.nodes.values(), spare)
        state = self._state(nodes, [offer])
        return bool(diagnose(pod, state).feasible >> (len(nodes) - 1) & 1)

    # --- the outcome --------------------------------------------------------------------------------------------

    def _verdict(self, queue: _Queue) -> Verdict:
        kind = TODAY if not queue.at else GROWN
        if queue.left:
            kind = LIMITED if queue.limited else NEVER
        return Verdict(
            queue.workload,
            kind,
            queue.today + len(queue.at) + queue.left,
            queue.today,
            len(queue.at),
            queue.left,
            tuple(_added(self.new[name] for name in dict.fromkeys(queue.at))),
            queue.limited if queue.left else (),
            queue.message if queue.left else "",
            bool(queue.left) and self._sizes_decide(queue),
        )

    def _sizes_decide(self, queue: _Queue) -> bool:
        """Whether resources are insufficient only by an estimate of what some machine offers."""
        if "Insufficient" not in queue.message:
            return False
        world = self.world
        names = world.index.names_of(world.member(queue.workload).usable & ~world.today)
        return any(world.potential.by_name[name].template.shape.most is not None for name in names)


def _added(offers: Iterable[Offer]) -> Iterator[Added]:
    counts: dict[tuple[str, str, str], int] = {}
    for offer in offers:
        kind = (offer.template.pool.name, offer.template.zone or "", offer.template.shape.name)
        counts[kind] = counts.get(kind, 0) + 1
    for (pool, zone, shape), count in counts.items():
        yield Added(pool, zone, shape, count)


def _bulk(pod: Pod) -> tuple[int, int]:
    return pod.requests.get("cpu", 0), pod.requests.get("memory", 0)
