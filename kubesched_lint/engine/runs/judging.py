"""Judge whether the ends of an event are good or bad, and explain: the line to blame, the message, a course."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.admission.decision import about_pod
from kubesched_lint.engine.admission.schedulers import added_affinity, added_at, is_added
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.bounds.volumes.volume_constraints import homeless
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.controllers.daemonset import targets
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, Cell
from kubesched_lint.engine.events.answers.event_bounds import PORTS
from kubesched_lint.engine.events.start import quotas
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember
from kubesched_lint.engine.events.start.timelines import bare_timeline
from kubesched_lint.engine.events.states.states import FRESH, State, empty, with_pinned
from kubesched_lint.engine.events.transitions.placement_model import PlacementModel
from kubesched_lint.engine.model.pod import Pod, SchedulerProfile, profile_of
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.model.resources import may_be_devices, request_path
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.event_outcomes import FinalState
from kubesched_lint.engine.runs.narrate import witness
from kubesched_lint.engine.scheduler.capacity import copies
from kubesched_lint.engine.scheduler.framework import Diagnosis, diagnose, message
from kubesched_lint.engine.scheduler.plugins.inter_pod_affinity import REPELLED, UNATTRACTED, UNWELCOME, selects_pod
from kubesched_lint.engine.scheduler.plugins.single_node import ENFORCED
from kubesched_lint.engine.scheduler.plugins.verdict import Rejection
from kubesched_lint.engine.scheduler.preemption.preemption import preempt

CONTROLLER_SAYS = "the controller says (FailedCreate)"
EVICTION_SAYS = "the eviction is refused"
DRAIN_SAYS = "kubectl drain says"
UNMANAGED = "cannot delete Pods that declare no controller (use --force to override)"
"""``kubectl/pkg/drain/filters.go``, unmanagedFatal, at kubernetes/kubernetes 121817a; older texts differ."""
VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def verdict_of(event: str, ends: Sequence[FinalState]) -> tuple[str, bool, bool]:
    """Return ``(verdict, stuck in some end, stuck in every end)``."""
    if not ends:
        return FINE, False, False
    bad = [e.lack > 0 or e.outcome.unready > 0 or is_stuck(event, e) for e in ends]
    stuck = [is_stuck(event, e) for e in ends]
    verdict = BAD if all(bad) else DEPENDS if any(bad) else FINE
    return verdict, any(stuck), all(stuck)


def is_stuck(event: str, end: FinalState) -> bool:
    if event == "deploy":
        # The workload ran before: applying the manifest starts a rollout, which does not end.
        return end.outcome.old > end.may_stay
    return end.blocked or (end.rolls and not end.is_updated)


def method(ends: Sequence[FinalState], verdict: str, *, proven: bool) -> str:
    states = sum(s.phases[-1].exploration.states for s in {e.timeline for e in ends})
    whom = "any scheduler" if proven else "the default scheduler"
    search = f"an exact search over {many(states, 'state')}"
    match verdict:
        case "fine":
            return f"{search} finds no bad end, for {whom}"
        case "bad":
            return f"{search} finds no good end, for {whom}"
    return f"{search} finds good ends and bad ones"


def with_details(
    cell: Cell, ends: Sequence[FinalState], member: SimulatedMember, called: Workload | None = None
) -> Cell:
    """Return the cell with the course to its worst end, the message of Kubernetes there, and the line to blame.

    ``called``: see ``witness``.
    """
    if cell.verdict == BAD and not ends:
        caps = quotas.cap(member), quotas.cap_in_rollout(member)
        granted = next((ceiling for ceiling in caps if ceiling is not None and ceiling.why in cell.why), None)
        if granted is not None:
            at = ("spec", "hard", granted.resource)
            in_turn = quotas.message_in_turn(member) if cell.event == "deploy" else ""
            message = about_pod(member.workload, in_turn or granted.message, granted.pods)
            return replace(cell, message=message, says=CONTROLLER_SAYS, blamed=granted.quota, at=at)
    if not ends:
        is_blocked = cell.always_stuck and member.set.drains(cell.event) and bool(member.budgets)
        told = _refused if is_blocked else _without_course
        return told(cell, member) if cell.verdict == BAD else cell

    def badness(end: FinalState) -> tuple[bool, int, int, bool]:
        return end.blocked, end.lack, end.outcome.unready, not end.is_updated

    worst, best = max(ends, key=badness), min(ends, key=badness)  # of equal ones the first: see ``telling``
    best_of_both = witness(best, called) if cell.verdict == DEPENDS else None
    cell = replace(cell, worst=witness(worst, called), best=best_of_both)
    if worst.blocked:
        return _refused(cell, member)
    blame, workload = _waiting(worst), member.workload
    if blame is not None:
        return _blamed(cell, blame)
    if workload.kind == "Pod":
        message = f"{UNMANAGED}: {workload.ref.title}" if cell.event == "drain" else ""
        cell = replace(cell, why=f"{cell.why}; no controller recreates a bare pod", message=message, says=DRAIN_SAYS)
        return replace(cell, blamed=workload, at=workload.pod.path)
    return replace(cell, blamed=workload, at=workload.strategy.path) if cell.stuck else cell


def _without_course(cell: Cell, member: SimulatedMember) -> Cell:
    """Return a bad cell that counting alone proves: the request is to blame if a resource is short."""
    workload, told = member.workload, _blamed(cell, _unplaced(member))
    if cell.resource in ("", PORTS):
        return told
    return replace(told, blamed=workload, at=request_path(workload, cell.resource))


def _blamed(cell: Cell, blame: Blame | None) -> Cell:
    if blame is None:
        return cell
    return replace(cell, message=blame.message, blamed=blame.of, at=blame.at)


def _refused(cell: Cell, member: SimulatedMember) -> Cell:
    """Return the cell of a drain that gave up, with the blocking budget and the message of the eviction API."""
    budgets = member.budgets
    if not budgets:
        return cell
    message = VIOLATES if len(budgets) == 1 else SEVERAL_BUDGETS
    return replace(cell, message=message, says=EVICTION_SAYS, blamed=budgets[0], at=bound_of(budgets[0]))


def bound_of(budget: DisruptionBudget) -> Path:
    if budget.max_unavailable is not None:
        return (*budget.path, "maxUnavailable")
    return (*budget.path, "minAvailable") if budget.min_available is not None else budget.path


def _waiting(end: FinalState) -> Blame | None:
    """Return why a pod of the workload waits in an end; None if none waits."""
    pod_types, transitions = end.timeline.pod_types, end.phase.transitions
    waiting = [(-1, end.state.waiting), *enumerate(end.state.pinned)]
    for position, queue in waiting:
        for slot, _, _ in queue:
            if pod_types.slots[slot].workload == end.workload:
                return blame(transitions.model, end.state, slot, position)
    return None


def _unplaced(member: SimulatedMember) -> Blame | None:
    """Return why a pod fits on none of the nodes as they are; used where no course shows it."""
    simulated = member.set
    workload, pod = member.workload, member.pod
    apart = next(iter(homeless(member).values()), None)
    if apart is not None:
        diagnosis = diagnose(apart, simulated.cluster)
        said = message(diagnosis, preempt(apart, diagnosis, simulated.cluster).message)
        reason = _main_reason(diagnosis, diagnosis.total)
        return Blame(workload, pod.path if reason is None else _path_of(reason.plugin, reason.reason, workload), said)
    timeline = bare_timeline(simulated, workload)
    timeline.enter(workload)
    model, state = timeline.model(), empty(len(simulated.nodes))
    slot = timeline.pod_types.slot(0, 0)
    if workload.kind != "DaemonSet":
        return blame(model, state, slot)
    wanted = targets(pod, simulated.index)[0]
    room = dict(copies(pod, simulated.cluster, wanted, 1))
    full = next((p for p in positions(wanted) if not room[p]), None)
    if full is None:
        return None
    return blame(model, with_pinned(state, full, slot, FRESH, 1), slot, full)


# --- Find the manifest line that keeps a pod waiting, and the message in the pod's condition --------------------------

# Reasons that involve no other pod come last: they explain where a pod never fits, seldom why it waits now.
_STATIC = ("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity")


class Blame(NamedTuple):
    """The workload or the configuration with the line, the path of the line, and the message of the waiting pod."""

    of: Workload | SchedulerProfile
    at: Path
    message: str


def blame(model: PlacementModel, state: State, slot: int, position: int = -1) -> Blame:
    """Return why a waiting pod of a slot waits in this state."""
    pod_types = model.pod_types
    number, revision, _ = pod_types.slots[slot]
    workload = pod_types.revisions[number][revision]
    diagnosis = model.diagnosis(state, slot, position)
    pod = model.pod(slot, position)
    # The scheduler skips a pod with a node name, so there is no message.
    text = "" if pod.node_name else message(diagnosis, preempt(pod, diagnosis, model.cluster).message)
    if diagnosis.refusal is not None:
        return Blame(workload, _path_of(diagnosis.refusal.plugin, "", workload), text)
    reason = _main_reason(diagnosis, diagnosis.total)
    if reason is None:
        return Blame(workload, workload.pod.path, text)
    return blamed_for(model, slot, reason, position)._replace(message=text)


def blamed_for(model: PlacementModel, slot: int, reason: Rejection, position: int = -1) -> Blame:
    """Return the line to blame for one reason that keeps a pod of a slot from some nodes; its message is empty."""
    number, revision, _ = model.pod_types.slots[slot]
    workload, pod = model.pod_types.revisions[number][revision], model.pod(slot, position)
    added = _added(pod, reason)
    if added is not None:
        return Blame(*added, "")
    holder = _holder(model, pod) if reason.reason == UNWELCOME else None
    if holder is not None:
        return Blame(*holder, "")
    return Blame(workload, _path_of(reason.plugin, reason.reason, workload), "")


def _added(pod: Pod, reason: Rejection) -> tuple[SchedulerProfile, Path] | None:
    """Return the profile that adds to the pod what it fails, and the path in the file; None if nothing or no file."""
    at = added_affinity(pod.path) if reason.reason == ENFORCED else ()
    if reason.plugin == "PodTopologySpread":
        at = next((c.path for c in pod.spread if c.is_hard), ())
    profile = profile_of(pod)
    return (profile, added_at(pod, at)[1]) if is_added(at) and profile.source is not None else None


def _main_reason(diagnosis: Diagnosis, total: int) -> Rejection | None:
    """Return the reason that rejects the most nodes; prefer reasons that involve other pods."""
    lively = [r for r in diagnosis.rejections if r.plugin not in _STATIC]
    return max(lively or diagnosis.rejections, key=lambda r: r.nodes.bit_count(), default=None)


def _holder(model: PlacementModel, pod: Pod) -> tuple[Workload, Path] | None:
    """Return the workload of the timeline whose anti-affinity repels the pod, and the path of the term."""
    for revisions, pods in zip(model.pod_types.revisions, model.pod_types.pods, strict=True):
        for workload, other in zip(reversed(revisions), reversed(pods), strict=True):
            for term in other.required_anti_affinity:
                if selects_pod(term, other.namespace, pod, model.cluster):
                    return workload, term.path
    return None


def _path_of(plugin: str, reason: str, workload: Workload) -> Path:
    pod = workload.pod
    match plugin:
        case "InterPodAffinity":
            if reason == UNATTRACTED and pod.required_affinity:
                return pod.required_affinity[0].path
            if reason == REPELLED and pod.required_anti_affinity:
                return pod.required_anti_affinity[0].path
        case "PodTopologySpread":
            return next((c.path for c in pod.spread if c.is_hard), pod.path)
        case "NodePorts":
            return pod.host_ports[0].path if pod.host_ports else pod.path
        case "NodeResourcesFit":
            return request_path(workload, reason.removeprefix("Insufficient "))
        case "NodeAffinity":
            if pod.required_node_terms:
                return pod.required_node_terms[0].path
            return (*pod.path, "nodeSelector") if pod.node_selector else pod.path
        case "DynamicResources" if pod.resource_claims:
            return (*pod.path, "resourceClaims")
        case "DynamicResources":
            return request_path(workload, next(filter(may_be_devices, pod.requests), ""))
        case "TaintToleration":
            return (*pod.path, "tolerations") if pod.tolerations else pod.path
        case "VolumeBinding" | "VolumeZone" | "VolumeRestrictions" | "NodeVolumeLimits":
            if workload.claim_templates:
                return ("spec", "volumeClaimTemplates")
            return pod.volumes[0].path if pod.volumes else pod.path
    return pod.path
