"""Whether a set fits together: pod counts per workload and class of nodes, under conditions that hold in any order.

All conditions are necessary, so "impossible" is a proof and "possible" is none. A counting bound needs no solver;
with the extra ``solver`` an integer programme (HiGHS) finds more contradictions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import compress
from operator import or_
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.text import SHOWN
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, holds, lowest, positions
from kubesched_lint.engine.model.inventory import Inventory, identity
from kubesched_lint.engine.model.pod import Pod, knows_scheduler, profile_of
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.coming import created_pods
from kubesched_lint.engine.placing.limits import MOST_PODS_TRIED, MOST_ROUNDS, MOST_SOLVED, MOST_VARIABLES
from kubesched_lint.engine.placing.reachability import blocked_affinities
from kubesched_lint.engine.placing.rollout import stays
from kubesched_lint.engine.placing.together.exclusion import crowded
from kubesched_lint.engine.placing.together.problem import Demand, NodeClass, Problem
from kubesched_lint.engine.placing.together.programme import most_pods
from kubesched_lint.engine.placing.together.spread import spread_room
from kubesched_lint.engine.placing.trial import every_trial_leaves_pods
from kubesched_lint.engine.placing.wanted import pods_of_the_set, pods_wanted
from kubesched_lint.engine.scenario.applying.phases import is_hook
from kubesched_lint.engine.scenario.others.room import most_apart
from kubesched_lint.engine.scenario.quotas import surely_granted
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scenario.storage.claims import out_of_reach
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints

T = TypeVar("T")

POD_LIMIT = "the pod limit"
"""What is short if nodes take no more pods, whatever these request."""
PORT = "host port"
APART = "anti-affinity"
GROUPS = ("resources", "host ports", APART, "spread", "affinity")


class Short(Struct, frozen=True):
    """The pods ask ``asked`` of a resource or of ports; ``nodes`` nodes are open to them, with ``room`` together."""

    name: str
    asked: int
    room: int
    nodes: int


class Impossible(Struct, frozen=True):
    """At most ``placed`` of ``wanted`` pods of these workloads find a place; without any one of them, all may."""

    demands: tuple[Demand, ...]
    wanted: int
    placed: int
    because: tuple[str, ...]
    """The groups of conditions that cannot hold together."""
    short: Short | None = None
    """What nodes lack, if one amount tells it all."""
    is_by_requests: bool = False
    """Whether smaller requests may help."""
    is_pair_by_port: bool = False
    """Whether two workloads conflict only by a host port: hostport-cross-workload reports that."""


@once_per_scenario
def demands_of(scenario: Scenario) -> tuple[Demand, ...]:
    """The demand of every workload whose pods stay; a DaemonSet wants one pod per usable node.

    The Pod of a hook does not count, as a Job does not: it may have ended before others begin, or come after them.
    """
    return tuple(_demands(scenario))


def _demands(scenario: Scenario) -> Iterator[Demand]:
    twice = _defined_twice(scenario.manifests)
    for workload in scenario.manifests.workloads:
        if twice and identity(workload) in twice:
            continue  # one object in several variants, perhaps overlays: it is unknown which one is deployed
        if not scenario.member(workload).is_created:
            continue
        usable = scenario.member(workload).usable
        if workload.kind == "DaemonSet":
            usable &= scenario.today  # on potential nodes their room is already deducted
            count = usable.bit_count()
        elif workload.stays and not (workload.kind == "Pod" and is_hook(workload.annotations)):
            count = scenario.member(workload).replicas
        else:
            continue
        count = min(count, _surely_created(scenario).get(workload, count))
        pod = _as_it_may_stand(scenario.member(workload), usable)
        if pod is None or pod.scheduling_gates:
            continue
        if count and usable and not usable & scenario.index.unknown_resources:
            yield Demand(workload, with_enforced_constraints(pod), count, usable)


@once_per_scenario
def _surely_created(scenario: Scenario) -> Mapping[Workload, int]:
    """Workload → how many of its pods quotas let be created in whatever order: others take no room, and none waits."""
    return surely_granted([(w, pods_wanted(scenario.member(w))) for w in scenario.as_created], scenario)


def _as_it_may_stand(it: Member, usable: NodeSet) -> Pod | None:
    """The pod of a workload. If its running pods stay, a pod with only what those surely take; None if they differ.

    Running pods were placed when nodes and labels may have been different: only their room is that of a new pod.
    """
    pod, running = it.pod, it.running_pods
    if not running:
        return pod
    if not stays(it, running):
        return pod
    at = (it.scenario.index.positions.get(bound.node, -1) for bound in running if bound.node)
    if not all(position >= 0 and usable >> position & 1 for position in at):
        return None
    if any(b.pod.requests != pod.requests or b.pod.host_ports != pod.host_ports for b in running):
        return None
    claims = pod.resource_claims if all(b.pod.resource_claims == pod.resource_claims for b in running) else ()
    return replace(pod, spread=(), required_affinity=(), required_anti_affinity=(), resource_claims=claims)


def _defined_twice(manifests: Inventory) -> frozenset[object]:
    """Return the identities of workloads that have several definitions."""
    if not manifests.has_duplicates:
        return frozenset()
    written = Counter(map(identity, manifests.workloads))
    return frozenset(workload for workload, count in written.items() if count > 1)


@once_per_scenario
def contradictions(scenario: Scenario) -> tuple[Impossible, ...]:
    """The first few small sets of workloads that cannot all run together, although each could alone."""
    return tuple(impossible(scenario))


def impossible(scenario: Scenario) -> Iterator[Impossible]:
    """Yield the first few small sets of workloads that cannot all run together, although each could alone.

    Those of kube-scheduler alone come first: they are proven, whatever another scheduler does with its pods.
    """
    demands = [d for d in demands_of(scenario) if fits_alone(scenario, d)]
    if not demands:
        return
    sure = [d for d in demands if knows_scheduler(d.pod) and not profile_of(d.pod).unmodelled]
    reported: list[Impossible] = []
    if len(sure) < len(demands):
        yield from _impossible(Problem(scenario, sure), reported)
    if len(reported) < SHOWN:
        yield from _impossible(Problem(scenario, demands), reported)


def _impossible(problem: Problem, reported: list[Impossible]) -> Iterator[Impossible]:
    """Yield sets for causes that are not ``reported`` yet."""
    scenario = problem.scenario
    for _ in range(MOST_ROUNDS):
        demands = problem.demands
        culprits = overfull(problem)
        if culprits is None and 1 < len(demands) <= MOST_SOLVED and not _seen_to_fit(scenario):
            culprits = _smallest(scenario, demands)
        if culprits is None:
            return
        # A single workload that cannot run even alone proves nothing about the others.
        is_told = any(_has_the_cause_of(culprits, known) for known in reported)
        if len(culprits.demands) > 1 and not culprits.is_pair_by_port and not is_told:
            reported.append(culprits)
            yield culprits
            if len(reported) == SHOWN:
                return
        problem = problem.without(culprits.demands[-1])


def _has_the_cause_of(impossible: Impossible, known: Impossible) -> bool:
    """Whether it shares workloads with a known one, and the same conditions cannot hold."""
    ours = {demand.workload for demand in impossible.demands}
    return impossible.because == known.because and any(demand.workload in ours for demand in known.demands)


def _seen_to_fit(scenario: Scenario) -> bool:
    """Whether a trial found a place for every pod: then no contradiction exists, and the solver is not loaded."""
    if scenario.pools or scenario.index.unknown_resources or pods_of_the_set(scenario) > MOST_PODS_TRIED:
        return False
    if any(queued.left and _has_no_node(scenario.member(queued.workload)) for queued in created_pods(scenario)):
        return False  # as any trial would show
    return not every_trial_leaves_pods(scenario)


def _has_no_node(it: Member) -> bool:
    return it.workload.kind != "DaemonSet" and not it.usable and not it.running_pods


def fits_alone(scenario: Scenario, demand: Demand) -> bool:
    """Whether the workload passes the bounds of the rules on single workloads, which report it otherwise."""
    workload, count = demand.workload, demand.count
    if workload.kind == "DaemonSet":
        return True
    if any(out_of_reach(scenario.member(workload))):
        return False
    if workload in blocked_affinities(scenario) or most_apart(scenario.member(workload), count) < count:
        return False
    for constraint in demand.pod.spread:
        if constraint.is_hard:
            bound = spread_room(scenario.member(workload), constraint)
            if bound is not None and bound.total < count:
                return False
    return True


def overfull(problem: Problem) -> Impossible | None:
    """A few workloads that together request more than their set of nodes has; None if no set is overfull."""
    parts = _by_first((part, (part, asked)) for part, asked in problem.totals.items())
    places = _by_first((c.nodes, c) for c in problem.classes)
    has_room = _room_for_all(problem, places)
    for nodes in problem.totals:
        if has_room(nodes):
            continue
        inside = [asked for part, asked in _starting_in(nodes, parts) if not part & ~nodes]
        wanted = list(map(sum, zip(*inside, strict=True)))
        classes = list(_starting_in(nodes, places))  # each is in the set, or has no node of it
        taken = problem.returning(nodes)
        for r in compress(range(len(wanted)), wanted):  # most workloads ask for few of the resources
            room = sum(max(c.room[r], 0) * c.size for c in classes) - taken[r]
            if wanted[r] > room:
                return _overfull(problem, _fewest(problem, nodes, r, room), r, room, nodes)
    return _overfull_port(problem) or _crowded(problem)


def _crowded(problem: Problem) -> Impossible | None:
    """Workloads that exclude one another from more domains than there are; None without them."""
    crowd = crowded(problem.scenario, problem.demands)
    if crowd is None:
        return None
    wanted = sum(demand.count for demand in crowd.demands)
    return Impossible(crowd.demands, wanted, wanted - (crowd.needed - crowd.domains), (APART,))


def _room_for_all(problem: Problem, places: Mapping[int, Sequence[NodeClass]]) -> Callable[[NodeSet], bool]:
    """Return whether a set of nodes has room for the pods of all demands; of a small set nobody asks: False.

    It looks at the nodes that the set lacks, because where each workload may use nearly all nodes there are few.
    """
    every = reduce(or_, problem.totals, EMPTY)
    asked = [sum(amounts) for amounts in zip(*problem.totals.values(), strict=True)]
    taken = problem.returning(problem.scenario.index.all)
    whole = [sum(max(c.room[r], 0) * c.size for c in problem.classes) - taken[r] for r in range(len(asked))]

    def has_room(nodes: NodeSet) -> bool:
        lacking = every & ~nodes
        if lacking.bit_count() > nodes.bit_count():
            return False
        gone = list(_starting_in(lacking, places))
        return all(
            wanted <= room - sum(max(c.room[r], 0) * c.size for c in gone)
            for r, (wanted, room) in enumerate(zip(asked, whole, strict=True))
        )

    return has_room


def _by_first(sets: Iterable[tuple[NodeSet, T]]) -> Mapping[int, Sequence[T]]:
    """Return what belongs to sets of nodes by the first node of each."""
    by_node: dict[int, list[T]] = {}
    for nodes, entry in sets:
        by_node.setdefault(lowest(nodes), []).append(entry)
    return by_node


def _starting_in(nodes: NodeSet, firsts: Mapping[int, Sequence[T]]) -> Iterator[T]:
    """Yield what belongs to the sets whose first node is one of ``nodes``."""
    few = nodes.bit_count() < len(firsts)
    for position in positions(nodes) if few else [first for first in firsts if holds(nodes, first)]:
        yield from firsts.get(position, ())


def _fewest(problem: Problem, nodes: NodeSet, r: int, room: int) -> tuple[Demand, ...]:
    """The fewest demands confined to ``nodes``, largest first, whose requests exceed ``room``."""
    confined = [d for d in problem.demands if d.nodes & ~nodes == 0]
    asked = sorted(((problem.request(d)[r] * d.count, i) for i, d in enumerate(confined)), reverse=True)
    taken: list[int] = []
    total = 0
    for amount, i in asked:
        taken.append(i)
        total += amount
        if total > room:
            break
    return tuple(confined[i] for i in sorted(taken))


def _overfull_port(problem: Problem) -> Impossible | None:
    """A host port that more pods take, on some set of nodes, than there are nodes; None without one."""
    users: dict[tuple[str, int], list[Demand]] = {}
    for demand in problem.demands:
        for port in {(p.protocol, p.port) for p in demand.pod.host_ports if p.host_ip == "0.0.0.0"}:
            users.setdefault(port, []).append(demand)
    for (_, number), asking in users.items():
        for nodes in {d.nodes for d in asking}:
            confined = tuple(d for d in asking if d.nodes & ~nodes == 0)
            wanted, room = sum(d.count for d in confined), nodes.bit_count()
            if len(confined) > 1 and wanted > room:
                most, second, *_ = sorted((d.count for d in confined), reverse=True)
                is_pair = most + second > room
                port_name = f"{PORT} {number}"
                short = Short(port_name, wanted, room, room)
                return Impossible(confined, wanted, room, (port_name,), short, is_pair_by_port=is_pair)
    return None


def _overfull(problem: Problem, chosen: tuple[Demand, ...], r: int, room: int, nodes: NodeSet) -> Impossible:
    wanted, name = sum(d.count for d in chosen), problem.resources[r]
    placed = min(
        packed(sorted((problem.request(d)[r], d.count) for d in chosen), room), _node_by_node(problem, chosen, r)
    )
    because = POD_LIMIT if name == PODS else name
    asked = sum(problem.request(d)[r] * d.count for d in chosen)
    short = Short(because, asked, max(room, 0), nodes.bit_count())
    return Impossible(chosen, wanted, placed, (because,), short, is_by_requests=name != PODS)


def _smallest(scenario: Scenario, demands: Sequence[Demand]) -> Impossible | None:
    """The set, reduced until the contradiction needs every workload and every group of conditions; None without one."""
    if not _contradicts(scenario, demands, GROUPS):
        return None
    kept = list(demands)
    for demand in demands:
        rest = [d for d in kept if d is not demand]
        if rest and _contradicts(scenario, rest, GROUPS):
            kept = rest
    groups = list(GROUPS)
    for group in GROUPS:
        fewer = [g for g in groups if g != group]
        if _contradicts(scenario, kept, fewer):
            groups = fewer
    wanted = sum(d.count for d in kept)
    placed = _placeable(Problem(scenario, kept), groups)
    return Impossible(tuple(kept), wanted, placed, tuple(groups), is_by_requests="resources" in groups)


def _contradicts(scenario: Scenario, demands: Sequence[Demand], groups: Sequence[str]) -> bool:
    return _placeable(Problem(scenario, demands), groups) < sum(d.count for d in demands)


def most_placeable(scenario: Scenario, demands: Sequence[Demand], groups: Sequence[str]) -> int:
    """Return an upper bound of the pods of these demands that can run together, whatever else runs or not."""
    return _placeable(Problem(scenario, demands), groups)


def _placeable(problem: Problem, groups: Sequence[str]) -> int:
    """Return an upper bound of the pods that can be placed together."""
    bound = _by_counting(problem, groups)
    if bound < sum(d.count for d in problem.demands):
        return bound
    if len(problem.demands) * len(problem.classes) > MOST_VARIABLES:
        return bound  # the programme could only lower it
    solved = most_pods(problem, groups)
    return bound if solved is None else min(bound, solved)


def _by_counting(problem: Problem, groups: Sequence[str]) -> int:
    """Return the most pods that can fit, by comparing demand with capacity for each distinct set of usable nodes."""
    wanted = sum(d.count for d in problem.demands)
    if "resources" not in groups:
        return wanted
    best = wanted
    for nodes in {d.nodes for d in problem.demands}:
        confined = [d for d in problem.demands if d.nodes & ~nodes == 0]
        for r, _ in enumerate(problem.resources):
            room = sum(max(c.room[r], 0) * c.size for c in problem.classes if c.nodes & nodes)
            sizes = sorted((problem.request(d)[r], d.count) for d in confined)
            fitting = min(packed(sizes, room), _node_by_node(problem, confined, r))
            best = min(best, wanted - sum(d.count for d in confined) + fitting)
    return best


def _node_by_node(problem: Problem, demands: Sequence[Demand], r: int) -> int:
    """Return how many pods fit by one resource if each node takes as many as it can (one of a DaemonSet)."""
    each = on_each_node(problem, demands, r, problem.classes)
    return sum(place.size * fitting for place, fitting in zip(problem.classes, each, strict=True))


def on_each_node(problem: Problem, demands: Sequence[Demand], r: int, classes: Sequence[NodeClass]) -> Sequence[int]:
    """Return how many pods fit by one resource on a node of each class, the smallest first (one of a DaemonSet)."""
    asked = [(problem.request(d)[r], 1 if d.one_a_node else d.count, d.nodes) for d in demands]
    return [
        packed(sorted((size, most) for size, most, nodes in asked if nodes & c.nodes), max(c.room[r], 0))
        for c in classes
    ]


def packed(sizes: Iterable[tuple[int, int]], room: int) -> int:
    """Return how many pods fit into ``room`` if the smallest go first."""
    placed = 0
    for size, count in sizes:
        fitting = count if size == 0 else min(count, room // size)
        placed += fitting
        room -= fitting * size
    return placed
