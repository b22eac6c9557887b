"""A Workload's template needs more pods than its controller ever makes."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.model.feature_gates import GROUPS
from kubesched_lint.engine.model.policy import GroupTemplates, PodGroup
from kubesched_lint.engine.scenario.gangs import gates_of
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.findings import Hazard, Place, proof


def check(scenario: Scenario) -> Iterator[Hazard]:
    if gates_of(scenario).get(GROUPS) is False:
        return
    controllers = {(w.namespace, w.kind, w.name): w for w in scenario.as_deployed if w.kind != "DaemonSet"}
    for templates in scenario.manifests.group_templates:
        controller = controllers.get((templates.namespace, *templates.controller))
        if controller is None:
            continue
        member = scenario.member(controller)
        for template in templates.templates:
            if template.min_count is not None and template.min_count > member.most_wanted:
                yield _hazard(templates, template, member, gates_are_stated=GROUPS in gates_of(scenario))


def _hazard(templates: GroupTemplates, template: PodGroup, member: Member, *, gates_are_stated: bool) -> Hazard:
    least, most = template.min_count or 0, member.most_wanted
    gates = () if gates_are_stated else ("the feature gates of gangs are on",)
    return Hazard(
        at=template.path,
        source=templates.source,
        victim=ObjectRef("Workload", templates.namespace, templates.name),
        evidence=proof(
            f"minCount {least} > {most} pods of {member.workload}",
            demand=least,
            supply=most,
            assumes=("no other controller has pods in the group", *gates),
        ),
        values={
            "workload": f"{templates.namespace}/{templates.name}",
            "template": template.name,
            "least": least,
            "pods": most,
            "controller": str(member.workload),
        },
        related=(
            Place(
                member.workload.replicas_path,
                "the most pods that it makes",
                member.workload.source,
                member.workload.ref,
            ),
        ),
    )
