"""One set of nodes and a scheduler: for any State, compute where a waiting pod may land.

Two modes: *expected* is the default profile, which picks a node with the highest total score, or any feasible node
where it scores only a sample (100 nodes and more). *Proof* is any scheduler that respects the filters. With
``against``, the pod of a workload, the scheduler always picks the feasible node that keeps such pods waiting the most.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import cached_property
from random import Random

from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.cluster.pods.known_pods import KnownPods
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.controllers.daemonset import pinned
from kubesched_lint.engine.controllers.statefulset import pod_with_claims
from kubesched_lint.engine.events.limits import MOST_FOLLOWED
from kubesched_lint.engine.events.states.pods_by_node import PodsByNode, differing
from kubesched_lint.engine.events.states.states import DesiredState, Held, PodTypes, State
from kubesched_lint.engine.events.states.storage_objects import keys_read, nodes_named
from kubesched_lint.engine.events.states.symmetry import Symmetry
from kubesched_lint.engine.events.transitions.adverse import worst
from kubesched_lint.engine.events.transitions.daemons import Daemons
from kubesched_lint.engine.events.transitions.devices import followed
from kubesched_lint.engine.events.transitions.hints import UnschedulableCache, may_help, may_miss, may_repel_unseen
from kubesched_lint.engine.events.transitions.preempting import Preemption, any_eviction, evictions
from kubesched_lint.engine.events.transitions.stored_volumes import StoredVolumes
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.scheduler.binding import bind, placed
from kubesched_lint.engine.scheduler.framework import Diagnosis, diagnose
from kubesched_lint.engine.scheduler.placement import is_sampled
from kubesched_lint.engine.scheduler.preemption.eviction import preempting_priority
from kubesched_lint.engine.scheduler.scoring import Scoring


class PlacementModel:
    """Where pods go in any state that it is asked about: results depend on the arguments only.

    Inside, one mutable ClusterState moves from State to State.
    """

    def __init__(
        self,
        pod_types: PodTypes,
        index: NodeIndex,
        objects: Inventory,
        marks: Sequence[Hashable] = (),
        *,
        expected: bool = True,
        kubernetes_version: str = RECORDED,
        foreseen: Sequence[Pod] = (),
        symmetric: bool = True,
        preempting: bool = False,
        against: Pod | None = None,
        unreachable: Collection[str] = (),
    ) -> None:
        """``objects.pods`` stay where they are. ``marks`` are differences between nodes that no label shows;
        ``foreseen`` are later pods, which may distinguish nodes that look alike now. ``against``: see above."""
        self.pod_types = pod_types
        self.index = index
        self.objects = objects
        self.expected = expected
        self.against = against
        self.unreachable = index.named(unreachable)
        """The nodes that report no more."""
        self.preempting = preempting
        """Whether a pod that fits nowhere may preempt others."""
        self.gave_up = False
        """Whether some preemption has too many outcomes to try."""
        self.cluster = ClusterState(index, objects, kubernetes_version=kubernetes_version, known=KnownPods.of(objects))
        self.devices = followed(self.cluster, pod_types, self.pod, every=symmetric and not expected)
        if symmetric and self.devices.are_apart:
            pods = [pod for revisions in pod_types.pods for pod in revisions]
            self.symmetry = Symmetry(
                index,
                [*pods, *foreseen, *(b.pod for b in objects.pods)],
                [
                    (mark, self._residents(p), self._storage_at(p), self.devices.announced(p))
                    for p, mark in enumerate(marks or [0] * len(index))
                ],
            )
        else:
            self.symmetry = Symmetry.none(len(index))
        self.standing = PodsByNode(pod_types, len(index))
        self._daemons: dict[int, Daemons] = {}
        self._stored = StoredVolumes(pod_types, self.cluster.storage)
        self._shown: tuple[Held, ...] = ((),) * len(index)
        self._shown_volumes: object = None
        self._shown_last: tuple[State | None, int] = None, 0
        """The last state and the number of slots then: most questions are about the same state as the one before."""
        self._placed: dict[tuple[int, int], list[Placement]] = {}
        """(slot, position) → the pods shown there."""
        self._taken: dict[tuple[int, int], list[Placement]] = {}
        """The same for pods that were shown there: they may come back as they are."""
        self._pods: dict[tuple[int, int], Pod] = {}
        self._kinds: dict[int, int] = {}
        """Slot → one slot for all whose pods the scheduler cannot distinguish."""
        self._scoring: dict[Pod, Scoring] = {}
        self._candidate_nodes: dict[Hashable, tuple[int, ...]] = {}
        self._bound: dict[tuple[Held, ...], int] = {}
        """Bound pods of a state → a number for them: to compare these is slow."""
        self._bound_last: tuple[tuple[Held, ...], int] = (), -1
        self._hopeless = UnschedulableCache(self.cluster)
        """Valid for the shown state."""
        self._evictions: dict[Hashable, tuple[Preemption, ...]] = {}
        self._can_miss: dict[tuple[int, int], bool] = {}
        """(workload, revision) → whether its pods can miss the event that would let them run."""
        self._in_vain: dict[int, set[int]] = {}
        """Kind → positions of pods that no eviction helps: until any pod leaves, or one comes for which the affinity or
        the spread of the kind asks."""
        self.decisions = 0

    def _residents(self, position: int) -> Hashable:
        numbers: dict[int, int] = {}
        for placement in self.cluster.pods_on(position):
            number = placement.pod_class.number
            numbers[number] = numbers.get(number, 0) + 1
        return tuple(sorted(numbers.items()))

    def _storage_at(self, position: int) -> Hashable:
        """Return the facts about a node that volumes, classes and drivers read."""
        node = self.index.nodes[position]
        own = (c for c in self.objects.csi_nodes if c.name == node.name)
        drivers = tuple((frozenset(c.limits.items()), frozenset(c.drivers.items())) for c in own)
        read = tuple((key, node.labels.get(key)) for key in self._storage_keys)
        return read, drivers, node.name if node.name in self._named_by_storage else ""

    @cached_property
    def _makes_volumes(self) -> bool:
        """Whether a volume may be provisioned where some pod lands: only that node's domain can reach it."""
        pods = (pod for revisions in self.pod_types.pods for pod in revisions)
        templates = any(w.claim_templates for revisions in self.pod_types.revisions for w in revisions)
        return templates or any(volume.claim for pod in pods for volume in pod.volumes)

    @cached_property
    def _storage_keys(self) -> tuple[str, ...]:
        return keys_read(self.objects, makes_volumes=self._makes_volumes)

    @cached_property
    def _named_by_storage(self) -> frozenset[str]:
        return nodes_named(self.objects)

    def may_miss(self) -> bool:
        """Whether a waiting pod can miss the event that would let it run."""
        known, joined = self.pod_types.missing, self.pod_types.joined
        if known.asked < len(joined):
            fresh = joined[known.asked :]
            known.may = known.may or may_miss(fresh, self.cluster)
            known.unseen = known.unseen or any(may_repel_unseen(pod, self.cluster) for pod in fresh)
            known.asked = len(joined)
        return known.may

    def can_miss(self, slot: int, position: int = -1) -> bool:
        """Whether pods of a slot can miss the event that would let them run."""
        if not self.may_miss() or self.pod_types.missing.unseen:
            return self.pod_types.missing.may
        workload, revision, _ = self.pod_types.slots[slot]
        key = workload, revision
        if key not in self._can_miss:
            self._can_miss[key] = may_miss([self.pod(slot, position)], self.cluster)
        return self._can_miss[key]

    def daemons(self, desired: DesiredState) -> Daemons:
        """Return one DaemonSet on these nodes, cached while its desired state stays the same object."""
        daemons = self._daemons.get(desired.workload)
        if daemons is None or daemons.desired is not desired:
            daemons = Daemons(self.pod_types, self.index, self.symmetry, desired, self.unreachable)
            self._daemons[desired.workload] = daemons
        return daemons

    # --- pods -------------------------------------------------------------------------------------------------------

    def pod(self, slot: int, position: int = -1) -> Pod:
        """Return the pod of a slot; ``position`` is the node that a DaemonSet's pod is made for."""
        key = (slot, position)
        pod = self._pods.get(key)
        if pod is None:
            pod = self._pods[key] = self._make_pod(slot, position)
        return pod

    def _make_pod(self, slot: int, position: int) -> Pod:
        workload, revision, ordinal = self.pod_types.slots[slot]
        pod = self.pod_types.pods[workload][revision]
        if position >= 0:
            return pinned(pod, self.index.names[position])
        made = self.pod_types.pods_of_slots.get(slot)
        if made is None:
            made = pod_with_claims(self.pod_types.revisions[workload][revision], pod, ordinal) if ordinal >= 0 else pod
            self.pod_types.pods_of_slots[slot] = made
        return made

    def _same_decision(self, slot: int) -> int:
        """Return one slot number for all slots whose pods the scheduler cannot distinguish."""
        kind = self._kinds.get(slot)
        if kind is None:
            workload, revision, ordinal = self.pod_types.slots[slot]
            is_like_others = ordinal != -1 and not self.pod_types.revisions[workload][revision].claim_templates
            kind = self._kinds[slot] = self.pod_types.slot(workload, revision, 0 if is_like_others else ordinal)
        return kind

    def forget(self) -> None:
        """Forget the decisions in all states: they take memory, and other courses meet other states."""
        self._candidate_nodes.clear()
        self._evictions.clear()
        self._bound.clear()
        self._bound_last = (), -1

    # --- deciding ---------------------------------------------------------------------------------------------------

    def may_run(self, state: State, slot: int, position: int = -1) -> bool:
        """Return whether a waiting pod of the slot has a candidate node; which one the scheduler prefers costs more."""
        kind = self._same_decision(slot)
        if self._waits_on(state, kind, position):
            return False
        known = self._candidate_nodes.get(self._key(state, kind, position))
        return bool(self._feasible(state, slot, position).feasible if known is None else known)

    def candidate_nodes(self, state: State, slot: int, position: int = -1) -> tuple[int, ...]:
        """Return the node positions where a waiting pod of the slot may be bound next; empty if it keeps waiting."""
        kind = self._same_decision(slot)
        if self._waits_on(state, kind, position):
            return ()
        if len(self.index) > MOST_FOLLOWED:
            return self._decide(state, slot, position)
        key = self._key(state, kind, position)
        candidates = self._candidate_nodes.get(key)
        if candidates is None:
            candidates = self._candidate_nodes[key] = self._decide(state, slot, position)
        return candidates

    def _key(self, state: State, kind: int, position: int) -> tuple[Hashable, ...]:
        """Return everything that decides where a waiting pod of a kind may go."""
        if state.bound is not self._bound_last[0]:
            self._bound_last = state.bound, self._bound.setdefault(state.bound, len(self._bound))
        return kind, position, self._bound_last[1], state.volumes, self.devices.beside_counts(state)

    def _waits_on(self, state: State, kind: int, position: int) -> bool:
        """Whether no node took a waiting pod before, and nothing has happened since that may help it."""
        if not self._hopeless.has(kind, position):
            return False
        self.show(state)  # this drops outdated entries of _hopeless
        return self._hopeless.has(kind, position)

    def _feasible(self, state: State, slot: int, position: int) -> Diagnosis:
        self.decisions += 1
        self.show(state)
        pod = self.pod(slot, position)
        diagnosis = diagnose(pod, self.cluster)
        if not diagnosis.feasible:
            self._hopeless.add(self._same_decision(slot), pod, position, diagnosis)
        return diagnosis

    def _decide(self, state: State, slot: int, position: int) -> tuple[int, ...]:
        diagnosis = self._feasible(state, slot, position)
        pod, feasible = self.pod(slot, position), diagnosis.feasible
        if self.against is not None and feasible & (feasible - 1):
            return (worst(feasible, self.against, self.cluster),)
        if not self.expected or not feasible & (feasible - 1) or is_sampled(diagnosis):
            return tuple(positions(feasible))
        scoring = self._scoring.get(pod)
        if scoring is None:
            workload, revision, _ = self.pod_types.slots[slot]
            owner = self.pod_types.owners[workload][revision]
            scoring = self._scoring[pod] = Scoring(pod, self.cluster, owner)
        return tuple(positions(scoring.scores(feasible).best))

    def evictions(self, state: State, slot: int, position: int = -1) -> tuple[Preemption, ...]:
        """Return the preemptions that a waiting pod without candidate nodes may cause."""
        key = self._key(state, self._same_decision(slot), position)
        preemptions = self._evictions.get(key)
        if preemptions is None:
            preemptions = self._evictions[key] = self._evict(state, slot, position)
        return preemptions

    def any_eviction(
        self,
        state: State,
        slot: int,
        position: int,
        budgets: Callable[[], Sequence[tuple[DisruptionBudget, int]]],
        random: Random,
    ) -> Preemption | None:
        """Return a random one of the preemptions that a course follows; None if there is none."""
        pod = self.pod(slot, position)
        if not self._may_preempt(pod):
            return None
        self.show(state)
        kind = self._same_decision(slot)
        if position in self._in_vain.get(kind, ()):
            return None
        resolvable = self._resolvable(state, slot, position)
        eviction = any_eviction(pod, resolvable, self._standing(state), self.cluster, budgets(), random)
        if eviction is None:
            self._in_vain.setdefault(kind, set()).add(position)
        return eviction

    def _may_preempt(self, pod: Pod) -> bool:
        """Whether a waiting pod may preempt any pod that a course or a search knows."""
        return self.preempting and preempting_priority(pod) > self.pod_types.lowest

    def _resolvable(self, state: State, slot: int, position: int) -> NodeSet:
        """Return the nodes where preemption may help a waiting pod."""
        diagnosis = self.diagnosis(state, slot, position)
        helps = self.pod(slot, position).preemption_policy != "Never" and not diagnosis.waits_for
        return diagnosis.resolvable if helps and diagnosis.refusal is None and not diagnosis.feasible else 0

    def _standing(self, state: State) -> Mapping[int, Sequence[tuple[int, Placement]]]:
        return {
            p: [(s, placement) for s, _ in held for placement in self._placed[s, p]]
            for p, held in enumerate(state.bound)
        }

    def _evict(self, state: State, slot: int, position: int) -> tuple[Preemption, ...]:
        resolvable = self._resolvable(state, slot, position) if self._may_preempt(self.pod(slot, position)) else 0
        if not resolvable:
            return ()
        options = evictions(self.pod(slot, position), resolvable, self._standing(state), self.cluster)
        if options is None:
            self.gave_up = True
            return ()
        return tuple(options)

    def diagnosis(self, state: State, slot: int, position: int = -1) -> Diagnosis:
        """Return why a waiting pod of the slot fits where it does, or nowhere."""
        self.show(state)
        return diagnose(self.pod(slot, position), self.cluster)

    # --- showing ----------------------------------------------------------------------------------------------------

    def show(self, state: State) -> None:
        """Move the cluster to a state by applying the difference from the state shown before."""
        slots = len(self.pod_types.slots)
        if state is self._shown_last[0] and slots == self._shown_last[1]:
            return
        if state.bound is not self._shown:
            changed = list(differing(self._shown, state.bound))
            # may raise, so it comes before any change
            for position in changed:
                self._take_away(position, self._shown[position], dict(state.bound[position]))
            self.devices.show_none_away()
            for position in changed:
                self._bring(position, dict(self._shown[position]), state.bound[position])
            self._shown = state.bound
        self.devices.show(state)
        wanted = (state.volumes, slots)
        if wanted != self._shown_volumes:
            self.cluster.storage = self._stored.of(state)
            self._shown_volumes = wanted
        self._shown_last = state, slots

    def _take_away(self, position: int, before: Held, after: Mapping[int, int]) -> None:
        for slot, count in before:
            left = after.get(slot, 0)
            if left >= count:
                continue
            placements = self._placed[slot, position]
            while len(placements) > left:
                gone = placements.pop()
                self._hopeless.goes(position)
                self._in_vain.clear()
                self.cluster.remove(gone)
                if not gone.holder:
                    self._taken.setdefault((slot, position), []).append(gone)

    def _bring(self, position: int, before: Mapping[int, int], wanted: Held) -> None:
        for slot, count in wanted:
            if count <= before.get(slot, 0):
                continue
            placements = self._placed.setdefault((slot, position), [])
            taken = self._taken.get((slot, position))
            for _ in range(count - len(placements)):
                if taken:
                    placement = taken.pop()
                    self.cluster.restore(placement)
                else:
                    pod: Pod | BoundPod = self.pod(slot)
                    if self.pod_types.terminating[slot]:
                        pod = BoundPod("", "", self.pod(slot), terminating=True)
                    placement = placed(pod, position, self.cluster, allocates=self.devices.are_counted)
                placements.append(placement)
                self._hopeless.comes(placement.pod, position)
                if self._in_vain:
                    for kind in [kind for kind in self._in_vain if may_help(placement.pod, self.pod(kind))]:
                        del self._in_vain[kind]

    def volumes_after(self, state: State, slot: int, position: int) -> tuple[tuple[str, str, int], ...]:
        """Return the volumes of the state after a pod of the slot is bound to a node."""
        pod = self.pod(slot)
        if not pod.volumes:
            return state.volumes
        self.show(state)
        before = self.cluster.storage
        with self.cluster.undone():
            bind(pod, position, self.cluster)
            after = self.cluster.storage
        if after is before:
            return state.volumes
        fresh = [
            (claim.namespace, claim.name, self.pod_types.volume(after.volumes[claim.volume_name]))
            for key, claim in after.claims.items()
            if claim is not before.claims.get(key)
        ]
        return tuple(sorted((*state.volumes, *fresh)))
