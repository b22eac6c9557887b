"""A deployment tried out: all pods of the set placed by the scheduler's own filters and scores, a few times over.

What stays Pending in every trial is a witness, not a proof: other draws and orders may end otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kubesched_lint.analysis.claims import is_known, modelled_templates
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.others import Others
from kubesched_lint.analysis.pod_labels import read_labels, values_known
from kubesched_lint.analysis.setting import stays
from kubesched_lint.analysis.well_known import untold_label
from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.cluster.state import ClusterState, Placement
from kubesched_lint.controllers.daemonset import pinned, targets, with_daemon_tolerations
from kubesched_lint.controllers.statefulset import pod_with_claims
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.pod import DEFAULT_SCHEDULER, BoundPod, Pod
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import record, replace
from kubesched_lint.scheduler.binding import bind
from kubesched_lint.scheduler.framework import message
from kubesched_lint.scheduler.placement import Placer
from kubesched_lint.scheduler.preemption import preempt
from kubesched_lint.scheduler.scoring import owner_selector

SEEDS = (1, 2, 3)
_INTERCHANGEABLE = ("Deployment", "ReplicaSet", "ReplicationController")
"""Kinds that do not tell one of their pods from another."""
_MOST_EVICTIONS = 200
"""Preemptions that one trial follows."""


@record
class Waiting:
    """Pods of a workload that found no place in any trial: the fewest and the most, and the scheduler's own words.

    ``wanted`` are those that are created.
    """

    workload: Workload
    fewest: int
    most: int
    wanted: int
    message: str


@dataclass(slots=True)
class Queued:
    """``left`` pods that ask for a place; of a DaemonSet there is one entry for each node."""

    workload: Workload
    pod: Pod
    owner: Selector | None
    left: int


def pods_wanted(facts: Facts) -> int:
    """How many pods a trial would place."""
    return sum(_wanted(w, facts) for w in facts.as_created)


def waiting_everywhere(facts: Facts) -> Iterator[Waiting]:
    """Workloads with Pending pods at the end of every trial, in the set's order."""
    trials = facts.trials
    if not any(trials):
        return
    created = created_counts(facts)
    for workload in facts.manifests.workloads:
        found = [trial[id(workload)] for trial in trials if id(workload) in trial]
        if len(found) == len(trials):
            counts = [count for count, _ in found]
            yield Waiting(workload, min(counts), max(counts), created[id(workload)], found[0][1])


class Tried(NamedTuple):
    """How one trial ends, by ``id(workload)``."""

    left: dict[int, tuple[int, str]]
    """Pods left over, and what the scheduler says of the last one."""
    evicted: dict[int, tuple[BoundPod, ...]]
    """Running pods of others that its pods drove out."""


def tried(facts: Facts, seed: int) -> Tried:
    """One trial; ask ``Facts.trials`` and ``Facts.trials_evict``."""
    state = facts.at_rest.state
    mark = state.mark()
    try:
        return _Trial(facts, state, seed).run()
    finally:
        state.undo(mark)


def at_rest(facts: Facts) -> Others:
    """The running pods that are there when nothing terminates any more: of others, and of workloads that stay."""
    standing = tuple(bound for workload in facts.as_deployed for bound in _standing(workload, facts))
    return Others(facts, (*facts.lasting.pods, *standing)) if standing else facts.lasting


def _standing(workload: Workload, facts: Facts) -> Sequence[BoundPod]:
    """Pods that run and stay as they are, at most as many as are wanted; of pods with a place of their own none.

    Where the API server refuses new pods, those that run stay.
    """
    if facts.cluster is None:
        return ()
    running = facts.running_pods(workload)
    if not running:
        return ()
    there = [bound for bound in running if bound.node in facts.index.positions and not bound.terminating]
    if workload.kind not in _INTERCHANGEABLE:
        return () if facts.is_created(workload) else there
    if facts.is_created(workload) and not stays(workload, running, facts):
        return ()
    return there[: facts.replicas(workload)]


