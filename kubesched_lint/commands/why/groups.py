"""The part of ``why`` about the gangs of a workload: whether their pods start."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.gangs.answers import (
    CERTAIN,
    FEWER,
    IMPOSSIBLE,
    MAY_MISS,
    UNKNOWN,
    Answer,
    Places,
    because,
    course,
    placed,
)
from kubesched_lint.engine.placing.gangs.fit import answers
from kubesched_lint.engine.scenario.gangs import gates_premise, preemption_premise
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.missing_facts import fate_of_group

_OUTCOMES = {
    FEWER: "No pod of the group starts",
    IMPOSSIBLE: "No pod of the group starts",
    MAY_MISS: "The group may not start",
    CERTAIN: "The group starts",
}
_FOREIGN = {
    FEWER: "fewer are created",
    MAY_MISS: "they fit, but the scheduler may miss the placement",
    CERTAIN: "they fit in every order",
}


class GroupAnswer(Struct, frozen=True):
    """What becomes of a gang of kube-scheduler, deployed beside the running pods alone."""

    group: str
    """``namespace/name``."""
    verdict: str
    """One of ``too few``, ``impossible``, ``may miss`` and ``certain``."""
    text: str
    placement: Places = ()
    """(pod, node) of enough pods."""
    course: tuple[str, ...] = ()
    """A course of the scheduler that misses the placement."""

    @property
    def never_starts(self) -> bool:
        return self.verdict in (FEWER, IMPOSSIBLE)

    @property
    def lines(self) -> tuple[str, ...]:
        """The placement and the course."""
        return (*((f"a placement: {placed(self.placement)}",) if self.placement else ()), *self.course)


def group_answer(scenario: Scenario, workload: Workload) -> GroupAnswer | None:
    """Return the answer about the PodGroup of a workload; None if it is in none, or the answer is unknown."""
    for answer in _about(scenario, workload):
        if not answer.gang.is_foreign and answer.verdict != UNKNOWN:
            text = f"{_OUTCOMES[answer.verdict]}: {because(answer)}."
            missing = course(answer.missed) if answer.missed is not None else ()
            return GroupAnswer(str(answer.gang), answer.verdict, text, answer.placement, missing)
    return None


def group_notes(scenario: Scenario, workload: Workload) -> Iterator[str]:
    """Yield what the answer about the PodGroup of a workload assumes, or why there is none."""
    for answer in _about(scenario, workload):
        if not answer.gang.is_foreign and answer.verdict == UNKNOWN:
            yield f"not known: {fate_of_group(answer.gang.group.name)}: {answer.reason}"
        elif not answer.gang.is_foreign:
            premises = (*preemption_premise(answer.gang, scenario), *gates_premise(scenario))
            yield from (f"assumed: {premise}" for premise in premises)


def foreign_notes(scenario: Scenario, workload: Workload) -> Iterator[str]:
    """Yield whether the gangs fit that another system admits."""
    for answer in _about(scenario, workload):
        gang = answer.gang
        if gang.is_foreign and answer.verdict != UNKNOWN:
            how = answer.shortage if answer.verdict == IMPOSSIBLE else _FOREIGN[answer.verdict]
            yield f"{gang.group.system} starts its pods with those of {gang}, {gang.needed} at the same time: {how}"


def _about(scenario: Scenario, workload: Workload) -> Iterator[Answer]:
    return (a for a in answers(scenario) if any(member.workload.ref == workload.ref for member in a.gang.members))
