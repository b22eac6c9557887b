"""A gang fits, but kube-scheduler may place its pods so that the last ones find no room."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.policy import VOLCANO
from kubesched_lint.engine.placing.gangs.answers import MAY_MISS, Answer, course, placed
from kubesched_lint.engine.scenario.gangs import gates_premise, preemption_premise
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.gangs import answers_about, place_of
from kubesched_lint.findings import Hazard, witness


def check(scenario: Scenario) -> Iterator[Hazard]:
    for answer in answers_about(scenario):
        # Volcano chooses nodes by its own rules: a course of kube-scheduler shows nothing about it.
        if answer.verdict == MAY_MISS and answer.gang.group.system != VOLCANO:
            yield _hazard(answer, _assumed(answer, scenario))


def _assumed(answer: Answer, scenario: Scenario) -> tuple[str, ...]:
    gates = () if answer.gang.is_foreign else gates_premise(scenario)
    return (*preemption_premise(answer.gang, scenario), *gates)


def _hazard(answer: Answer, assumes: tuple[str, ...]) -> Hazard:
    gang, missed = answer.gang, answer.missed
    assert missed is not None, "a course that misses has an end"
    at, source = place_of(gang)
    return Hazard(
        at=at,
        source=source,
        victim=gang.members[0].workload.ref,
        evidence=witness(
            f"{gang.needed} pods fit in one placement, and a course of the scheduler ends without it",
            trace=(
                f"a placement: {placed(answer.placement)}",
                "the scheduler places pod after pod on the best node that is left, and never moves one",
                *course(missed),
            ),
            assumes=assumes,
        ),
        values={
            "group": str(gang),
            "system": gang.group.system,
            "needed": gang.needed,
            "workloads": tuple(str(member.workload) for member in gang.members),
        },
        variant="foreign" if gang.is_foreign else "default",
    )
