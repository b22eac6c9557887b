"""The room that nodes have for the pods of a workload: domains, copies, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from kubesched_lint.engine.base.text import brief
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.controllers.daemonset import hosts, with_daemon_tolerations
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import Taint
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.others.neighbours import (
    answering,
    answers_itself,
    is_answered_by_waiting,
    open_beside,
)
from kubesched_lint.engine.scenario.others.running import RunningPods, all_running_pods, empty_state, pods_of_others
from kubesched_lint.engine.scenario.others.staying import staying, staying_beside_set
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scheduler import capacity, tolerance

if TYPE_CHECKING:  # checks without a cluster import this module too: the scheduler is imported on use
    from kubesched_lint.engine.scheduler.capacity import Shortage


class DomainRoom(Struct, frozen=True):
    """The domains for the replicas of a workload if each needs a topology domain for itself."""

    topology_key: str
    domains: tuple[str, ...]
    """Values of the key on the nodes that the pod can use, or on those that are open to it beside other pods."""
    usable: int
    """Number of nodes that the pod can use."""
    unlabelled: tuple[str, ...]
    """Such nodes without the key: each accepts any number of replicas."""

    @property
    def is_bounded(self) -> bool:
        return self.usable > 0 and not self.unlabelled


def domain_room(
    it: Member, topology_key: str, term: PodAffinityTerm | None = None, beside: RunningPods | None = None
) -> DomainRoom:
    """Return the topology domains of a key among the usable nodes.

    With ``term``, which keeps its pods apart, among those with room for a pod that nobody repels, ``beside`` pods of
    others; by default those that run and stay. Where none has room, that says more than the domains do.
    """
    others, nodes = beside or staying(it), it.usable
    if term is not None and others.pods:
        nodes = open_room(it, 1, others).open_ or open_beside(it, others)
    lacking, domains = _domains(it.scenario, nodes, topology_key)
    return DomainRoom(topology_key, domains, it.usable.bit_count(), it.scenario.names(lacking))


def open_room(it: Member, most: int, others: RunningPods) -> capacity.Room:
    """Return the room, at most ``most`` pods on each node, beside ``others`` where no anti-affinity parts them."""
    nodes = open_beside(it, others)
    known, key = _rooms(it.scenario), (capacity.copies_key(it.pod), others, nodes, most)
    if key not in known:
        known[key] = capacity.Room(capacity.copies(it.pod, others.state, nodes, most))
    return known[key]


@once_per_scenario
def _rooms(scenario: Scenario) -> dict[tuple[object, RunningPods, NodeSet, int], capacity.Room]:
    """Return a cache: kind of pod, pods of others, nodes and the most on each → room."""
    return {}


def bounding_domains(it: Member, topology_key: str) -> tuple[str, ...] | None:
    """Return the domains of a key among the usable nodes; None if they bound nothing, because some node has no key."""
    lacking, domains = _domains(it.scenario, it.usable, topology_key)
    return None if lacking or not it.usable else domains


@once_per_scenario
def _in_domains(scenario: Scenario) -> dict[tuple[NodeSet, str], tuple[NodeSet, tuple[str, ...]]]:
    return {}


def _domains(scenario: Scenario, nodes: NodeSet, topology_key: str) -> tuple[NodeSet, tuple[str, ...]]:
    """Return the nodes without a key, and the key's values on the others."""
    known = _in_domains(scenario)
    keyless_and_values = known.get((nodes, topology_key))
    if keyless_and_values is None:
        every = scenario.index.domains(topology_key)
        domains = tuple(v for v, there in every.items() if there & nodes)
        keyless_and_values = known[nodes, topology_key] = nodes & ~scenario.index.with_key(topology_key), domains
    return keyless_and_values


@once_per_scenario
def _copies(scenario: Scenario) -> dict[tuple[object, ClusterState, NodeSet], tuple[int, int]]:
    """Return a cache: kind of pod, state and nodes → how many copies were asked for, and how many fit."""
    return {}


def most_copies(
    it: Member,
    most: int,
    among: NodeSet | None = None,
    *,
    bare: bool = False,
    beside: RunningPods | None = None,
    pod: Pod | None = None,
) -> int:
    """Return an upper bound, at most ``most``, of the pods that fit on ``among`` (default: the usable nodes).

    They share the nodes with ``beside`` (default: the running pods of others that stay), or the nodes are ``bare``.
    ``pod``: another one than the workload's.
    """
    nodes = it.usable if among is None else among
    state = empty_state(it.scenario) if bare and it.scenario.other_pods else (beside or staying(it)).state
    pod = pod or it.pod
    key = capacity.copies_key(pod), state, nodes
    known = _copies(it.scenario)
    asked, known_copies = known.get(key, (-1, -1))
    if known_copies == asked < most:  # no more copies were asked for
        known_copies = capacity.total_copies(pod, state, nodes, most)
        known[key] = most, known_copies
    return min(known_copies, most)


