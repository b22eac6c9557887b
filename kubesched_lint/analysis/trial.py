"""Trials of a deployment: all pods of the set are placed by the scheduler's filters and scores, several times.

A pod that stays Pending in every trial is a witness, not a proof: other random choices and orders may end differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from kubesched_lint.admission.schedulers import owner_selector
from kubesched_lint.analysis.wanted import lasting_pods_wanted
from kubesched_lint.analysis.well_known import unknown_nodes
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, only, positions
from kubesched_lint.cluster.state import ClusterState, Placement
from kubesched_lint.hints import TypeVar
from kubesched_lint.lifecycle.hints import ANYWHERE, Hopeless
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.pod import BoundPod, Pod, knows_scheduler
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import Record, replace
from kubesched_lint.scheduler.binding import bind, bind_each
from kubesched_lint.scheduler.framework import Diagnosis, diagnose, message
from kubesched_lint.scheduler.placement import Placer
from kubesched_lint.scheduler.preemption import Preemption, preempt
from kubesched_lint.world.claims import is_known, modelled_templates
from kubesched_lint.world.pod_labels import read_labels, values_known
from kubesched_lint.world.running import RunningPods, lasting_pods
from kubesched_lint.world.world import Member, World, once_per_world

T = TypeVar("T")

SEEDS = (1, 2, 3)
_INTERCHANGEABLE = ("Deployment", "ReplicaSet", "ReplicationController")
"""Kinds whose pods are interchangeable."""
_MOST_EVICTIONS = 200
"""Most preemptions in one trial."""


class Waiting(Record):
    """Pods of a workload without a place: the fewest and the most of all trials, and the scheduler's message.

    ``wanted`` is the number of created pods.
    """

    workload: Workload
    fewest: int
    most: int
    wanted: int
    message: str


class Queued:
    """``left`` pods that need a place; a DaemonSet has one entry per node."""

    __slots__ = ("left", "owner", "pod", "workload")

    def __init__(self, workload: Workload, pod: Pod, owner: Selector | None, left: int) -> None:
        self.workload = workload
        self.pod = pod
        self.owner = owner
        self.left = left


def waiting_everywhere(world: World) -> Iterator[Waiting]:
    """Yield workloads with Pending pods at the end of every trial, in the set's order."""
    if not all(one.left for one in each_trial(world)):
        return
    trials, created = trials_of(world), created_counts(world)
    for workload in world.manifests.workloads:
        found = [trial[id(workload)] for trial in trials if id(workload) in trial]
        if len(found) == len(trials):
            counts = [count for count, _ in found]
            yield Waiting(workload, min(counts), max(counts), created[id(workload)], found[0][1])


class Tried(Record):
    """The end of one trial, by ``id(workload)``."""

    left: dict[int, tuple[int, str]]
    """Number of Pending pods, and the scheduler's message about the last one."""
    evicted: dict[int, tuple[BoundPod, ...]]
    """Running pods of others that its pods preempted."""
    is_idle: bool = False
    """No pod found a place. The seed breaks ties between places, so with any other it is the same."""


def each_trial(world: World) -> Iterator[Tried]:
    """Yield the trials, and run each when it is asked for: whoever looks for what all of them show may need one."""
    known = _tried(world)
    for number, seed in enumerate(SEEDS):
        if number == len(known):
            known.append(known[0] if known and known[0].is_idle else tried(world, seed))
        yield known[number]


@once_per_world
def _tried(world: World) -> list[Tried]:
    """Return the trials that somebody has asked for."""
    return []


def trials_of(world: World) -> tuple[dict[int, tuple[int, str]], ...]:
    """For each seed, the whole set placed: ``id(workload)`` → number of Pending pods, and why."""
    return tuple(one.left for one in each_trial(world))


def evicted_in_trials(world: World) -> tuple[dict[int, tuple[BoundPod, ...]], ...]:
    """For each seed: ``id(workload)`` → running pods of others that its pods preempt."""
    return tuple(one.evicted for one in each_trial(world))


def tried(world: World, seed: int) -> Tried:
    """Run one trial. Rules use ``trials_of`` and ``evicted_in_trials``."""
    return tried_and_read(world, seed, lambda state: None)[0]


def tried_and_read(
    world: World, seed: int, read: Callable[[ClusterState], T], *, daemons_first: bool = False
) -> tuple[Tried, T]:
    """Run one trial, and return with it what ``read`` returns for the state at its end.

    With ``daemons_first``, DaemonSets come before all others, each on all its nodes at once: one diagnosis for each
    DaemonSet, not for each of its pods.
    """
    state = at_rest(world).state
    mark = state.mark()
    try:
        if daemons_first:
            _place_daemons(world, state)
        return _Trial(world, state, seed, without_daemons=daemons_first).run(), read(state)
    finally:
        state.undo(mark)


