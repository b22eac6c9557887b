"""A timeline: workloads are deployed, then events happen; each event results in every state in which it may end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from random import Random
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.admission.admission import Admission
from kubesched_lint.engine.admission.schedulers import owner_selector
from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.pods.template import AS_IT_RUNS, written_template
from kubesched_lint.engine.controllers import deployment
from kubesched_lint.engine.controllers.daemonset import pinned_to, with_daemon_tolerations
from kubesched_lint.engine.controllers.replicaset import draws, one_draw
from kubesched_lint.engine.events.limits import MOST_FOLLOWED, MOST_WORK
from kubesched_lint.engine.events.search.explore import (
    DEFAULT_STATES,
    Draw,
    Enter,
    Exploration,
    Extra,
    as_it_is,
    explore,
    explore_by_runs,
    in_turn,
)
from kubesched_lint.engine.events.search.known_moves import KnownMoves
from kubesched_lint.engine.events.states.states import (
    DesiredState,
    PodTypes,
    State,
    empty,
    slot_of_running,
    with_hold,
    with_running,
)
from kubesched_lint.engine.events.transitions.daemons import without_orphans
from kubesched_lint.engine.events.transitions.placement_model import PlacementModel
from kubesched_lint.engine.events.transitions.transitions import Transitions
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.resources import device_class_resources
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.pods.pod_labels import controller_labels, revision_label


class Phase(Struct, frozen=True):
    """The result of one event."""

    name: str
    transitions: Transitions
    exploration: Exploration
    enter: Enter
    extra: Extra | None
    origins: dict[State, State]
    """Start of this phase → end of the previous phase."""
    sound: bool
    """Whether the exploration has every end; False as well if an earlier phase lacks one."""
    sampled: bool
    """Whether only seeded courses were run."""


def admitted(admission: Admission, workload: Workload, revision: int) -> Pod:
    """Return the pod of one revision of a workload as the API server stores it."""
    pod = admission.stored(admission.pod_of(workload), controller_labels(workload, revision), workload.source)
    return with_daemon_tolerations(pod) if workload.kind == "DaemonSet" else pod


def revision_of(workload: Workload, bound: BoundPod) -> str:
    """Return the hash that the controller gave the pods of one revision."""
    return bound.pod.labels.get(revision_label(workload), "")


class ForeignWorkload(NamedTuple):
    """Pods of one owner; equal bare pods form one workload."""

    workload: Workload
    pods: tuple[BoundPod, ...]


class Timeline:
    """Workloads on a cluster during a series of events. Every method that is an event returns its Phase.

    Events of nodes are in ``node_events``.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        objects: Inventory,
        *,
        foreseen: Iterable[Workload] = (),
        marks: Mapping[str, Hashable] | None = None,
        expected: bool = True,
        most_states: int = DEFAULT_STATES,
        runs: int = 0,
        seed: int = 0,
        kubernetes_version: str = RECORDED,
        never_ready: Collection[ObjectRef] = (),
        preempting: bool = False,
        precedence: Mapping[ObjectRef, int] | None = None,
        against: Pod | None = None,
        admission: Admission | None = None,
        index: NodeIndex | None = None,
        by_readiness: bool = False,
        by_likeness: bool = False,
    ) -> None:
        """``objects.pods`` stay where they are. ``foreseen`` are later workloads and revisions, ``marks`` the nodes
        that events will select: both distinguish nodes that look alike now. With ``runs`` > 0 there is no search, but
        this number of seeded courses. ``preempting``: waiting pods preempt others, see ``preempting``. Pods of
        ``never_ready`` workloads become ready until ``from_now_unready`` is called. ``precedence``: see Transitions,
        ``against``: see PlacementModel. ``admission`` is that of ``objects`` and ``index`` that of ``nodes``, if
        several timelines share them. ``by_readiness``: running pods that are not ready stay so; else all count as
        ready. ``by_likeness``: courses bind pods to the first of equal nodes.
        """
        resources = device_class_resources(objects.device_classes, kubernetes_version)
        self.index = NodeIndex(nodes, resources) if index is None else index
        self.unreachable = frozenset[str]()
        """The nodes that report no more: what is bound there does not run."""
        self.objects = objects
        self.admission = admission or Admission(objects, kubernetes_version)
        self.pod_types = PodTypes()
        self.desired_states: dict[int, DesiredState] = {}
        self.numbers: dict[tuple[str, str, str], int] = {}
        self.marks = dict(marks or {})
        self.expected = expected
        self.most_states = most_states
        self.runs = runs
        self.most_work = MOST_WORK
        self.is_last: Callable[[State], bool] = lambda _: False
        """Whether the courses of a phase need not be followed further after one with this end."""
        self.seed = seed
        self.version = kubernetes_version
        self.foreseen = [self.admitted(w, 0) for w in foreseen]
        self.never_ready = frozenset(never_ready)
        self._unready = False
        self.preempting = preempting
        self.precedence = dict(precedence or {})
        self.against = against
        self.by_readiness = by_readiness
        self.by_likeness = by_likeness
        self._named_devices = next((each for each in objects.allocator if not each.is_counted), None)
        self.states: tuple[State, ...] = (empty(len(self.nodes), names_devices=self._named_devices is not None),)
        self.sound = True
        self.phases: list[Phase] = []
        self._models: dict[tuple[Itself[tuple[Node, ...]], int, int], PlacementModel] = {}
        """(nodes, number of kinds of pods, place of a start) → their model."""
        self._indexes = self.index.changed if len(self.index) <= MOST_FOLLOWED else {}
        """(nodes, a change of them) → the nodes after it, the same for all forks, so that these share a model. All
        timelines on a few nodes share them."""
        self._known_moves: dict[Hashable, KnownMoves] = {}
        """A PlacementModel and desired states → the moves of all forks of this timeline."""

    def fork(self, *, apart: bool = False) -> Timeline:
        """Return a copy of the timeline so far, to continue it; ``apart``: with what other copies need not know."""
        other = copy(self)
        if apart:
            other.numbers, other._models = dict(self.numbers), dict(self._models)
            if len(self.index) > MOST_FOLLOWED:
                other._indexes = dict(self._indexes)
        other.desired_states = dict(self.desired_states)
        other.phases = list(self.phases)
        return other

    # --- set-up -----------------------------------------------------------------------------------------------------

    def admitted(self, workload: Workload, revision: int) -> Pod:
        """Return the pod of one revision as the API server stores it."""
        return admitted(self.admission, workload, revision)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.index.nodes

    def model(self, place: int = 0) -> PlacementModel:
        """Return the model of the current nodes, cached until a new kind of pod may distinguish nodes.

        It goes from state to state, so each start of seeded courses has its own, by its place.
        """
        symmetric = self.by_likeness or not self.runs
        key = (Itself(self.nodes), self.pod_types.size if symmetric else 0, place)
        known = self._models.get(key)
        if known is None:
            known = self._models[key] = PlacementModel(
                self.pod_types,
                self.index,
                self.objects,
                [self.marks.get(node.name, 0) for node in self.nodes] if symmetric else [],
                expected=self.expected,
                kubernetes_version=self.version,
                foreseen=self.foreseen,
                symmetric=symmetric,
                preempting=self.preempting,
                against=self.against,
                unreachable=self.unreachable,
            )
        return known

    def change_nodes(self, change: Hashable, after: Callable[[NodeIndex], NodeIndex]) -> None:
        """Let the nodes be those ``after`` a change, which equal keys name."""
        key = Itself(self.index), change
        if key not in self._indexes:
            self._indexes[key] = after(self.index)
        self.index = self._indexes[key]

    def start_anew(self, seed: int, runs: int, precedence: Mapping[ObjectRef, int]) -> Timeline:
        """Return a fork with courses of its own; the models forget what they decided in states of other courses."""
        other = self.fork()
        other.seed, other.runs, other.precedence = seed, runs, dict(precedence)
        for model in self._models.values():
            model.forget()
        return other

    def enter(self, workload: Workload) -> DesiredState:
        """Add a workload and return its desired state; its controller does not act yet."""
        pod = self.admitted(workload, 0)
        number = self.pod_types.join(workload, pod, owner_selector(workload, pod.labels))
        self.numbers[workload.key] = number
        desired = self.desired_states[number] = self._desired(number, 0, workload)
        return desired

    def _desired(self, number: int, revision: int, workload: Workload) -> DesiredState:
        held_up = workload.ref in self.never_ready
        return DesiredState(
            number, revision, workload.replicas, workload, unready=held_up and self._unready, each_known=held_up
        )

    def host(self, guest: ForeignWorkload) -> None:
        """Add to the start running pods of others that preemption may delete."""
        workload = guest.workload
        number = self.pod_types.join(workload, workload.pod, owner_selector(workload, workload.pod.labels))
        self.numbers[workload.key] = number
        self.desired_states[number] = DesiredState(number, 0, workload.replicas, workload, made=workload.kind == "Pod")
        (state,) = self.states
        at = {node.name: p for p, node in enumerate(self.nodes)}
        for bound in guest.pods:
            state = self._with_running(state, number, 0, bound, at.get(bound.node, -1))
        self.states = (state,)

    def _with_running(self, state: State, number: int, revision: int, bound: BoundPod, position: int) -> State:
        unready = self.by_readiness and bool(bound.node) and not bound.ready
        slot = slot_of_running(self.pod_types, number, revision, bound, unready=unready)
        devices = self._named_devices if position >= 0 and bound.node else None
        if devices is not None and devices.may_serve(bound.pod):
            from kubesched_lint.engine.events.states.device_holdings import held_by

            holding = self.pod_types.holding(held_by(bound, slot, devices))
            state = with_hold(state, position, holding, 1)
        return with_running(self.pod_types, state, slot, bound, position)

    def from_now_unready(self) -> None:
        """From now on, new pods of the ``never_ready`` workloads never become ready."""
        self._unready = True
        for number, desired in self.desired_states.items() if self.never_ready else ():
            unready = desired.spec.ref in self.never_ready
            if unready != desired.unready:
                self.desired_states[number] = desired._replace(unready=unready)

    def _transitions(self, model: PlacementModel) -> Transitions:
        if self.by_likeness:
            key = model, *self.desired_states.values()
            if key not in self._known_moves:
                self._known_moves[key] = KnownMoves(model, self.desired_states.values())
            return self._known_moves[key]
        known, states = self.precedence, self.desired_states
        precedence = {n: known[w.spec.ref] for n, w in states.items() if w.spec.ref in known} if known else {}
        return Transitions(model, states.values(), precedence)

    def run(
        self,
        name: str,
        model: PlacementModel,
        enter: Enter = as_it_is,
        extra: Extra | None = None,
        draw: Draw | None = None,
    ) -> Phase:
        """Play one event: ``enter`` yields its starts; for ``extra`` and ``draw`` see ``explore``."""
        origins: dict[State, State] = {}
        random = Random(f"{self.seed} {len(self.phases)}") if self.runs else None
        whole = True
        for state in self.states:
            starts = list(islice(enter(state), MOST_FOLLOWED if self.runs else self.most_states + 1))
            whole = whole and (bool(self.runs) or len(starts) <= self.most_states)
            for start in [random.choice(starts)] if random else starts:
                origins.setdefault(start, state)
        transitions = self._transitions(model)
        if random:
            further = range(1, len(origins) if model is self.model() else 1)
            each = [transitions, *(self._transitions(self.model(place)) for place in further)]
            limits = {"runs": self.runs, "most_work": self.most_work}
            exploration = explore_by_runs(each, list(origins), random, extra, draw, is_last=self.is_last, **limits)
        else:
            exploration = explore(transitions, origins, extra, most_states=self.most_states)
        self.sound = self.sound and whole and exploration.complete and not model.gave_up
        for number, desired in self.desired_states.items():
            if desired.spec.kind == "Pod":
                self.desired_states[number] = desired._replace(made=True)
        self.states = tuple(exploration.finals)
        phase = Phase(name, transitions, exploration, enter, extra, origins, self.sound, bool(self.runs))
        self.phases.append(phase)
        return phase

    def adopt(
        self, workload: Workload, running: Sequence[BoundPod], *, changed: bool = True, size: int | None = None
    ) -> None:
        """Add to the start a workload that already runs; ``running`` has its pods, older revisions first.

        With ``changed``, applying the workload makes a new revision; else its own revision is the last that runs.
        ``size`` is its number of replicas until it is applied; default: the number of running pods.
        """
        groups: dict[str, list[BoundPod]] = {}
        for bound in running:
            if not bound.terminating:
                key = revision_of(workload, bound)
                if not key and bound.owner is None:  # adopted: each may have a template of its own
                    key = next((k for k, g in groups.items() if same_values(g[0].pod, bound.pod)), bound.name)
                groups.setdefault(key, []).append(bound)
        if not groups:  # all of them terminate: the workload starts as a new one
            return
        ordered = list(groups.values())
        number = -1
        for r, group in enumerate(ordered):
            pod = group[0].pod
            if not changed and r == len(ordered) - 1:
                # Blame the lines of the manifest.
                written = self.admitted(workload, r)
                alike = written.requests == pod.requests
                pod = written if alike else replace(pod, path=written.path, labels_path=written.labels_path)
            owner = owner_selector(workload, pod.labels)
            if number < 0:
                number = self.pod_types.join(workload, pod, owner)
            else:
                self.pod_types.revise(number, workload, pod, owner)
        self.numbers[workload.key] = number
        revision = len(ordered) - 1
        before = sum(map(len, ordered)) if size is None else size
        live = replace(workload, replicas=before, template=AS_IT_RUNS if changed else written_template(workload))
        self.desired_states[number] = self._desired(number, revision, live)
        (state,) = self.states
        at = {node.name: p for p, node in enumerate(self.nodes)}
        for r, group in enumerate(ordered):
            for bound in group:
                position = at.get(bound.node or pinned_to(bound.pod), -1)
                state = self._with_running(state, number, r, bound, position)
        self.states = (state,)

    # --- events -----------------------------------------------------------------------------------------------------

    def deploy(self, workloads: Sequence[Workload], *, together: bool) -> Phase:
        """Apply new and running workloads, all at once or each after the previous one has settled."""
        phase = None
        for group in [workloads] if together else [[w] for w in workloads]:
            phase = self._apply("deploy", group)
        return phase or self.run("deploy", self.model())

    def rollout(self, workload: Workload) -> Phase:
        """Apply a changed object: its template if that differs, and its number of replicas."""
        return self._apply("rollout", [workload])

    def _apply(self, name: str, workloads: Sequence[Workload]) -> Phase:
        """Apply objects at one moment."""
        return self.run(name, *self.applying(workloads))

    def applying(self, workloads: Sequence[Workload]) -> tuple[PlacementModel, Enter]:
        """Apply objects and return how that changes a state. Workloads of the timeline change template and replicas."""
        known = [w for w in workloads if w.key in self.numbers]
        before = [self.desired_states[self.numbers[w.key]] for w in known]
        revisions = list(map(self._revised, known, before))
        for workload in workloads:
            if workload not in known:
                self.enter(workload)
        model = self.model()
        enters = [
            self._rescaling(model, desired, w.replicas, revision)
            for w, desired, revision in zip(known, before, revisions, strict=True)
        ]
        for workload, desired, revision in zip(known, before, revisions, strict=True):
            self.desired_states[desired.workload] = self._desired(desired.workload, revision, workload)
        return model, in_turn([enter for enter in enters if enter is not as_it_is])

    def _revised(self, workload: Workload, desired: DesiredState) -> int:
        """Return the revision that is current after the workload is applied."""
        if written_template(workload) == written_template(desired.spec):
            return desired.revision
        if (made := self.pod_types.revision_of(desired.workload, workload, after=desired.revision)) is not None:
            return made  # by a fork of this timeline
        pod = self.admitted(workload, len(self.pod_types.pods[desired.workload]))
        return self.pod_types.revise(desired.workload, workload, pod, owner_selector(workload, pod.labels))

    def scale(self, kind: str, namespace: str, name: str, replicas: int) -> Phase:
        desired = self.desired_states[self.numbers[kind, namespace, name]]
        model = self.model()
        enter = self._rescaling(model, desired, replicas, desired.revision)
        self.desired_states[desired.workload] = desired._replace(replicas=replicas)
        return self.run("scale", model, enter)

    def _rescaling(self, model: PlacementModel, desired: DesiredState, replicas: int, revision: int) -> Enter:
        """Return the change to a state: a Deployment scales before it continues a rollout (isScalingEvent).

        Without one it scales in a later move: others may be bound before. A new template makes a DaemonSet sync.
        """
        workload, number = desired.spec, desired.workload
        if workload.kind == "DaemonSet" and revision != desired.revision:
            return lambda state: iter((without_orphans(self.pod_types, state, number),))
        if workload.kind != "Deployment" or replicas == desired.replicas:
            return as_it_is
        transitions = Transitions(model, self.desired_states.values())
        among = one_draw(Random(f"{self.seed} {len(self.phases)} {number}")) if self.runs else draws

        def enter(state: State) -> Iterator[State]:
            sets = transitions.replica_sets(number, transitions.counts(state))
            rolls = any(s.revision != revision for s in sets)
            sizes = rolls and deployment.rescale(workload.strategy, desired.replicas, replicas, desired.revision, sets)
            if not sizes:
                yield state
                return
            for _, after, gone in transitions.resized(number, dict(sizes), state, among):
                yield from transitions.woken(state, after, gone)

        return enter
