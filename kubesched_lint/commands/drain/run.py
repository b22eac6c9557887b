"""``drain``: compute the waves in which nodes can be drained, or the obstacles, from a cluster and manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.drain.nodes import targets_of, zone_by_zone
from kubesched_lint.commands.drain.obstacles import certain_obstacles, condition_of, found_in, returning
from kubesched_lint.commands.drain.plan import (
    BY_DEFAULT,
    DEPENDS,
    IMPOSSIBLE,
    POSSIBLE,
    PROVEN,
    SIMULATED,
    TODAY,
    UNKNOWN,
    DrainPlan,
    Obstacle,
)
from kubesched_lint.commands.drain.relaxing import BUDGET, FINALIZER, REFUSED, without, workloads
from kubesched_lint.commands.drain.replay import Played, Replay, Rules, Wave, Waves
from kubesched_lint.commands.drain.room import Room
from kubesched_lint.commands.drain.running_cluster import RunningCluster, unmodelled_controllers
from kubesched_lint.commands.drain.search import Fewest, greedy
from kubesched_lint.commands.drain.smallest import Smallest, where_it_ends
from kubesched_lint.commands.drain.telling import bad_course, played_waves
from kubesched_lint.commands.limits import MOST_TARGETS
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS, STEPS_EACH
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.releases import not_modelled
from kubesched_lint.engine.base.text import first_few, many, plural
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.cluster.pods.template import written_template
from kubesched_lint.engine.controllers.bounds import unknown_scale
from kubesched_lint.engine.events.limits import MOST_IN_COURSE, MOST_PODS
from kubesched_lint.engine.model.pod import knows_scheduler
from kubesched_lint.engine.model.resources import is_resizing
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.devices.over_time import which_matters
from kubesched_lint.engine.scenario.limits import MOST_NODES
from kubesched_lint.engine.scenario.pods.pod_labels import not_followed
from kubesched_lint.engine.scenario.premises.device_premises import pod_premises
from kubesched_lint.engine.verdicts.missing_facts import emptiness
from kubesched_lint.explaining.pending import agreement
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.linter.reading.running_set import Running
from kubesched_lint.progress import titled

_TRACES = 3
"""Random traces; only one where nodes times pods are more than this."""


class Effort(Struct, frozen=True):
    """States of one search, and seed of the random traces. More states allow more work, too."""

    states: int = 4_000
    seed: int = 1


def drain(
    manifests: ManifestSet,
    cluster: Cluster,
    options: Options,
    *,
    pool: str = "",
    nodes: str = "",
    rules: Rules | None = None,
    effort: Effort | None = None,
) -> DrainPlan:
    """Return the waves, or the obstacles.

    Raises ValueError if the nodes to drain are unknown, and ClusterError if all pods are.
    """
    rules = rules or Rules()
    if rules.surge and rules.remove:
        raise ValueError("--surge and --remove exclude each other: removed nodes are not replaced")
    targets = targets_of(cluster.inventory.nodes, pool, nodes)
    if rules.remove and len(targets) == len(cluster.inventory.nodes):
        raise ValueError("--remove would remove every node: choose with --pool or --nodes which ones go")
    if not manifests.inventory.workloads and cluster.origin != "snapshot" and not cluster.has("Pod"):
        why = "holds no Pods: drain moves running pods; name manifests to plan as if they ran"
        raise ClusterError(cluster.path, 0, 0, why)
    titled(f"planning the drain of {many(len(targets), 'node')}")
    now = RunningCluster(manifests, cluster, options)
    effort = effort or Effort()
    steps = (MOST_STEPS + STEPS_EACH * len(cluster.inventory.pods)) * max(1, effort.states // Effort().states)
    planner = Planner(now, targets, rules, effort)
    with work.within(steps):
        plan = planner.plan()
    version = not_modelled(options.kubernetes_version, cluster.server_version)
    notes = (*now.rejected, *version, *_notes(now, cluster), *agreement(cluster, manifests.premises(options)))
    return replace(plan, notes=notes, errors=manifests.errors)


class Planner:
    """The search for a plan, from proofs to traces."""

    def __init__(self, now: RunningCluster, targets: Sequence[str], rules: Rules, effort: Effort) -> None:
        self._now = now
        self._targets = tuple(targets)
        self._rules = rules
        self._effort = effort

    @cached_property
    def _any(self) -> Replay:
        """Every order of events, with any scheduler that respects the filters."""
        return self._replay(expected=False, most_states=self._effort.states)

    @cached_property
    def _default(self) -> Replay:
        """Every order of events, with the scores of the default scheduler."""
        return self._replay(expected=True, most_states=self._effort.states)

    @cached_property
    def _traces(self) -> Replay:
        """Random traces of the default scheduler."""
        return self._replay(expected=True, runs=self._courses, seed=self._effort.seed)

    def _replay(self, **options: Any) -> Replay:
        return Replay(lambda: self._now.timeline(self._targets, **options), self._rules)

    def plan(self) -> DrainPlan:
        """Return the plan; it is unknown beyond the limit of work."""
        try:
            return self._planned()
        except work.OutOfWorkError:
            return self._cut_short

    @property
    def _cut_short(self) -> DrainPlan:
        return DrainPlan(UNKNOWN, "", self._targets, missing=(f"{work.WHY}: --states raises it",))

    def _planned(self) -> DrainPlan:
        unsure = {str(w) for w in self._now.simulated.workloads if _unknown_of_card(w)}
        obstacles = certain_obstacles(self._now, self._targets, force=self._rules.force)
        certain = tuple(obstacle for obstacle in obstacles if str(obstacle.of) not in unsure)
        missing = tuple(_missing(self._now))
        if certain:
            plan = self._certainly_impossible(certain)
        elif missing:
            plan = self._by_traces()
        else:
            plan = (self._is_small and self._searched()) or self._by_traces()
        back = tuple(returning(self._now, self._targets)) if plan.verdict == POSSIBLE else ()
        if back:
            plan = replace(plan, verdict=DEPENDS, is_fewest=False, obstacles=back)
        if missing and not certain:
            plan = replace(plan, verdict=UNKNOWN, evidence="", missing=missing)
        return replace(plan, assumes=tuple(self._assumes()))

    @cached_property
    def _room(self) -> Room:
        return Room(self._now, self._rules)

    @property
    def _courses(self) -> int:
        """Number of traces that are followed side by side."""
        return _TRACES if len(self._now.simulated.nodes) * self._pods <= MOST_IN_COURSE else 1

    # --- exhaustive -------------------------------------------------------------------------------------------------

    @property
    def _is_small(self) -> bool:
        nodes = len(self._now.simulated.nodes)
        return nodes <= MOST_NODES and self._pods <= MOST_PODS and len(self._targets) <= MOST_TARGETS

    @cached_property
    def _pods(self) -> int:
        simulated = self._now.simulated
        ours = sum(len(simulated.running.get(i, ())) or simulated.member(i).wanted for i in self._now.members)
        return ours + sum(len(guest.pods) for guest in self._now.guests)

    def _searched(self) -> DrainPlan | None:
        """Return the answer of an exhaustive search; None if it is too large."""
        if self._now.scope.open_:
            return None
        sure = Fewest(self._any, self._targets, _is_sure, self._may_be_sure)
        waves = _within_steps(sure)
        if waves:
            return self._possible(waves, PROVEN, is_fewest=sure.is_sound)
        some = Fewest(self._any, self._targets, lambda played: bool(played.good), self._room.fits)
        # After a cut, neither "no wave ends well" nor "it depends" could be established: both need every end.
        lucky = None if sure.has_cut else _within_steps(some)
        if lucky is not None and not lucky and some.is_sound:
            search = Smallest(self._now, self._targets, self._rules, self._effort.states)
            smallest = work.tried(search.obstacles, None)
            obstacles = smallest or _one_each(_as_far_as_followed(where_it_ends(self._any, self._targets))[0])
            is_elastic = self._now.scenario.is_elastic or bool(self._now.scenario.pools)
            return self._impossible(
                obstacles, TODAY if is_elastic else PROVEN, is_smallest=bool(smallest) and search.is_sound
            )
        usual = Fewest(self._default, self._targets, _is_sure, self._may_be_sure)
        waves = _within_steps(usual)
        if waves:
            return self._possible(waves, BY_DEFAULT, is_fewest=usual.is_sound)
        if lucky and usual.is_sound and sure.is_sound:
            return self._depends(lucky)
        return None

    def _may_be_sure(self, done: Waves, wave: Wave) -> bool:
        """Return whether neither counting nor a trace shows a bad end; a trace takes far less than a search."""
        return self._room.fits(done, wave) and not self._traces.tried((*done, wave)).bad

    # --- traces -----------------------------------------------------------------------------------------------------

    def _by_traces(self) -> DrainPlan:
        if not self._traces.start.states:
            why = "placing the pods of the set takes too many steps"
            return DrainPlan(UNKNOWN, "", self._targets, missing=(why,))
        ordered = zone_by_zone(self._now.simulated.nodes, self._targets)
        planned = work.tried(lambda: greedy(self._traces, ordered, self._room.fits), None, 4 / 3)
        if planned is None:
            return self._cut_short
        waves, stuck = planned
        if not stuck:
            return self._possible(waves, SIMULATED, is_fewest=len(waves) == 1)
        followed, is_whole = _as_far_as_followed(where_it_ends(self._traces, self._targets, waves, stuck))
        missing = (
            "the plans that were tried end badly; another order of events may end well",
            *(() if is_whole else (f"further obstacles: {work.WHY}",)),
        )
        return DrainPlan(UNKNOWN, "", self._targets, obstacles=_one_each(followed), missing=missing)

    # --- answers ----------------------------------------------------------------------------------------------------

    def _possible(self, waves: Waves, evidence: str, *, is_fewest: bool) -> DrainPlan:
        return DrainPlan(POSSIBLE, evidence, self._targets, played_waves(self._traces, waves), is_fewest)

    def _depends(self, waves: Waves) -> DrainPlan:
        """Return a plan of which some end is good, with the first wave that may end badly."""
        worst = next((played for n in range(len(waves)) if (played := self._any.play(waves[: n + 1])).bad), None)
        told_waves = played_waves(self._traces, waves)
        if worst is None:
            return DrainPlan(DEPENDS, PROVEN, self._targets, told_waves)
        wave = next(wave for n, wave in enumerate(waves) if self._any.play(waves[: n + 1]) is worst)
        obstacles = _one_each(found_in(worst, wave, self._any.least_bound, worst.bad[0]))
        return DrainPlan(DEPENDS, PROVEN, self._targets, told_waves, obstacles=obstacles, worst=bad_course(worst))

    def _certainly_impossible(self, certain: tuple[Obstacle, ...]) -> DrainPlan:
        """Return the answer where each of some obstacles is enough, whatever room there is."""
        budgets = {condition_of(obstacle) for obstacle in certain if obstacle.kind == BUDGET}
        kept = any(obstacle.kind in (FINALIZER, REFUSED) for obstacle in certain)
        rules = replace(self._rules, force=True)
        rest = Planner(without(self._now, budgets), self._targets, rules, self._effort)
        further = () if kept else work.tried(rest.plan_further, None)
        return self._impossible((*certain, *(further or ())), PROVEN, is_smallest=not kept and further is not None)

    def plan_further(self) -> tuple[Obstacle, ...] | None:
        """Return the obstacles that remain without the certain ones; None if they are not the smallest set."""
        plan = (self._is_small and self._searched()) or self._by_traces()
        if plan.verdict in (POSSIBLE, DEPENDS):
            return ()  # some order of events ends well
        return plan.obstacles if plan.is_smallest else None

    def _impossible(self, obstacles: tuple[Obstacle, ...], evidence: str, *, is_smallest: bool) -> DrainPlan:
        # Overlays may define one budget several times.
        each = tuple(obstacle for number, obstacle in enumerate(obstacles) if obstacle not in obstacles[:number])
        return DrainPlan(IMPOSSIBLE, evidence, self._targets, obstacles=each, is_smallest=is_smallest)

    def _assumes(self) -> Iterator[str]:
        yield "pods become ready as soon as they are bound"
        if self._now.unready:
            yield f"pods that are not ready stay so until they are evicted: {first_few(self._now.unready)}"
        yield "nobody creates or changes anything else meanwhile, and no autoscaler adds a node"
        if any(workload.kind == "Job" for workload in workloads(self._now)):
            yield "no pod of a Job ends meanwhile"
        scenario = self._now.scenario
        followed = (scenario.member(self._now.simulated.workloads[number]) for number in self._now.members)
        yield from dict.fromkeys(premise for member in followed for premise in pod_premises(member))
        if self._now.preempts:
            yield "pods preempt as the default scheduler does it, and victims are gone at once"
        if self._now.scope.open_:
            yield f"no pod drives out another; not followed: {self._now.scope.open_.removeprefix('preemption: ')}"
        others = list(dict.fromkeys(unmodelled_controllers(self._now.guests)))
        if others:
            yield f"{first_few(others)} {plural(len(others), 'makes', 'make')} lost pods again as they are"
        if absent := emptiness(scenario, ("PodDisruptionBudget", "disruption budgets")):
            yield absent
        if self._now.deploys:
            yield "the manifests are deployed first: the cluster file shows none of their pods"


def _one_each(obstacles: Iterable[Obstacle]) -> tuple[Obstacle, ...]:
    """Return the first obstacle of each kind for each object: room is short for each workload that lacks it."""
    alike: dict[tuple[str, ObjectRef], Obstacle] = {}
    for obstacle in obstacles:
        alike.setdefault((obstacle.kind, obstacle.of), obstacle)
    return tuple(alike.values())


def _is_sure(played: Played) -> bool:
    return played.is_sound and played.always_ends_well


def _within_steps(search: Fewest) -> Waves | None:
    """Return the waves, empty if there are none; None after too many steps."""
    waves: Waves | None = work.tried(lambda: search.waves() or (), None)
    search.is_sound = search.is_sound and waves is not None
    return waves


def _as_far_as_followed(obstacles: Iterator[Obstacle]) -> tuple[Sequence[Obstacle], bool]:
    """Return the obstacles that are found within half of the steps that are left, and whether these are all."""
    followed: list[Obstacle] = []

    def follow() -> bool:
        followed.extend(obstacles)
        return True

    return followed, work.tried(follow, False, 2)


def _unknown_of_card(workload: Workload) -> str:
    """Return why the card of a custom resource does not know how drains of its pods end; empty if it does."""
    return "" if workload.custom is None else workload.custom.unknown.get("drain", "")


def _missing(now: RunningCluster) -> Iterator[str]:
    """Yield facts without which nothing is established."""
    cluster, simulated = now.scenario.cluster, now.simulated
    for gap in cluster.gaps if cluster is not None else ():
        yield f"the snapshot has a gap: {gap}"
    for number, key in not_followed(simulated.workloads).items():
        yield f"{simulated.workloads[number]} selects the label {key}, whose value differs from pod to pod"
    for number in now.members:
        pod = simulated.pods[number]
        if why := _unknown_of_card(simulated.workloads[number]):
            yield f"{simulated.workloads[number]}: {why}"
        if not knows_scheduler(pod):
            yield f"how the scheduler {pod.scheduler_name} places the pods of {simulated.workloads[number]} is unknown"
        if pod.group:
            yield f"{simulated.workloads[number]} is of PodGroup {pod.group}: whether its pods start alone is unknown"
        if simulated.need_devices((number,)) and which_matters(now.scenario):
            yield f"{simulated.workloads[number]} claims devices: which ones its next pods get is unknown"
    running = chain.from_iterable(simulated.running.get(number, ()) for number in now.members)
    for bound in (*running, *chain.from_iterable(guest.pods for guest in now.guests)):
        if is_resizing(bound.pod):
            yield f"{bound.namespace}/{bound.name} is resized in place: it holds other amounts than its next copy will"
    followed = (*(simulated.workloads[number] for number in now.members), *(guest.workload for guest in now.guests))
    yield from filter(None, (unknown_scale(workload, simulated.objects.budgets) for workload in followed))


def _notes(now: RunningCluster, cluster: Cluster) -> Iterator[str]:
    yield from cluster.notes
    cordoned = [node.name for node in now.simulated.nodes if node.unschedulable]
    if cordoned:
        yield f"cordoned today, so no pods go there until they are drained and back: {first_few(cordoned)}"
    yield from _about_empty_dirs(now, cluster)
    if now.absent:
        do = "does" if len(now.absent) == 1 else "do"
        absent = f"{many(len(now.absent), 'workload')} of the manifests {do} not run here"
        yield f"only running pods are drained; {absent}: {first_few([str(w) for w in now.absent])}"


def _about_empty_dirs(now: RunningCluster, cluster: Cluster) -> Iterator[str]:
    """Yield what kubectl asks for besides: it deletes no pod with an emptyDir volume unless told to."""
    movers = [w for w in workloads(now) if w.kind != "DaemonSet"]
    known = [str(w) for w in movers if _has_empty_dir(written_template(w))]
    if known:
        yield f"kubectl drain needs --delete-emptydir-data: pods of {first_few(known)} have emptyDir volumes"
    elif cluster.origin == "snapshot" and any(w.source is None or isinstance(w.source, Running) for w in movers):
        yield "a snapshot holds no emptyDir volumes: kubectl drain needs --delete-emptydir-data where pods have some"


def _has_empty_dir(template: object) -> bool:
    spec = template.get("spec") if isinstance(template, dict) else None
    volumes = spec.get("volumes") if isinstance(spec, dict) else None
    return any(isinstance(v, dict) and "emptyDir" in v for v in volumes) if isinstance(volumes, list) else False
