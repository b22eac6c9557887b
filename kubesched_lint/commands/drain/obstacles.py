"""What keeps nodes from being drained: budgets, bare pods, finalizers, and pods that find no other node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubesched_lint.commands.drain.plan import Obstacle
from kubesched_lint.commands.drain.relaxing import (
    APART,
    BARE,
    BUDGET,
    FINALIZER,
    LABELS,
    NEAR,
    PORT,
    REFUSED,
    ROOM,
    SPREAD,
    TAINT,
    VOLUME,
    Condition,
    ref_of,
)
from kubesched_lint.commands.drain.replay import Judge, Played, Wave
from kubesched_lint.commands.drain.running_cluster import RunningCluster
from kubesched_lint.engine.base.places import Location, ObjectRef, Path
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.nodeset import of, positions
from kubesched_lint.engine.controllers.bounds import allowed_disruptions, covers
from kubesched_lint.engine.events.start.evictable_pods import comes_back
from kubesched_lint.engine.events.states.states import State
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.policy import WITHOUT_SCALE, DisruptionBudget
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.workload import Workload
from kubesched_lint.engine.runs.judging import SEVERAL_BUDGETS, UNMANAGED, VIOLATES, blame, blamed_for, bound_of
from kubesched_lint.engine.scheduler.plugins.inter_pod_affinity import UNATTRACTED
from kubesched_lint.engine.scheduler.verdict import Rejection
from kubesched_lint.explaining.disruption import none_allowed
from kubesched_lint.sources.manifests.document import location_of

Scales = Sequence[tuple[str, int]]
"""Kind and replicas of the controllers of pods; Pod for pods without one."""
NO_NODE, CORDONED = "no-node", "cordon"
STUCK = "the pod terminates, and a finalizer keeps it: kubectl drain waits for it"


def certain_obstacles(now: RunningCluster, targets: Sequence[str], *, force: bool) -> Iterator[Obstacle]:
    """Yield obstacles that hold for every order of events, whatever room there is."""
    on_targets = frozenset(targets)
    yield from _kept(now, on_targets)
    if not force:
        yield from _bare(now, on_targets)
    yield from _refused(now, on_targets)
    yield from _budgets(now, targets)


def _kept(now: RunningCluster, targets: frozenset[str]) -> Iterator[Obstacle]:
    for bound in now.scenario.objects.pods if now.scenario.cluster is None else now.scenario.cluster.inventory.pods:
        if bound.node in targets and bound.kept_by_finalizers and not bound.outlasts_drains:
            yield Obstacle(FINALIZER, _ref(bound), STUCK, (bound.node,))


def _bare(now: RunningCluster, targets: frozenset[str]) -> Iterator[Obstacle]:
    for bound, workload in _bare_pods(now):
        if bound.node in targets:
            message = f"{UNMANAGED}: {bound.namespace}/{bound.name}"
            why = "no controller makes this pod again; --force deletes it for good"
            at = _location(workload, workload.pod.path) if workload is not None else None
            yield Obstacle(BARE, _ref(bound), why, (bound.node,), message, at)


def _bare_pods(now: RunningCluster) -> Iterator[tuple[BoundPod, Workload | None]]:
    for number in now.members:
        if now.simulated.workloads[number].kind == "Pod":
            yield from ((bound, now.simulated.workloads[number]) for bound in now.simulated.running.get(number, ()))
    for guest in now.guests:
        if guest.workload.kind == "Pod":
            yield from ((bound, None) for bound in guest.pods)


def _refused(now: RunningCluster, targets: frozenset[str]) -> Iterator[Obstacle]:
    for it in now.refused:
        nodes = tuple(dict.fromkeys(bound.node for bound in it.running_pods if bound.node in targets))
        decision = now.scenario.admission.decision(it.workload)
        if nodes and it.workload.kind != "DaemonSet":
            message = "" if decision.refusal is None else decision.refusal.message
            why = "the API server refuses new pods of this workload, so an evicted pod does not come back"
            yield Obstacle(REFUSED, it.workload.ref, why, nodes, message, _location(it.workload, it.workload.pod.path))


def returning(now: RunningCluster, targets: Sequence[str]) -> Iterator[Obstacle]:
    """Yield workloads whose pods may come back to a cordoned node: kubectl evicts each pod that it finds once."""
    there = of([now.simulated.index.positions[name] for name in targets])
    for number in now.members:
        workload, pod = now.simulated.workloads[number], now.simulated.pods[number]
        if (
            workload.kind != "DaemonSet"
            and comes_back(now.simulated.member(number))
            and now.simulated.usable[number] & there
        ):
            nodes = tuple(now.simulated.index.names_of(now.simulated.usable[number] & there))
            why = "its pods tolerate the cordon, so an evicted one may come back to its node"
            at = pod.path if pod.node_name else (*pod.path, "tolerations")
            yield Obstacle(CORDONED, workload.ref, why, nodes, "", _location(workload, at))


# --- budgets ----------------------------------------------------------------------------------------------------------


def _budgets(now: RunningCluster, targets: Sequence[str]) -> Iterator[Obstacle]:
    for budget, pods, scales in _guarded(now):
        always = budget.unhealthy_pod_eviction_policy == "AlwaysAllow"
        held = {bound.node for bound in pods if bound.ready or not always}
        nodes = tuple(name for name in targets if name in held)
        healthy = sum(count for _, count in scales)
        expected = budget.expected(healthy, scales)
        if nodes and not allowed_disruptions(budget, expected, healthy):
            why = none_allowed(healthy, budget)
            lacking = [kind for kind, _ in scales if kind in WITHOUT_SCALE] or ["bare pod"]
            if not expected:
                why = f"{budget.bound} needs the scale of every controller, and a {lacking[0]} has none"
            yield of_budget(budget, nodes, why, VIOLATES, allowing_one(budget) if expected else "")


def allowing_one(budget: DisruptionBudget) -> str:
    """Return how to change a budget, or the replicas, so that one pod may be evicted."""
    alone = " without minAvailable" if budget.min_available is not None else ""
    more = ", or run one replica more" if isinstance(budget.min_available, int) else ""
    return f"set maxUnavailable: 1{alone}{more}"


def of_budget(budget: DisruptionBudget, nodes: tuple[str, ...], why: str, message: str, help_: str = "") -> Obstacle:
    at = None if budget.source is None else location_of(budget.source, bound_of(budget))
    return Obstacle(BUDGET, ref_of(budget), why, nodes, message, at, help=help_)


def _guarded(now: RunningCluster) -> Iterator[tuple[DisruptionBudget, Sequence[BoundPod], Scales]]:
    """Yield each budget with the pods that it selects, except those of DaemonSets, and the scales of all of them."""
    simulated = now.simulated
    for budget in simulated.objects.budgets:
        pods: list[BoundPod] = []
        scales: list[tuple[str, int]] = []
        for number in now.members:
            kind = simulated.workloads[number].kind
            ours = [b for b in simulated.running.get(number, ()) if covers(budget, b.namespace, b.pod.labels)]
            ours = [b for b in ours if not b.terminating]
            if ours:
                scales.append((kind, max(len(ours), simulated.member(number).wanted)))
                pods += ours if kind != "DaemonSet" else []
        for guest in now.guests:
            ours = [b for b in guest.pods if covers(budget, b.namespace, b.pod.labels)]
            if ours:
                scales.append((guest.workload.kind, len(ours)))
                pods += ours
        if pods:
            left = (b for b in now.staying if b.outlasts_drains and covers(budget, b.namespace, b.pod.labels))
            yield budget, pods, [*scales, *((b.owner.kind, 1) for b in left if b.owner)]


# --- where a wave ends badly ------------------------------------------------------------------------------------------


def found_in(played: Played, wave: Wave, least_bound: Mapping[int, int], state: State) -> Iterator[Obstacle]:
    """Yield what keeps a drain from ending well in one of its ends."""
    timeline = played.drain
    judge = Judge(timeline, wave, least_bound)
    pod_types = timeline.pod_types
    for budgets, nodes in _guarded_there(played, judge.left(state)):
        message = VIOLATES if len(budgets) == 1 else SEVERAL_BUDGETS
        for budget in budgets:
            other = next((b.name for b in budgets if b is not budget), "")
            why = f"{other} selects the same pods" if other else "it allows no further disruption then"
            yield of_budget(budget, nodes, why, message, "let one budget select these pods" if other else "")
    lacking = judge.lacking(state)
    for slot in dict.fromkeys(slot for slot, _, _ in state.waiting):
        number = pod_types.slots[slot].workload
        if number in lacking:
            yield from _homeless(played, state, slot, lacking[number], wave)


def _guarded_there(
    played: Played, left: Iterable[tuple[int, int]]
) -> Iterator[tuple[Sequence[DisruptionBudget], tuple[str, ...]]]:
    """Yield the budgets that guard the same of the pods that are left, and the nodes of these pods."""
    timeline, model = played.drain, played.phase.transitions.model
    found: dict[int, dict[str, None]] = {}
    for slot, position in left:
        found.setdefault(slot, {})[timeline.nodes[position].name] = None
    alike: dict[tuple[int, ...], dict[str, None]] = {}
    for slot, nodes in found.items():
        pod, budgets = model.pod(slot), enumerate(timeline.objects.budgets)
        guards = tuple(at for at, budget in budgets if covers(budget, pod.namespace, pod.labels))
        alike.setdefault(guards, {}).update(nodes)
    for guards, nodes in alike.items():
        yield [timeline.objects.budgets[at] for at in guards], tuple(nodes)


_KINDS = {
    "NodeResourcesFit": ROOM,
    "InterPodAffinity": NEAR,
    "PodTopologySpread": SPREAD,
    "NodeAffinity": LABELS,
    "TaintToleration": TAINT,
    "NodePorts": PORT,
    "VolumeBinding": VOLUME,
    "VolumeZone": VOLUME,
    "VolumeRestrictions": VOLUME,
    "NodeVolumeLimits": VOLUME,
}
_CLOSED = ("NodeUnschedulable",)


def _homeless(played: Played, state: State, slot: int, count: int, wave: Wave) -> Iterator[Obstacle]:
    """Yield why a pod of a slot finds no node in an end: one obstacle per kind of reason."""
    model = played.phase.transitions.model
    diagnosis = model.diagnosis(state, slot)
    workload = played.drain.pod_types.revisions[played.drain.pod_types.slots[slot].workload][-1]
    main = blame(model, state, slot)
    finds = f"{many(count, 'pod')} of {workload} {'finds' if count == 1 else 'find'} no node"
    if diagnosis.refusal is not None:
        kind = _KINDS.get(diagnosis.refusal.plugin, diagnosis.refusal.plugin)
        yield Obstacle(kind, workload.ref, finds, wave, main.message, _location(workload, main.at))
    reasons = tuple(_one_per_kind(diagnosis.rejections))
    if not reasons and diagnosis.refusal is None:
        yield Obstacle(NO_NODE, workload.ref, f"{finds}: none is open", wave, main.message)
    for reason in reasons:
        kind = _kind(reason)
        found = blamed_for(model, slot, reason)
        of = found.of if isinstance(found.of, Workload) else workload
        why, missing = finds, dict[str, int]()
        if kind == ROOM:
            missing = _missing(model.pod(slot), played, diagnosis.rejections)
            lacks = ", ".join(f"{show(r, n)} {r}" for r, n in missing.items())
            why += f"; the node with most room lacks {lacks}" if lacks else ""
        at = None if found.of.source is None else location_of(found.of.source, found.at)
        yield Obstacle(kind, of.ref, why, wave, main.message, at, missing or None)


def _one_per_kind(rejections: Sequence[Rejection]) -> Iterator[Rejection]:
    """Yield the reason of each kind that rejects the most nodes, the most frequent kinds first."""
    found: dict[str, Rejection] = {}
    for reason in sorted(rejections, key=lambda r: -r.nodes.bit_count()):
        if reason.plugin not in _CLOSED:
            found.setdefault(_kind(reason), reason)
    yield from found.values()


def _kind(reason: Rejection) -> str:
    if reason.plugin == "InterPodAffinity":
        return NEAR if reason.reason == UNATTRACTED else APART
    return _KINDS.get(reason.plugin, reason.plugin)


def condition_of(obstacle: Obstacle) -> Condition:
    """Return the condition without which an obstacle is gone."""
    return Condition(ROOM) if obstacle.kind == ROOM else Condition(obstacle.kind, obstacle.of)


def _missing(pod: Pod, played: Played, rejections: Sequence[Rejection]) -> dict[str, int]:
    """Return resource → how much the node with the most room lacks for one pod, over nodes that only lack room."""
    ledger = played.phase.transitions.model.cluster.ledger
    full = [r for r in rejections if r.plugin == "NodeResourcesFit"]
    nodes = {p for r in full for p in positions(r.nodes)}
    asked = {"pods": 1, **pod.requests}
    short = [
        {r: int(n - ledger.free(r)[p]) for r, n in asked.items() if n and ledger.free(r)[p] < n} for p in sorted(nodes)
    ]
    return min(short, key=lambda lacks: [(len(lacks), *lacks.values())], default={})


def _location(workload: Workload, path: Path) -> Location | None:
    return None if workload.source is None else location_of(workload.source, path)


def _ref(bound: BoundPod) -> ObjectRef:
    return ObjectRef("Pod", bound.namespace, bound.name)