class _Trial:
    """One deployment of the set. Pods of the set that are evicted wait again; those of others are gone."""

    def __init__(self, facts: Facts, state: ClusterState, seed: int) -> None:
        self._state = state
        asking = list(_created_pods(facts))
        for one in asking:
            one.left = max(one.left - len(_standing(one.workload, facts)), 0)
        self._queue = [(one, Placer(one.pod, state, one.owner, seed=seed)) for one in asking]
        self._placed: dict[int, tuple[Placement, Queued]] = {}
        self._of_others = {id(bound) for bound in facts.other_pods}
        self._evicted: dict[int, list[BoundPod]] = {}
        self._asked_at: dict[int, int] = {}

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
        return Tried(left, {key: tuple(pods) for key, pods in self._evicted.items()})

    def _place(self) -> None:
        progress = True
        while progress:
            progress = False
            for one, placer in self._queue:
                if not one.left or self._asked_at.get(id(one)) == self._state.mark():
                    continue  # nothing has changed since it found no place
                for placement in placer.place_all(one.left):
                    self._note(placement, one)
                    progress = True
                self._asked_at[id(one)] = self._state.mark()

    def _evict(self) -> bool:
        """Whether a pod that waits took the place of others."""
        for one, placer in self._queue:
            chosen = preempt(one.pod, placer.diagnosis(), self._state).chosen if one.left else None
            if chosen is not None and chosen.is_freed:
                for victim in chosen.victims:
                    self._state.remove(victim)
                    _, owner = self._placed.pop(id(victim), (victim, None))
                    if owner is not None:
                        owner.left += 1
                    elif victim.bound is not None and id(victim.bound) in self._of_others:
                        self._evicted.setdefault(id(one.workload), []).append(victim.bound)
                self._note(bind(one.pod, chosen.position, self._state), one)
                return True
        return False

    def _note(self, placement: Placement, one: Queued) -> None:
        one.left -= 1
        self._placed[id(placement)] = placement, one


def created_counts(facts: Facts) -> dict[int, int]:
    """``id(workload)`` → how many of its pods the API server creates when the set is created in apply order."""
    wanted = [(workload, _wanted(workload, facts)) for workload in facts.as_created]
    counts = [count for _, count in wanted]
    if facts.objects.quotas:
        from kubesched_lint.analysis.quota_demand import granted

        counts = granted(wanted, facts)
    return {id(workload): count for (workload, _), count in zip(wanted, counts, strict=True)}


def _created_pods(facts: Facts) -> Iterator[Queued]:
    """The pods of the whole set that the scheduler is given."""
    counts = created_counts(facts)
    for workload in facts.as_created:
        left = counts[id(workload)]
        for one in queued_pods(workload, facts):
            one.left = min(one.left, left)
            left -= one.left
            yield one


def queued_pods(workload: Workload, facts: Facts) -> Iterator[Queued]:
    """What the scheduler is given: nothing of pods that it never sees, and of Jobs, whose pods end."""
    pod = _scheduled(facts.pod(workload), workload, facts)
    if pod is None or not values_known(workload.pod):
        return
    if workload.kind == "DaemonSet":
        pod = with_daemon_tolerations(pod)
        for position in positions(_daemon_nodes(workload, facts)):
            yield Queued(workload, pinned(pod, facts.index.names[position]), None, 1)
    elif workload.kind == "StatefulSet" and (facts.varying_labels or modelled_templates(workload, facts)):
        known = replace(workload, claim_templates=modelled_templates(workload, facts))
        for ordinal in range(facts.replicas(workload)):
            own = facts.pod_of_ordinal(workload, ordinal) if facts.varying_labels else pod
            each = _scheduled(own, workload, facts)
            if each is not None:
                claiming = pod_with_claims(known, each, ordinal)
                yield Queued(workload, claiming, owner_selector(workload, each.labels), 1)
    elif workload.stays:
        yield Queued(workload, pod, owner_selector(workload, pod.labels), facts.replicas(workload))


def scheduled_pod(workload: Workload, facts: Facts) -> Pod | None:
    """A pod as far as we know where its volumes bind; None for one that the scheduler never sees.

    None also where it asks for a label that differs between pods of one workload: no pod stands for all of them then.
    """
    pod = facts.pod(workload)
    return None if read_labels((workload.pod,)) else _scheduled(pod, workload, facts)


def _scheduled(pod: Pod, workload: Workload, facts: Facts) -> Pod | None:
    pod = _with_known_volumes(pod, workload, facts)
    if untold_label(pod, facts):
        return None  # whether any node matches is unknown
    seen = not pod.node_name and not pod.scheduling_gates and pod.scheduler_name == DEFAULT_SCHEDULER
    return pod if seen else None


def _with_known_volumes(pod: Pod, workload: Workload, facts: Facts) -> Pod:
    known = tuple(v for v in pod.volumes if is_known(facts, workload, v))
    return pod if len(known) == len(pod.volumes) else replace(pod, volumes=known)


def _wanted(workload: Workload, facts: Facts) -> int:
    if workload.kind == "DaemonSet":
        return _daemon_nodes(workload, facts).bit_count()
    return facts.replicas(workload) if workload.stays else 0


def _daemon_nodes(workload: Workload, facts: Facts) -> NodeSet:
    """Nodes for which its controller makes a pod; resources and other pods do not matter to it."""
    return targets(with_daemon_tolerations(facts.pod(workload)), facts.index)[0]