def _place_daemons(world: World, state: ClusterState) -> None:
    """Bind the pods of each DaemonSet to its nodes that have room for them."""
    from kubesched_lint.controllers.daemonset import with_daemon_tolerations

    for workload in world.as_created:
        it = world.member(workload)
        pod = _scheduled(it.pod, it) if workload.kind == "DaemonSet" else None
        if pod is not None:
            pod = with_daemon_tolerations(pod)
            bind_each(pod, it.daemon_nodes & diagnose(pod, state).feasible, state)


@once_per_world
def _ids_of_others(world: World) -> frozenset[int]:
    return frozenset(map(id, world.other_pods))


@once_per_world
def at_rest(world: World) -> RunningPods:
    """The running pods after all terminating ones are gone: those of others, and those of the set that stay."""
    standing = tuple(bound for workload in world.as_deployed for bound in _standing(world.member(workload)))
    return RunningPods(world, (*lasting_pods(world).pods, *standing)) if standing else lasting_pods(world)


def _standing(it: Member) -> Sequence[BoundPod]:
    """Running pods that stay, at most as many as wanted; none for kinds whose pods are not interchangeable.

    If the API server refuses new pods, the running ones stay.
    """
    if it.world.cluster is None:
        return ()
    running = it.running_pods
    if not running:
        return ()
    there = [bound for bound in running if bound.node in it.world.index.positions and not bound.terminating]
    if it.workload.kind not in _INTERCHANGEABLE:
        return () if it.is_created else there
    if it.is_created:
        from kubesched_lint.analysis.rollout import stays

        if not stays(it, running):
            return ()
    return there[: it.replicas]


class _Trial:
    """One deployment of the set. Evicted pods of the set wait again; evicted pods of others are gone."""

    def __init__(self, world: World, state: ClusterState, seed: int, *, without_daemons: bool) -> None:
        self._state = state
        asking = [one for one in _created_pods(world) if not (without_daemons and one.workload.kind == "DaemonSet")]
        for one in asking:
            one.left = max(one.left - len(_standing(world.member(one.workload))), 0)
        self._queue = [(one, Placer(one.pod, state, one.owner, seed=seed)) for one in asking]
        self._placed: dict[int, tuple[Placement, Queued]] = {}
        self._world = world
        self._evicted: dict[int, list[BoundPod]] = {}
        self._changed: list[int] = []
        """Positions of nodes to which pods came or from which they went, in order; its length is the time."""
        self._found: dict[int, tuple[int, Diagnosis]] = {}
        """Place in the queue → time and result of the last diagnosis."""
        self._waits = Hopeless(state)
        """Places in the queue of pods that found no node."""
        self._hopeless: dict[int, tuple[int, NodeSet]] = {}
        """Place in the queue → time of the last dry run of a preemption, and the nodes on which it was hopeless."""

    def run(self) -> Tried:
        self._place()
        for _ in range(_MOST_EVICTIONS):
            if not self._evict():
                break
            self._place()
        left: dict[int, tuple[int, str]] = {}
        for one, placer in self._queue:
            if one.left:
                before, _ = left.get(id(one.workload), (0, ""))
                left[id(one.workload)] = (before + one.left, message(placer.diagnosis()))
        return Tried(left, {key: tuple(pods) for key, pods in self._evicted.items()}, is_idle=not self._changed)

    def _place(self) -> None:
        """Try the pods in the order of the queue, again and again, until none finds a node."""
        turn = [n for n, (one, _) in enumerate(self._queue) if one.left and not self._waits.has(n, ANYWHERE)]
        progress = True
        while progress:
            progress, later = False, []
            heapify(turn)
            while turn:
                number = heappop(turn)
                one, placer = self._queue[number]
                while one.left:
                    found = self._diagnosis(number)
                    position = placer.choose(found) if found.feasible else None
                    if position is None:
                        if not self._waits.add(number, one.pod, ANYWHERE, found):
                            later.append(number)
                        break
                    progress = True
                    for woken in self._note(bind(one.pod, position, self._state), one):
                        if woken > number:
                            heappush(turn, woken)
                        else:
                            later.append(woken)
            turn = later

    def _diagnosis(self, number: int) -> Diagnosis:
        now = len(self._changed)
        if self._found.get(number, (-1,))[0] != now:
            self._found[number] = now, self._queue[number][1].diagnosis()
        return self._found[number][1]

    def _evict(self) -> bool:
        """Let one waiting pod preempt others. Return whether one did."""
        for number, (one, _) in enumerate(self._queue):
            chosen = self._preemption(number).chosen if one.left else None
            if chosen is not None and chosen.is_freed:
                for victim in chosen.victims:
                    self._remove(victim, one)
                self._note(bind(one.pod, chosen.position, self._state), one)
                return True
        return False

    def _preemption(self, number: int) -> Preemption:
        """The result of a dry run that leaves out the nodes where the last one was hopeless and nothing has changed."""
        then, hopeless = self._hopeless.get(number, (0, EMPTY))
        for position in set(self._changed[then:]) if hopeless else ():
            hopeless &= ~only(position)
        found = preempt(self._queue[number][0].pod, self._diagnosis(number), self._state, hopeless=hopeless)
        self._hopeless[number] = len(self._changed), found.hopeless
        return found

    def _remove(self, victim: Placement, by: Queued) -> None:
        self._state.remove(victim)
        self._waits.goes(victim.position)
        self._changed.append(victim.position)
        _, owner = self._placed.pop(id(victim), (victim, None))
        if owner is not None:
            owner.left += 1
        elif victim.bound is not None and id(victim.bound) in _ids_of_others(self._world):
            self._evicted.setdefault(id(by.workload), []).append(victim.bound)

    def _note(self, placement: Placement, one: Queued) -> Sequence[int]:
        """Record a pod that was bound. Return the places in the queue of pods to which it may open a node."""
        one.left -= 1
        self._placed[id(placement)] = placement, one
        self._changed.append(placement.position)
        return self._waits.comes(one.pod, placement.position)


