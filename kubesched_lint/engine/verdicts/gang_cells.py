"""The deploy cells of gangs: what ``engine.placing.gangs.fit`` answers takes the place of an unknown cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kubesched_lint.engine.events.answers.cells import (
    BAD,
    DEPENDS,
    FINE,
    LIKELY,
    NONE,
    UNKNOWN,
    Cell,
    Range,
    Witness,
    not_known,
    words,
)
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.gangs.answers import CERTAIN, FEWER, IMPOSSIBLE, MAY_MISS, Answer, because, course
from kubesched_lint.engine.placing.gangs.fit import answers
from kubesched_lint.engine.scenario.gangs import domains, gates_premise, preemption_premise
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.premises.premises import proves_absence
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scheduler.pod_groups.pod_groups import NOWHERE, SHORT
from kubesched_lint.engine.verdicts.matrix import Row

_LOSSES = ("node-loss", "zone-loss", "drain")


def with_gangs(rows: Iterable[Row], simulated: SimulatedSet, scenario: Scenario) -> Iterator[Row]:
    """Yield each row; a workload in a gang of kube-scheduler has the gang's answer as its deploy cell.

    A gang that never starts is not started by a loss either: these cells have the same answer. Of a gang of another
    system that surely does not fit, pods do not deploy one by one either: what becomes of it is not known.
    """
    foreign = {
        member.workload.ref: answer
        for answer in answers(scenario)
        if _is_refused(answer)
        for member in answer.gang.members
    }
    known = {member.workload.ref: answer for answer in _answers(scenario) for member in answer.gang.members}
    for row in rows:
        workload = simulated.workloads[row.number]
        answer = known.get(workload.ref)
        if answer is None and workload.ref in foreign:
            yield replace(row, cells=tuple(_not_alone(cell, foreign[workload.ref]) for cell in row.cells))
        elif answer is None:
            yield row
        else:
            events = {"deploy", *(_LOSSES if _never_starts(answer, scenario) else ())}
            premises = (*preemption_premise(answer.gang, scenario), *gates_premise(scenario))
            cells = (
                _relying_on(premises, _cell(cell, answer, workload, scenario))
                if cell.event in events and cell.verdict != NONE
                else cell
                for cell in row.cells
            )
            yield replace(row, cells=tuple(cells))


def _is_refused(answer: Answer) -> bool:
    return answer.gang.is_foreign and answer.verdict == IMPOSSIBLE


def _not_alone(cell: Cell, answer: Answer) -> Cell:
    if cell.event != "deploy" or not cell.ends_well:
        return cell
    return not_known(cell, (f"when {answer.gang.group.system} starts its pods together: {because(answer)}",))


def _relying_on(premises: tuple[str, ...], cell: Cell) -> Cell:
    return replace(cell, assumes=(*cell.assumes, *premises))


def _never_starts(answer: Answer, scenario: Scenario) -> bool:
    """Whether fewer nodes do not change the answer: no running pod closes nodes to the gang."""
    return answer.verdict == FEWER or (answer.verdict == IMPOSSIBLE and not staying_beside_set(scenario).pods)


def _answers(scenario: Scenario) -> Iterator[Answer]:
    return (answer for answer in answers(scenario) if not answer.gang.is_foreign)


def _cell(cell: Cell, answer: Answer, workload: Workload, scenario: Scenario) -> Cell:
    gang, why = answer.gang, because(answer)
    if answer.verdict == FEWER:
        made = _never(cell, why, workload, Witness(0, False, ("its pods wait, without a message of the scheduler",)))
        assumes = (*cell.assumes, "no other workload has pods in the group")
        return replace(made, proven=proves_absence(scenario), assumes=assumes)
    if answer.verdict == IMPOSSIBLE:
        told = "" if domains(gang, scenario) else NOWHERE
        made = _never(cell, why, workload, None if told else _too_few(answer))
        return replace(made, proven=not staying_beside_set(scenario).pods, message=told)
    if cell.verdict not in (UNKNOWN, LIKELY) or not _is_alone(answer, scenario):
        return cell
    if answer.verdict == MAY_MISS and answer.missed is not None:
        made = _made(cell, DEPENDS, Range(0, cell.wanted, "search"), why)
        worst = Witness(0, False, ("the pods are tried one by one", *course(answer.missed)))
        return replace(made, worst=worst, best=_placed(answer, cell.wanted))
    if answer.verdict == CERTAIN and gang.needed == gang.pods:
        return _made(cell, FINE, Range(cell.wanted, cell.wanted, "search"), why)
    return cell


def _never(cell: Cell, why: str, workload: Workload, worst: Witness | None) -> Cell:
    made = _made(cell, BAD, Range(0, 0, "closed-form"), why)
    if cell.event != "deploy":
        worst = Witness(0, False, ("none of its pods ran before",))
    return replace(made, blamed=workload, at=workload.replicas_path, worst=worst)


def _made(cell: Cell, verdict: str, bound: Range, why: str) -> Cell:
    text = words(cell.event, cell.wanted, bound, stuck=False, always_stuck=False)
    return Cell(cell.event, verdict, cell.wanted, bound, text=text, why=why, assumes=cell.assumes)


def _too_few(answer: Answer) -> Witness:
    if not answer.most:
        return Witness(0, False, ("none of its pods finds a node",))
    fitting = f"at most {answer.most} of its {answer.gang.pods} pods find a node"
    return Witness(0, False, (fitting, f"none is bound; those with a node say: {SHORT}"))


def _placed(answer: Answer, wanted: int) -> Witness:
    return Witness(wanted, True, tuple(f"{pod} on {node}" for pod, node in answer.placement))


def _is_alone(answer: Answer, scenario: Scenario) -> bool:
    """Whether no other workload of the set competes with the gang."""
    members = {member.workload.ref for member in answer.gang.members}
    return all(workload.ref in members for workload in scenario.as_created)
