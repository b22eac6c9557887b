"""Whether a gang fits: impossible, certain in every order, or possible although the scheduler may miss it.

Each gang is asked about alone, beside the running pods that stay: the other workloads of the set only take room away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.admission.schedulers import owner_selector
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import NodeSet, lowest, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.events.transitions.gangs import outcomes
from kubesched_lint.engine.model.feature_gates import GANGS, GROUPS, PREEMPTION
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.placing.coming import scheduled_pod
from kubesched_lint.engine.placing.gangs.answers import (
    CERTAIN,
    FEWER,
    IMPOSSIBLE,
    MAY_MISS,
    SCHEDULERS,
    UNKNOWN,
    Answer,
    Places,
)
from kubesched_lint.engine.placing.placing import Copies, Placing
from kubesched_lint.engine.placing.together.joint import most_placeable
from kubesched_lint.engine.placing.together.problem import Demand
from kubesched_lint.engine.placing.trial import at_rest
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.devices.over_time import shares_claims, which_matters
from kubesched_lint.engine.scenario.gangs import (
    KUEUE,
    Gang,
    constraint,
    domains,
    enabled_gates,
    gangs_of,
    live_groups,
    may_evict,
)
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.binding import placed
from kubesched_lint.engine.scheduler.framework import diagnose, with_enforced_constraints

_CUT = "it has more courses than are followed"
_UNSCHEDULED = "pods of it have scheduling gates, a nodeName, or another scheduler"
_GROUPS = ("resources", "host ports", "anti-affinity")
"""The conditions of the integer programme that other pods cannot weaken."""


@once_per_scenario
def answers(scenario: Scenario) -> tuple[Answer, ...]:
    """The answer about every gang of the manifests."""
    return tuple(_answer(gang, scenario) for gang in gangs_of(scenario))


def _answer(gang: Gang, scenario: Scenario) -> Answer:
    pods = [pod for member in gang.members if (pod := _pod(member, gang)) is not None]
    beyond = _beyond(gang, scenario) or ("" if len(pods) == len(gang.members) else _UNSCHEDULED)
    if beyond or not gang.pods:
        return Answer(UNKNOWN, gang, reason=beyond or "no pod is created")
    if gang.at_once < gang.needed:
        return Answer(FEWER, gang)  # podgroup-min-count reports it
    waiting = [
        BoundPod(f"{member.workload.name}-{number}", "", pod)
        for member, pod in zip(gang.members, pods, strict=True)
        for number in range(member.replicas)
    ]
    if not scenario.pools and (_are_independent(waiting, scenario) or _always_have_room(gang, waiting, scenario)):
        places = _filled(gang, waiting, scenario)
        if places:
            return Answer(CERTAIN, gang, len(places), places)
    most = _most(gang, pods, scenario)
    if most < gang.needed:
        return Answer(IMPOSSIBLE, gang, most, key=constraint(gang, scenario))
    if scenario.pools:
        return Answer(UNKNOWN, gang, most, reason="it is not known which nodes pools add for a group")
    owners = {pod: owner_selector(member.workload, pod.labels) for member, pod in zip(gang.members, pods, strict=True)}
    return _followed(gang, waiting, owners, scenario, most)


def _beyond(gang: Gang, scenario: Scenario) -> str:
    """Return why this module does not follow a gang; empty if it does."""
    if may_evict(gang, scenario) and PREEMPTION in enabled_gates(scenario):
        return f"with {PREEMPTION} it may evict running pods as a whole"
    if not gang.has_one_scheduler:
        return SCHEDULERS
    if (gang.group.namespace, gang.group.name) in live_groups(scenario):
        return "pods of it are in the cluster already"
    return next(filter(None, (_beyond_of(member, scenario) for member in gang.members)), "")


def _beyond_of(it: Member, scenario: Scenario) -> str:
    if it.workload.kind in ("DaemonSet", "CronJob"):
        return f"a {it.workload.kind} has pods in it"
    if it.workload.claim_templates:
        return f"claims of {it.workload} may pin its pods to nodes"
    if needs_devices(it.workload.pod, it.scenario) and (which_matters(it.scenario) or shares_claims(it.scenario)):
        return f"it is not known which devices pods of {it.workload} get"
    if it.running_pods:
        return f"pods of {it.workload} run already"
    if not it.is_created:
        return f"it is not known which pods of {it.workload} the API server creates"
    unknown = it.usable & scenario.index.unknown_resources
    return f"some nodes that {it.workload} may use declare no resources" if unknown else ""


def _pod(it: Member, gang: Gang) -> Pod | None:
    """The pod as it is scheduled after its admission; None if the scheduler never sees it, or another one does."""
    pod = scheduled_pod(it)
    if pod is not None or not gang.is_foreign:
        return pod
    gates = () if gang.group.system == KUEUE else it.pod.scheduling_gates
    pod = replace(it.pod, scheduling_gates=gates)
    return None if gates or pod.node_name or pod.volumes else pod


def _most(gang: Gang, pods: Sequence[Pod], scenario: Scenario) -> int:
    """The most pods that any placement can take, by necessary conditions."""
    best = 0
    for among in domains(gang, scenario):
        demands = [
            Demand(member.workload, with_enforced_constraints(pod), member.replicas, member.usable & among)
            for member, pod in zip(gang.members, pods, strict=True)
            if member.usable & among and member.replicas
        ]
        best = max(best, most_placeable(scenario, demands, _GROUPS) if demands else 0)
    return best


def _always_have_room(gang: Gang, waiting: Sequence[BoundPod], scenario: Scenario) -> bool:
    """Whether the others of the group can never fill all nodes of a pod, in one domain at least."""
    counts = Counter(bound.pod for bound in waiting)
    pods = list(counts.items())
    state = at_rest(scenario).state
    if not all(_takes_room_only(pod, state) for pod, _ in pods):
        return False
    return any(all(_stays_open(pod, pods, among, state) for pod, _ in pods) for among in domains(gang, scenario))


def _takes_room_only(pod: Pod, state: ClusterState) -> bool:
    near = pod.required_affinity or pod.required_anti_affinity or pod.host_ports
    return not (near or pod.volumes or state.may_serve(pod) or any(constraint.is_hard for constraint in pod.spread))


def _stays_open(pod: Pod, pods: Sequence[tuple[Pod, int]], among: NodeSet, state: ClusterState) -> bool:
    """Whether one of its nodes has room for a pod after all others, given as (pod, count).

    To close a node takes one of them, and as much of a resource as the fullest node can spare.
    """
    feasible = list(positions(diagnose(pod, state, among).feasible))
    others = [(other, count - (other is pod)) for other, count in pods]
    closed = 0.0
    for resource, want in (*pod.requests.items(), (PODS, 1)):
        if want and feasible:
            spare = min(map(state.ledger.free(resource).__getitem__, feasible)) - want
            taken = sum(count * (1 if resource == PODS else other.requests.get(resource, 0)) for other, count in others)
            closed += taken // (spare + 1)
    return min(closed, sum(count for _, count in others)) < len(feasible)


def _are_independent(waiting: Sequence[BoundPod], scenario: Scenario) -> bool:
    """Whether the pods are equal and each takes room on its own node only: no order or choice changes how many fit."""
    pod = waiting[0].pod
    if pod.required_affinity or pod.spread or pod.volumes or not all(same_values(bound.pod, pod) for bound in waiting):
        return False
    keys = {term.topology_key for term in pod.required_anti_affinity}
    return all(nodes.bit_count() == 1 for key in keys for nodes in scenario.index.domains(key).values())


def _filled(gang: Gang, waiting: Sequence[BoundPod], scenario: Scenario) -> Places:
    """Return where independent pods go, enough of them; every course fills a domain as far. Empty if too few fit."""
    state = at_rest(scenario).state
    names = state.index.names
    for among in domains(gang, scenario):
        queue = [Copies(bound.pod, None, 1, name=bound.name) for bound in waiting]
        with state.undone():
            placed_pods = Placing(queue, state, choose=lowest, among=among).run().placed
        if len(placed_pods) >= gang.needed:
            return tuple((copies.name, names[placement.position]) for placement, copies in placed_pods.items())
    return ()


def _followed(
    gang: Gang, waiting: Sequence[BoundPod], owners: Mapping[Pod, Selector | None], scenario: Scenario, most: int
) -> Answer:
    """The answer by the scheduler's own courses, and by a search for any placement."""
    state = at_rest(scenario).state
    gates = {*enabled_gates(scenario), GROUPS, GANGS}
    group = replace(gang.group, min_count=gang.needed)
    steps = min(work.share(0, 2), MOST_STEPS // 8)
    ends = outcomes(group, waiting, state, gates, owners=owners, any_order=True, steps=steps)
    enough = next((rest.on for rest in ends.rests if len(rest.on) >= gang.needed), ())
    missed = next((rest for rest in ends.rests if len(rest.on) < gang.needed), None)
    if missed is None and ends.is_cut:
        return Answer(UNKNOWN, gang, most, enough, reason=_CUT)
    if missed is None:
        return Answer(CERTAIN, gang, most, enough)
    placement = enough or work.tried(lambda: any_placement(gang, waiting, state, scenario), ())
    if not placement:
        return Answer(UNKNOWN, gang, most, missed=missed, reason="no placement of enough pods was found")
    return Answer(MAY_MISS, gang, most, placement, missed)


def any_placement(gang: Gang, waiting: Sequence[BoundPod], state: ClusterState, scenario: Scenario) -> Places:
    """Return (pod, node) of enough pods, by the filters alone and in the given order; empty if there is none."""
    for among in domains(gang, scenario):
        with state.undone():
            search = _Placement(gang.needed, waiting, among, state)
            held = search.place(0, ())
        if held:
            return tuple((bound.name, state.index.names[at]) for bound, at in held)
    return ()


_Held = tuple[tuple[BoundPod, int], ...]


class _Placement:
    """A search over every node that the filters allow."""

    def __init__(self, needed: int, waiting: Sequence[BoundPod], among: NodeSet, state: ClusterState) -> None:
        self._needed, self._waiting, self._among, self._state = needed, waiting, among, state
        self._seen: set[object] = set()

    def place(self, number: int, held: _Held) -> _Held:
        """Return enough placed pods, from the pod of this number on; empty if that is impossible."""
        if len(held) >= self._needed:
            return held
        if len(held) + len(self._waiting) - number < self._needed or self._is_known(number, held):
            return ()
        bound = self._waiting[number]
        for position in positions(diagnose(bound.pod, self._state, self._among).feasible):
            with self._state.undone():
                placed(bound.pod, position, self._state)
                rest = self.place(number + 1, (*held, (bound, position)))
            if rest:
                return rest
        return self.place(number + 1, held)

    def _is_known(self, number: int, held: _Held) -> bool:
        kinds = self._state.classes
        key = number, tuple(sorted((kinds.of(bound.pod).number, at) for bound, at in held))
        known = key in self._seen
        self._seen.add(key)
        return known
