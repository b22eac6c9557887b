"""What autoscalers add for the set: pods are placed on today's nodes, and the rest on as few new nodes as possible.

One possible outcome, not a proof: an autoscaler's choice also depends on prices and batches. Filters are the
scheduler's own. Karpenter and Autopilot count every zone that their pools serve as a topology domain, so one empty node
of every kind stands in the state while they choose; cluster-autoscaler asks the filters about one new node alone.
Karpenter keeps preferences as long as it can (``preferences``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodepools.templates import take
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, first, of, only, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.node import HOSTNAME, KARPENTER, Node, NodePool
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workload import Workload
from kubesched_lint.engine.placing.coming import Queued, created_counts, created_pods, scheduled_pod
from kubesched_lint.engine.placing.growth.node_candidates import Group, NodeCandidates, fullest, groups_of, stocks_of
from kubesched_lint.engine.placing.growth.plan import GROWN, LIMITED, NEVER, TODAY, Added, Plan, Verdict
from kubesched_lint.engine.placing.growth.preferences import PodVariant, relaxed
from kubesched_lint.engine.placing.limits import MOST_NODES_GROWN, MOST_PODS_TRIED
from kubesched_lint.engine.placing.placing import Placing, until_idle
from kubesched_lint.engine.placing.wanted import pods_of_the_set
from kubesched_lint.engine.scenario.devices.devices import lacks_devices
from kubesched_lint.engine.scenario.others.running import lasting_state
from kubesched_lint.engine.scenario.pools.offers import NodeOffer
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.binding import bind, placed
from kubesched_lint.engine.scheduler.framework import diagnose, message, static_feasible
from kubesched_lint.engine.scheduler.placement import Placer


@once_per_scenario
def growth_plan(scenario: Scenario) -> Plan:
    """The nodes that the pools add for the set, and the verdict on each workload. Empty without pools."""
    return planned_growth(scenario, 1)


def planned_growth(scenario: Scenario, seed: int) -> Plan:
    """``growth_plan`` with the scheduler's random choices taken from ``seed``."""
    if not scenario.pools or scenario.cluster is None:
        return Plan()
    wanted = pods_of_the_set(scenario.without_pools)
    if wanted > MOST_PODS_TRIED:
        return Plan(skipped=f"growth is planned for at most {MOST_PODS_TRIED:,} pods; these manifests make {wanted:,}")
    return _Growth(scenario, seed).plan()


class _Share(Struct):
    """What becomes of the pods of one workload."""

    workload: Workload
    today: int
    waiting: list[Queued]
    at: list[str] = field(default_factory=list)
    """Names of the new nodes that hold its pods."""
    limited: tuple[str, ...] = ()
    message: str = ""

    @property
    def left(self) -> int:
        return sum(entry.left for entry in self.waiting)