def most_apart(it: Member, most: int, among: NodeSet | None = None) -> int:
    """Return ``most_copies`` where its own anti-affinity, and that of others and to others, keeps pods apart."""
    terms, nodes = it.kept_apart, it.usable if among is None else among
    if not terms:
        return most_copies(it, most, nodes)
    return min(open_room(it, most, staying(it)).within_apart(terms, it.scenario.index, nodes, most), most)


def most_copies_by_domain(
    it: Member, most: int, topology_key: str, domains: Mapping[str, NodeSet], among: NodeSet, beside: RunningPods
) -> dict[str, int]:
    """Return ``most_copies`` for the nodes of each domain that are ``among``.

    If each domain is a node, this is one pass over the nodes.
    """
    index = it.scenario.index
    if not index.one_node_each(topology_key):
        return {d: most_copies(it, most, nodes & among, beside=beside) for d, nodes in domains.items()}
    rooms = capacity.copies(it.pod, beside.state, among & index.with_key(topology_key), most)
    room_of_domains = {index.nodes[position].labels[topology_key]: room for position, room in rooms}
    return {d: room_of_domains.get(d, 0) for d in domains}


def tightest_resource(it: Member, among: NodeSet | None = None) -> str:
    """Return the resource that limits ``most_copies`` most."""
    nodes = it.usable if among is None else among
    return capacity.tightest_resource(it.pod, staying(it).state, nodes)


def most_free(it: Member, resource: str, among: NodeSet) -> int:
    """Return the largest free amount of a resource on one of ``among`` beside the running pods that stay.

    At least 0.
    """
    free = staying(it).state.ledger.free(resource)
    return int(max(0, *(free[i] for i in positions(among))))


def daemons_on(scenario: Scenario, node: str) -> Iterator[Pod]:
    """Yield the pod of each known DaemonSet that runs on a node of the cluster."""
    position = scenario.index.positions[node]
    for pod in _daemon_pods(scenario):
        if hosts(pod, scenario.index) >> position & 1:
            yield pod


@once_per_scenario
def _daemon_pods(scenario: Scenario) -> tuple[Pod, ...]:
    from kubesched_lint.engine.scenario.pools.potential import daemon_pods

    return tuple(daemon_pods(scenario.daemons, Inventory() if scenario.cluster is None else scenario.cluster.inventory))


def left_by_others(it: Member, nodes: NodeSet, resource: str, choose: Callable[..., int] = max) -> tuple[int, str]:
    """Return what a new pod may request on the node with most (or with ``min``, least) left, at least 0.

    Beside it stands, in brackets, who uses the rest.
    """
    free, whole = staying(it).state.ledger.free(resource), it.scenario.index.allocatable(resource)
    coming = list(_other_daemons(it, resource))

    def left(i: int) -> float:
        return free[i] - sum(amount for amount, there in coming if there >> i & 1)

    i = choose(positions(nodes), key=left if coming else free.__getitem__)
    own = it.pod.requests.get(resource, 0) if it.workload.kind == "DaemonSet" else 0
    daemons = sum(pod.requests.get(resource, 0) for pod in daemons_on(it.scenario, it.scenario.nodes[i].name)) - own
    least = min(left(i), whole[i] - daemons)
    whose = "DaemonSets" if least == whole[i] - daemons else "other pods"
    return int(max(0, least)), f" (the {whose} there use the rest)" if least < whole[i] else ""


def _other_daemons(it: Member, resource: str) -> Iterator[tuple[int, NodeSet]]:
    """Yield (request, nodes) for each other DaemonSet of the manifests."""
    for workload, pod, nodes in _daemons_of_set(it.scenario):
        if workload is not it.workload:
            yield pod.requests.get(resource, 0), nodes


@once_per_scenario
def _daemons_of_set(scenario: Scenario) -> Sequence[tuple[Workload, Pod, NodeSet]]:
    """Return the DaemonSets of the manifests, with their pods and the nodes that host them."""
    daemons = [workload for workload in scenario.manifests.workloads if workload.kind == "DaemonSet"]
    pods = [with_daemon_tolerations(scenario.member(workload).pod) for workload in daemons]
    return [(workload, pod, hosts(pod, scenario.index)) for workload, pod in zip(daemons, pods, strict=True)]


def shortage_on(it: Member, nodes: NodeSet) -> Shortage | None:
    """Return the resource that none of ``nodes`` has enough of for one pod; None if there is none."""
    return capacity.shortage(it.pod, it.scenario.index, nodes)


