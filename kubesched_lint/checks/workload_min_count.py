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
    for one in scenario.manifests.group_templates:
        controller = controllers.get((one.namespace, *one.controller))
        if controller is None:
            continue
        it = scenario.member(controller)
        for template in one.templates:
            if template.min_count is not None and template.min_count > it.most_wanted:
                yield _hazard(one, template, it, gates_are_stated=GROUPS in gates_of(scenario))


def _hazard(one: GroupTemplates, template: PodGroup, it: Member, *, gates_are_stated: bool) -> Hazard:
    least, most = template.min_count or 0, it.most_wanted
    gates = () if gates_are_stated else ("the feature gates of gangs are on",)
    return Hazard(
        at=template.path,
        source=one.source,
        victim=ObjectRef("Workload", one.namespace, one.name),
        evidence=proof(
            f"minCount {least} > {most} pods of {it.workload}",
            demand=least,
            supply=most,
            assumes=("no other controller has pods in the group", *gates),
        ),
        values={
            "workload": f"{one.namespace}/{one.name}",
            "template": template.name,
            "least": least,
            "pods": most,
            "controller": str(it.workload),
        },
        related=(Place(it.workload.replicas_path, "the most pods that it makes", it.workload.source, it.workload.ref),),
    )
