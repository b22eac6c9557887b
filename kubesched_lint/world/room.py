"""How much room the nodes have for the pods of a workload: domains, copies, and what is short."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kubesched_lint import work
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, positions
from kubesched_lint.model.node import Taint
from kubesched_lint.model.pod import PodAffinityTerm
from kubesched_lint.record import record
from kubesched_lint.world.neighbours import answering, answers_itself, held_domains, is_answered_by_waiting, nodes_near
from kubesched_lint.world.running import RunningPods, all_running_pods, empty_state, pods_of_others
from kubesched_lint.world.staying import staying, staying_beside_set
from kubesched_lint.world.world import Member, World, once_per_world

if TYPE_CHECKING:  # checks that need no cluster import this module too: the scheduler is imported when it is asked
    from kubesched_lint.scheduler.capacity import Shortage


@record
class Room:
    """Where the replicas of a workload can stand when each needs a topology domain to itself."""

    topology_key: str
    domains: tuple[str, ...]
    """Values of the key on the nodes the pod can use."""
    usable: int
    """How many nodes the pod can use."""
    unlabelled: tuple[str, ...]
    """Usable nodes without the key: each takes any number of replicas."""

    @property
    def is_bounded(self) -> bool:
        return self.usable > 0 and not self.unlabelled


def domain_room(
    it: Member, topology_key: str, term: PodAffinityTerm | None = None, beside: RunningPods | None = None
) -> Room:
    """The topology domains of a key among the usable nodes, without those held against ``term``.

    They are held by the running pods of others that stay, unless other ones are given.
    """
    lacking, domains = _domains(it.world, it.usable, topology_key)
    others = beside or staying(it)
    if term is not None and others.pods:
        held = held_domains(it, term, others)
        domains = tuple(d for d in domains if d not in held)
    return Room(topology_key, domains, it.usable.bit_count(), it.world.names(lacking))


@once_per_world
def _in_domains(world: World) -> dict[tuple[NodeSet, str], tuple[NodeSet, tuple[str, ...]]]:
    return {}


def _domains(world: World, nodes: NodeSet, topology_key: str) -> tuple[NodeSet, tuple[str, ...]]:
    """Of nodes, those without a key, and the values that the others have."""
    known = _in_domains(world)
    found = known.get((nodes, topology_key))
    if found is None:
        every = world.index.domains(topology_key)
        work.spend(len(every) // 8)
        domains = tuple(v for v, there in every.items() if there & nodes)
        found = known[nodes, topology_key] = nodes & ~world.index.with_key(topology_key), domains
    return found


@once_per_world
def _copies(world: World) -> dict[tuple[object, int, NodeSet], tuple[int, int]]:
    """Kind of pod, state and nodes → how many copies were asked for, and how many fit."""
    return {}


def most_copies(
    it: Member, most: int, among: NodeSet | None = None, *, bare: bool = False, beside: RunningPods | None = None
) -> int:
    """Upper bound of pods that fit on ``among`` (the usable nodes), at most ``most``, by counting.

    Beside the running pods of others that stay unless other ones are given, or on ``bare`` nodes.
    """
    nodes = it.usable if among is None else among
    state = empty_state(it.world) if bare and it.world.other_pods else (beside or staying(it)).state
    pod = it.pod
    # Only who asks for a port or repels may differ from another pod with the same requests.
    kind = id(it.workload) if pod.host_ports or pod.required_anti_affinity else tuple(pod.requests.items())
    key = (kind, id(state), nodes)
    known = _copies(it.world)
    asked, found = known.get(key, (-1, -1))
    if found == asked < most:  # no more were asked for
        from kubesched_lint.scheduler.capacity import total_copies

        found = total_copies(pod, state, nodes, most)
        known[key] = most, found
    return min(found, most)


def tightest_resource(it: Member, among: NodeSet | None = None) -> str:
    """The resource that bounds ``most_copies`` most."""
    from kubesched_lint.scheduler.capacity import tightest_resource

    nodes = it.usable if among is None else among
    return tightest_resource(it.pod, staying(it).state, nodes)


def most_free(it: Member, resource: str, among: NodeSet) -> int:
    """The largest amount of a resource, 0 at least, that the running pods which stay leave on one of ``among``."""
    free = staying(it).state.ledger.free(resource)
    return int(max(0, *(free[i] for i in positions(among))))


def shortage_on(it: Member, nodes: NodeSet) -> Shortage | None:
    """The resource of which none of ``nodes`` offers enough for one pod."""
    from kubesched_lint.scheduler.capacity import shortage

    return shortage(it.pod, it.world.index, nodes)


def too_small(it: Member, nodes: NodeSet) -> Iterator[tuple[Shortage, NodeSet]]:
    """Those of ``nodes`` that never hold one pod, however empty, parted by the resource that lacks."""
    from kubesched_lint.scheduler.capacity import too_small

    return too_small(it.pod, it.world.index, nodes & ~it.world.index.unknown_resources)


def taints_in_the_way(it: Member, nodes: NodeSet) -> Mapping[Taint, int]:
    """The taint that turns the pod away, with the number of ``nodes`` where it does, most frequent first."""
    from kubesched_lint.scheduler.framework import untolerated_taint

    counts: dict[Taint, int] = {}
    for node in it.world.index.nodes_of(nodes):
        taint = untolerated_taint(it.pod, node)
        if taint is not None:
            counts[taint] = counts.get(taint, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def nodes_near_running(it: Member) -> NodeSet | None:
    """Nodes that satisfy the required affinity by running pods; None where none of them answers it, or where a pod of
    the snapshot that waits may yet answer it elsewhere.

    One pod must match all terms; each term then asks for that pod's domain of its own key. None also where the pod
    answers its own affinity and each other that does may go: then the first one starts anywhere (satisfyPodAffinity).
    """
    terms = it.pod.required_affinity
    if not answering(it, pods_of_others(it.world).alike) or is_answered_by_waiting(it):
        return None
    keyed = EMPTY
    for term in terms:
        keyed |= it.world.index.with_key(term.topology_key)
    staying = answering(it, staying_beside_set(it.world).alike) if answers_itself(it) else keyed
    if not staying & keyed:
        return None  # a pod on a node without the key counts for no domain (updateWithAffinityTerms)
    return nodes_near(it.world, terms, answering(it, all_running_pods(it.world).alike))
