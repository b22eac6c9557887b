"""More pods must run at the same time than the nodes can hold."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.placing.gangs.answers import IMPOSSIBLE, Answer
from kubesched_lint.engine.scenario.gangs import domains, gates_premise, preemption_premise
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.premises.device_premises import set_premises
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.gangs import answers_about, place_of
from kubesched_lint.findings import Hazard, Place, Severity, proof


def check(scenario: Scenario) -> Iterator[Hazard]:
    for answer in answers_about(scenario):
        if answer.verdict == IMPOSSIBLE and domains(answer.gang, scenario):  # else podgroup-topology-key reports it
            yield _hazard(answer, scenario)


def _hazard(answer: Answer, scenario: Scenario) -> Hazard:
    gang = answer.gang
    at, source = place_of(gang)
    doubts: list[str] = []
    if staying_beside_set(scenario).pods:
        doubts.append("the running pods of others stay where they are")
    if gang.is_foreign:
        doubts.append(f"{gang.group.system} puts pods only where kube-scheduler would")
    severity = Severity.WARNING if doubts else None
    assumes = [*set_premises((member.workload.pod for member in gang.members), scenario), *doubts]
    if not gang.is_foreign:
        assumes += (*preemption_premise(gang, scenario), *gates_premise(scenario))
    names = tuple(str(member.workload) for member in gang.members)
    where = f" in one {answer.key}" if answer.key else ""
    return Hazard(
        at=at,
        source=source,
        victim=gang.members[0].workload.ref,
        together=tuple(member.workload.ref for member in gang.members),
        severity=severity,
        evidence=proof(
            f"{gang.needed} pods at the same time > {answer.most}, the most that fit{where}",
            demand=gang.needed,
            supply=answer.most,
            assumes=tuple(assumes),
        ),
        values={
            "group": str(gang),
            "system": gang.group.system,
            "needed": gang.needed,
            "most": answer.most,
            "workloads": names,
            "where": where,
        },
        variant="foreign" if gang.is_foreign else "default",
        related=tuple(
            Place(
                member.workload.replicas_path,
                f"{many(member.replicas, 'pod')} of {member.workload}",
                member.workload.source,
                member.workload.ref,
            )
            for member in gang.members
            if member.workload.source is not source
        ),
    )