@once_per_world
def created_counts(world: World) -> Mapping[int, int]:
    """``id(workload)`` → number of its pods that the API server creates if the set is created in apply order."""
    wanted = [(workload, lasting_pods_wanted(world.member(workload))) for workload in world.as_created]
    counts = [count for _, count in wanted]
    if world.objects.quotas:
        from kubesched_lint.analysis.quota_demand import granted

        counts = granted(wanted, world)
    return {id(workload): count for (workload, _), count in zip(wanted, counts, strict=True)}


def _created_pods(world: World) -> Iterator[Queued]:
    """Yield the pods of the whole set that reach the scheduler."""
    counts = created_counts(world)
    for workload in world.as_created:
        left = counts[id(workload)]
        for one in queued_pods(world.member(workload)):
            one.left = min(one.left, left)
            left -= one.left
            yield one


def queued_pods(it: Member) -> Iterator[Queued]:
    """Yield the workload's pods that reach the scheduler; none for Jobs, whose pods end."""
    pod = _scheduled(it.pod, it)
    if pod is None or not values_known(it.workload.pod):
        return
    if it.workload.kind == "DaemonSet":
        from kubesched_lint.controllers.daemonset import pinned, with_daemon_tolerations

        pod = with_daemon_tolerations(pod)
        for position in positions(it.daemon_nodes):
            yield Queued(it.workload, pinned(pod, it.world.index.names[position]), None, 1)
    elif it.workload.kind == "StatefulSet" and (it.world.varying_labels or modelled_templates(it)):
        from kubesched_lint.controllers.statefulset import pod_with_claims

        known = replace(it.workload, claim_templates=modelled_templates(it))
        for ordinal in range(it.replicas):
            own = it.pod_of_ordinal(ordinal) if it.world.varying_labels else pod
            each = _scheduled(own, it)
            if each is not None:
                claiming = pod_with_claims(known, each, ordinal)
                yield Queued(it.workload, claiming, owner_selector(it.workload, each.labels), 1)
    elif it.workload.stays:
        yield Queued(it.workload, pod, owner_selector(it.workload, pod.labels), it.replicas)


def scheduled_pod(it: Member) -> Pod | None:
    """A pod with only the volumes whose binding is known; None if the scheduler never sees it.

    Also None if it selects a label that differs between pods of the workload: then no pod represents all of them.
    """
    pod = it.pod
    return None if read_labels((it.workload.pod,)) else _scheduled(pod, it)


def _scheduled(pod: Pod, it: Member) -> Pod | None:
    pod = _with_known_volumes(pod, it)
    if unknown_nodes(pod, it.world):
        return None  # whether any node matches is unknown
    seen = not pod.node_name and not pod.scheduling_gates and knows_scheduler(pod)
    return pod if seen else None


def _with_known_volumes(pod: Pod, it: Member) -> Pod:
    known = tuple(v for v in pod.volumes if is_known(it, v))
    return pod if len(known) == len(pod.volumes) else replace(pod, volumes=known)