class _Growth:
    """The search: a state of nodes that exist, nodes added so far, and spares that could be added next."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        now = scenario.without_pools
        self.objects: Inventory = lasting_state(now).objects
        self.real: tuple[Node, ...] = now.index.nodes
        self.placed: list[tuple[Pod, str]] = []
        self.shares: dict[Workload, _Share] = {}
        self.new: dict[str, NodeOffer] = {}
        self.nodes: dict[str, Node] = {}
        self.limits = {name: dict(left) for name, left in scenario.potential.limits.items()}
        self.stocks = stocks_of(scenario.potential.offers)
        self.machines: Sequence[NodeCandidates] = [*{stock.machine: stock for stock in self.stocks}.values()]
        """One stock of each machine."""
        self.groups = groups_of(self.stocks)
        self.number = {stock: number for number, group in enumerate(self.groups) for stock in group.stocks}
        """The place of each stock's group in ``groups``."""
        self.of_pool: dict[str, list[Group]] = {}
        for group in self.groups:
            group.note_full(self._left(group.pool))
            self.of_pool.setdefault(group.pool.name, []).append(group)
        self.blind = [group for group in self.groups if group.is_blind]
        self.spares: Mapping[int, NodeCandidates] = {}
        """The stock of each spare node, by position."""
        self.domains: dict[str, int] = {}
        """Label key → number of its values among the nodes that may be added."""
        self.there: NodeSet = EMPTY
        """The nodes that exist or were added; the others of ``state`` are spares."""
        self.state = lasting_state(now)
        self.rebuilt = 0
        """How often spares ran out."""

    def plan(self) -> Plan:
        self._today()
        if any(share.left for share in self.shares.values()):
            self._grow()
        return Plan(
            tuple(_added(self.new.values())),
            tuple(self.nodes.values()),
            tuple(
                self._verdict(share)
                for share in self.shares.values()
                if not (share.left and lacks_devices(share.workload.pod, self.scenario))
            ),
            self.limits,
            tuple(self.placed),
        )

    def _today(self) -> None:
        """Place pods on the existing nodes as kube-scheduler would, and share out those that are left."""
        now = self.scenario.without_pools
        state = lasting_state(now)
        with state.undone():
            queue = [*created_pods(now)]
            placing = Placing(queue, state, seed=self.seed).run()
        names = now.index.names
        self.placed += [(one.pod, names[placement.position]) for placement, one in placing.placed.items()]
        waiting: dict[Workload, list[Queued]] = {}
        for one in queue:
            if one.left and one.workload.stays:
                waiting.setdefault(one.workload, []).append(one)
        for workload in now.manifests.workloads:
            it = now.member(workload)
            created = created_counts(now).get(workload, 0)
            if (created or not it.replicas) and workload.stays and scheduled_pod(it) is not None:
                own = waiting.get(workload, [])
                today = created - sum(one.left for one in own)
                self.shares[workload] = _Share(workload, today, own)

    # --- growing ------------------------------------------------------------------------------------------------

    def _grow(self) -> None:
        """Place waiting pods, largest first (as Karpenter sorts them), until none finds a place any more."""
        self._rebuild()
        waiting = [one for share in self.shares.values() for one in share.waiting]
        queue = sorted(waiting, key=lambda one: _bulk(one.pod), reverse=True)
        until_idle(queue, lambda number: self._place_one(queue[number]))
        # Without any existing node, only the potential nodes show why the pod does not fit.
        short = [share for share in self.shares.values() if share.left]
        state = self._without_spares() if self.there and short else self.state
        for share in short:
            first_left = next(one.pod for one in share.waiting if one.left)
            share.message = message(diagnose(first_left, state))

    def _place_one(self, queued: Queued) -> Sequence[int] | None:
        """Place one pod on an existing or a new node; None if it finds no place."""
        # A plan is one way to grow, and no bound: what it leaves may fit on further nodes.
        if not queued.is_made or len(self.new) >= MOST_NODES_GROWN:
            return None
        variants = self._variants(queued.pod)
        if any(self._placed_as(variant, queued, only_karpenter=True) for variant in variants):
            return ()
        return () if self._placed_as(PodVariant(queued.pod), queued) else None

    def _variants(self, pod: Pod) -> Sequence[PodVariant]:
        """Variants of the pod with preferences as requirements (see ``preferences``); none without a Karpenter pool."""
        has_karpenter = any(pool.maker == KARPENTER for pool in self.scenario.pools)
        return tuple(relaxed(pod))[:-1] if has_karpenter else ()

    def _placed_as(self, variant: PodVariant, queued: Queued, *, only_karpenter: bool = False) -> bool:
        """Place one such pod where ``variant``, a variant of it, fits. Return whether that was possible."""
        pod = variant.pod
        placer = Placer(pod, self.state, queued.owner, seed=self.seed)
        found = placer.diagnosis()
        if variant.term is not None:
            found = replace(found, feasible=found.feasible & self.state.index.matching({}, (variant.term,)))
        here = found.feasible & self.there
        if here:
            position = placer.choose(replace(found, feasible=here))
            assert position is not None
            self._bind(queued, position)
            return True
        stock = self._chosen(pod, queued, found.feasible & ~self.there, only_karpenter)
        if stock is None:
            return False
        self._bind(queued, self._add(stock))
        return True

    def _bind(self, queued: Queued, position: int) -> None:
        bind(queued.pod, position, self.state)
        name, share = self.state.index.names[position], self.shares[queued.workload]
        self.placed.append((queued.pod, name))
        queued.left -= 1
        if name in self.new:
            share.at.append(name)
        else:
            share.today += 1

    def _left(self, pool: NodePool) -> dict[str, int]:
        """Return what the pool's limits leave; empty if nothing limits it."""
        return self.limits.get(pool.name, {})

    def _chosen(self, pod: Pod, queued: Queued, feasible: NodeSet, only_karpenter: bool) -> NodeCandidates | None:
        """The stock of a new node: highest pool weight, then most pods, then smallest, then first in the list."""
        options = [*self._options(pod, feasible, only_karpenter)]
        full = (group for group, stocks in options if group.has_full and any(s.is_full for s in stocks))
        share = self.shares[queued.workload]
        share.limited = tuple(dict.fromkeys(group.pool.name for group in full))
        options = [
            (group, allowed)
            for group, stocks in options
            if (allowed := [s for s in stocks if not s.is_full] if group.has_full else stocks)
        ]
        if not options:
            return None
        weight = max(group.pool.weight for group, _ in options)
        options = [option for option in options if option[0].pool.weight == weight]
        known = [stocks for group, stocks in options if group.is_sized] or [stocks for _, stocks in options]
        pod, fair = self._unbalanced(pod, share.left)
        return fullest(pod, fair, known, self.machines, self.state)

    def _options(
        self, pod: Pod, feasible: NodeSet, only_karpenter: bool
    ) -> Iterator[tuple[Group, Sequence[NodeCandidates]]]:
        """Yield the stocks with a spare node for the pod, by group; those that see empty zones first."""
        fitting: set[NodeCandidates] = set()
        closed = ~self.there & ~feasible
        for group in self._groups_of(feasible):
            if not group.is_blind and (group.pool.maker == KARPENTER or not only_karpenter):
                if not group.nodes & closed:
                    yield group, group.stocks
                elif group.nodes & feasible:
                    fitting = fitting or set(map(self.spares.__getitem__, positions(feasible)))
                    yield group, [s for s in group.stocks if s in fitting]
        if self.blind and not only_karpenter:
            large = static_feasible(pod, self.state.index)
            for group in self.blind:
                yield group, [s for s in group.stocks if large >> s.free[0] & 1 and self._fits_alone(pod, s)]

    def _groups_of(self, feasible: NodeSet) -> Sequence[Group]:
        """Return at least the groups with a feasible spare, in their order: a pod often fits those of few pools."""
        if feasible.bit_count() >= len(self.groups):
            return self.groups
        return [self.groups[n] for n in sorted({self.number[self.spares[p]] for p in positions(feasible)})]

    def _unbalanced(self, pod: Pod, left: int) -> tuple[Pod, int]:
        """The pod without hard spread over zones and similar keys, and the number of waiting pods per domain.

        Nodes of several zones are filled in turn, so what skew allows at this moment says little about the end.
        """
        keys = [c.topology_key for c in pod.spread if c.is_hard and c.topology_key != HOSTNAME]
        if not keys:
            return pod, left
        domains = max(map(self._domains, keys))
        kept = tuple(c for c in pod.spread if c.topology_key not in keys)
        return replace(pod, spread=kept), -(-left // max(1, domains))

    def _domains(self, key: str) -> int:
        if key not in self.domains:
            labels = (offer.template.labels for offer in self.scenario.potential.offers)
            self.domains[key] = len({here[key] for here in labels if key in here})
        return self.domains[key]

    # --- the state ----------------------------------------------------------------------------------------------

    def _add(self, stock: NodeCandidates) -> int:
        """Turn a spare of the stock into a node. Return its position in the state."""
        position, stock.free = stock.free[0], stock.free[1:]
        node = self.state.index.nodes[position]
        self.new[node.name] = stock.offer
        stock.added += 1
        self.nodes[node.name] = node
        self.there |= only(position)
        left = self._left(stock.pool)
        take(stock.offer.template, left)
        for group in self.of_pool[stock.pool.name] if left else ():  # limits have the name of their pool
            group.note_full(left)
        if not stock.free:
            stock.wanted *= 2
            self.rebuilt += 1
            for one in self.stocks:  # the more states, the more spares: else each of many pools would cost a state
                one.wanted = max(one.wanted, self.rebuilt.bit_length())
            self._rebuild()
        return self.state.index.positions[node.name]

    def _rebuild(self) -> None:
        """Build a state of all existing and added nodes, followed by spares of every offer."""
        nodes = [*self.real, *self.nodes.values()]
        self.there = first(len(nodes))
        stocks: list[NodeCandidates] = []
        for stock in self.stocks:
            spares = stock.spares()
            stock.free = range(len(nodes), len(nodes) + len(spares))
            stocks += [stock] * len(spares)
            nodes += spares
        self.spares = dict(enumerate(stocks, self.there.bit_length()))
        for group in self.groups:
            group.nodes = of(position for stock in group.stocks for position in stock.free)
        self.state = self._state(nodes, [stock.offer for stock in stocks])

    def _state(self, nodes: Sequence[Node], spares: Iterable[NodeOffer] = ()) -> ClusterState:
        version, index = self.scenario.premises.kubernetes_version, NodeIndex(nodes, self.scenario.device_resources)
        state = ClusterState(index, self.objects, kubernetes_version=version)
        for position, offer in enumerate((*self.new.values(), *spares), len(self.real)):
            for daemon in offer.daemons:  # each is one object on all nodes, so that the state finds its class at once
                placed(daemon, position, state)
        for pod, name in self.placed:
            bind(pod, state.index.positions[name], state)
        return state

    def _without_spares(self) -> ClusterState:
        return self._state((*self.real, *self.nodes.values()))

    def _fits_alone(self, pod: Pod, stock: NodeCandidates) -> bool:
        """Whether the pod fits on one new node of the stock when no other spare node exists."""
        nodes = (*self.real, *self.nodes.values(), stock.spares()[0])
        state = self._state(nodes, [stock.offer])
        return bool(diagnose(pod, state).feasible >> (len(nodes) - 1) & 1)

    # --- the outcome --------------------------------------------------------------------------------------------

    def _verdict(self, share: _Share) -> Verdict:
        kind = TODAY if not share.at else GROWN
        if share.left:
            kind = LIMITED if share.limited else NEVER
        return Verdict(
            share.workload,
            kind,
            share.today + len(share.at) + share.left,
            share.today,
            len(share.at),
            share.left,
            tuple(_added(self.new[name] for name in dict.fromkeys(share.at))),
            share.limited if share.left else (),
            share.message if share.left else "",
            bool(share.left) and self._sizes_decide(share),
        )

    def _sizes_decide(self, share: _Share) -> bool:
        """Whether resources are insufficient only by an estimate of what some machine offers."""
        if "Insufficient" not in share.message:
            return False
        scenario = self.scenario
        names = scenario.index.names_of(scenario.member(share.workload).usable & ~scenario.today)
        return any(scenario.potential.by_name[name].template.shape.most is not None for name in names)


def _added(offers: Iterable[NodeOffer]) -> Iterator[Added]:
    counts: dict[tuple[str, str, str], int] = {}
    for offer in offers:
        kind = (offer.template.pool.name, offer.template.zone or "", offer.template.shape.name)
        counts[kind] = counts.get(kind, 0) + 1
    for (pool, zone, shape), count in counts.items():
        yield Added(pool, zone, shape, count)


def _bulk(pod: Pod) -> tuple[int, int]:
    return pod.requests.get("cpu", 0), pod.requests.get("memory", 0)