def shortages_on(it: Member, nodes: NodeSet) -> tuple[Shortage, ...]:
    """Return each resource that none of ``nodes`` has enough of for one pod."""
    return tuple(capacity.shortages(it.pod, it.scenario.index, nodes))


def large_enough(it: Member, nodes: NodeSet, but: str = "") -> NodeSet:
    """Return those of ``nodes`` whose bare allocatable holds one pod, whatever it requests of the resource ``but``."""
    for resource, amount in (*it.pod.requests.items(), ("pods", 1)):
        if amount > 0 and resource != but:
            nodes &= ~it.scenario.index.short_of(resource, amount)
    return nodes


def too_small(it: Member, nodes: NodeSet) -> Iterator[tuple[Shortage, NodeSet]]:
    """Yield the nodes that never hold one pod, even when empty, grouped by the lacking resource."""
    return capacity.too_small(it.pod, it.scenario.index, nodes & ~it.scenario.index.unknown_resources)


def taints_in_the_way(it: Member, nodes: NodeSet) -> Mapping[Taint, int]:
    """Return each taint that repels the pod → number of ``nodes`` where it does, most frequent first."""
    return what_is_in_the_way(it, nodes).each


def taint_sets_in_the_way(it: Member, nodes: NodeSet) -> Mapping[tuple[Taint, ...], int]:
    """Return the taints that together repel the pod from a node → number of such ``nodes``, most frequent first."""
    return what_is_in_the_way(it, nodes).together


class BlockingTaints(NamedTuple):
    """Taints that repel the pods of workloads, which share all of this."""

    together: Mapping[tuple[Taint, ...], int]
    """See ``taint_sets_in_the_way``."""
    each: Mapping[Taint, int]
    """See ``taints_in_the_way``."""
    names: tuple[str, ...]
    listed: str
    briefly: str
    """``listed``, with the middle of a long list cut."""
    fewest_with: Mapping[Taint, tuple[Taint, ...]]
    """Taint → the fewest taints of one node that it is among."""


def what_is_in_the_way(it: Member, nodes: NodeSet) -> BlockingTaints:
    """Return the taints that repel the pod from ``nodes``."""
    index, known = it.scenario.index, _known_in_the_way(it.scenario)
    key = tolerance.covered_taints(index, it.pod.tolerations), nodes
    if key not in known:
        together = tolerance.taint_sets_in_the_way(index, *key)
        counts: Counter[Taint] = Counter()
        for taints, count in together.items():
            counts.update(dict.fromkeys(taints, count))
        each = dict(counts.most_common())
        fewest: dict[Taint, tuple[Taint, ...]] = {}
        for taints in sorted(together, key=len):
            for taint in taints:
                fewest.setdefault(taint, taints)
        names = tuple(map(str, each))
        listed = ", ".join(names)
        known[key] = BlockingTaints(together, each, names, listed, brief(listed), fewest)
    return known[key]


@once_per_scenario
def _known_in_the_way(scenario: Scenario) -> dict[tuple[frozenset[Taint], NodeSet], BlockingTaints]:
    """Return a cache: what pods tolerate, and nodes → what is in the way of their pods there."""
    return {}


def why_closed(it: Member, nodes: NodeSet) -> str:
    """Return why the pods cannot use any of these nodes."""
    matching = nodes & it.reach.matching
    if not matching:
        return "its node selector or node affinity leaves them out"
    taints = taints_in_the_way(it, matching)
    if taints:
        return "it does not tolerate " + ", ".join(str(taint) for taint in taints)
    return "they are cordoned, or too small for its other requests"


def nodes_near_running(it: Member) -> NodeSet | None:
    """Return the nodes that satisfy the required affinity by running pods; None if running pods do not decide it.

    One pod must match all terms; each term then requires that pod's domain of its own key. None if no running pod
    matches, or a waiting pod of the snapshot may still match elsewhere. None also if the pod matches its own affinity
    and every other matching pod may go: then the first one starts anywhere (satisfyPodAffinity).
    """
    terms = it.pod.required_affinity
    if not answering(it, pods_of_others(it.scenario)) or is_answered_by_waiting(it):
        return None
    keyed = EMPTY
    for term in terms:
        keyed |= it.scenario.index.with_key(term.topology_key)
    staying = answering(it, staying_beside_set(it.scenario)) if answers_itself(it) else keyed
    if not staying & keyed:
        return None  # a pod on a node without the key counts for no domain (updateWithAffinityTerms)
    return it.scenario.index.near(terms, answering(it, all_running_pods(it.scenario)))
