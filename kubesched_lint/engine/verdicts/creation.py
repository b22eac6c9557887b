"""Cells of workloads whose pods the API server refuses or may refuse."""

from __future__ import annotations

from msgspec.structs import replace

from kubesched_lint.engine.admission.decision import AdmissionRefusal, Decision, about_pod
from kubesched_lint.engine.bounds.counted import count, is_fine_if_granted
from kubesched_lint.engine.cluster.nodeset import of
from kubesched_lint.engine.controllers.daemonset import targets
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, NONE, UNKNOWN, Cell, Range, words
from kubesched_lint.engine.events.answers.event_bounds import EventBounds
from kubesched_lint.engine.events.start import quotas
from kubesched_lint.engine.events.start.groups import group_of
from kubesched_lint.engine.events.start.simulated_set import LOSSES, UNREACHABLE_OF, SimulatedMember, zones
from kubesched_lint.engine.runs.judging import CONTROLLER_SAYS

SERVER_SAYS = "the API server says"
_ALONE = "nothing else is created"


def refused(member: SimulatedMember, event: str, refusal: AdmissionRefusal) -> Cell:
    """Return the cell of a workload without new pods; its running pods stay and are not simulated."""
    workload, wanted = member.workload, count(member, event).wanted
    runs = min(len(member.running), wanted)
    kept = member.changes_template is False and member.is_settled
    if not wanted or (event == "deploy" and member.kept >= wanted and kept):
        bound = Range(wanted, wanted, "closed-form")
        text = words(event, wanted, bound, stuck=False, always_stuck=False)
        why = "all its pods run, and none is created" if wanted else "no pod is wanted"
        return Cell(event, FINE, wanted, bound, proven=True, text=text, why=why, assumes=(_ALONE,))
    lacks = not runs or runs < _fewest_wanted(member, event, wanted)
    stuck = "rollout" in member.set.parts(event) and not runs
    bound = Range(0, runs, "bound" if runs else "closed-form")
    text = words(event, wanted, bound, stuck=stuck, always_stuck=stuck)
    return Cell(
        event,
        BAD if lacks else UNKNOWN,
        wanted,
        bound,
        stuck=stuck,
        always_stuck=stuck,
        proven=refusal.sure and lacks,
        text=text if lacks else f"{text} ?",
        why=f"the API server refuses every {'new ' if runs else ''}pod",
        message=refusal.answer_to(workload),
        says=SERVER_SAYS if workload.kind == "Pod" else CONTROLLER_SAYS,
        blamed=workload,
        at=refusal.at,
        missing=() if lacks else ("a trace in which no pod is created anew",),
        assumes=(*refusal.assumes, _ALONE),
    )


def _fewest_wanted(member: SimulatedMember, event: str, wanted: int) -> int:
    """Return the fewest pods wanted after any loss: a DaemonSet wants one pod fewer per lost node."""
    simulated = member.set
    event = UNREACHABLE_OF.get(event, event)
    if member.workload.kind != "DaemonSet" or event not in UNREACHABLE_OF.values():
        return wanted
    nodes, positions = targets(member.pod, simulated.index)[0], simulated.index.positions
    lost = [nodes & of([positions[name] for name in names]) for names in zones(simulated).values()]
    most = max((zone.bit_count() for zone in lost), default=0)
    return nodes.bit_count() - (most if event == "zone-loss" else 1)


def raced(member: SimulatedMember, event: str, bounds: EventBounds) -> Cell | None:
    """Return the cell of a workload that gets all its pods only if it creates them before others do; else None.

    Devices may be too few even for those who come first, and who waits for its own pods leaves their share to others.
    After a deployment the same workloads may be first again: only a rollout requests more than the quota allows.
    """
    if event in UNREACHABLE_OF or event not in ("deploy", "scale-down", *LOSSES) or not quotas.goes_both_ways(member):
        return None
    devices = member.set.need_devices(group_of(member))
    if devices or not all(is_fine_if_granted(member, each) for each in {"deploy", event}):
        return None
    if not all(is_fine_if_granted(rival, "deploy") for rival in quotas.rivals_in_turn(member)):
        return None
    if event != "deploy" and not quotas.stays_short(member, bounds.wanted):
        return None
    bound = Range(min(bounds.least.pods, bounds.wanted), bounds.wanted, "bound")
    workload, quota = member.workload, member.quotas[0]
    return Cell(
        event,
        DEPENDS,
        bounds.wanted,
        bound,
        text=words(event, bounds.wanted, bound, stuck=False, always_stuck=False),
        why=f"ResourceQuota {quota.namespace}/{quota.name} grants less than its workloads want: the first get theirs",
        message=about_pod(workload, quotas.message_in_turn(member)),
        says=CONTROLLER_SAYS,
        blamed=quota,
        at=("spec", "hard"),
    )


def undecided(member: SimulatedMember, event: str, decision: Decision) -> Cell:
    """Return the cell of a workload if it is unknown whether its pods are created."""
    wanted = count(member, event).wanted
    bound = Range(0, wanted, "bound")
    text = f"{words(event, wanted, bound, stuck=False, always_stuck=False)} ?"
    why = "whether its pods are created is not known"
    return Cell(event, UNKNOWN, wanted, bound, text=text, why=why, missing=decision.unknown, assumes=(_ALONE,))


def beside_undecided(cell: Cell, member: SimulatedMember) -> Cell:
    """Return the cell with a premise if the workload can meet pods that may not be created."""
    simulated = member.set
    if cell.verdict == NONE or not simulated.decisions:
        return cell
    doubtful = {i for i, decision in simulated.decisions.items() if decision.unknown}
    met = [simulated.workloads[i] for i in group_of(member) if i in doubtful and i != member.number]
    if not met:
        return cell
    premise = f"the pods of {', '.join(map(str, met))} are created, which is not known"
    return replace(cell, proven=False, assumes=(*cell.assumes, premise))
