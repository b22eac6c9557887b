"""A gang of pods waits for a group that is missing, or for more members than it will ever have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesched_lint.engine.base.text import did_you_mean, joined, many
from kubesched_lint.engine.model.feature_gates import GANGS, GROUPS
from kubesched_lint.engine.model.policy import PodGroup
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.gangs import (
    Gang,
    at_once,
    gates_of,
    gates_premise,
    group_around,
    group_names,
    pod_group,
)
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.findings import Hazard, Place, Severity, pattern, proof


def check(it: Member) -> Iterator[Hazard]:
    name = it.workload.pod.group
    if not name or gates_of(it.scenario).get(GROUPS) is False:
        return
    group = pod_group(it.scenario, it.workload.namespace, name)
    if group is None:
        yield _missing(it, name)
        return
    gang = group_around(it)
    if gang is None or it.workload.ref != gang.members[0].workload.ref or not _holds_back(group, it.scenario):
        return
    if any(member.workload.kind == "DaemonSet" for member in gang.members):
        return
    most = sum(member.most_wanted for member in gang.members)
    first = sum(at_once(member.workload, member.most_wanted) for member in gang.members)
    if most < gang.needed:
        named = joined([str(each.workload) for each in gang.members])
        yield _few(gang, most, f"{many(most, 'pod')} of {named}", "few", {})
    elif first < gang.needed and not any(member.running_pods for member in gang.members):
        ordered = next(each.workload for each in gang.members if at_once(each.workload, each.replicas) < each.replicas)
        text = f"{many(first, 'pod')} created before one is ready"
        yield _few(gang, first, text, "ordered", {"ordered": str(ordered)})


def _holds_back(group: PodGroup, scenario: Scenario) -> bool:
    """Whether the gates are on; those of a stored group may be, and podgroup-ignored speaks of the others."""
    gates, is_stored = gates_of(scenario), group.source is None
    return group.min_count is not None and all(gates.get(gate, is_stored) for gate in (GROUPS, GANGS))


def _missing(it: Member, name: str) -> Hazard:
    known = it.scenario.cluster_has("PodGroup")
    stated = GROUPS in gates_of(it.scenario)
    return Hazard(
        at=(*it.workload.pod.path, "schedulingGroup", "podGroupName"),
        evidence=pattern(
            f"no PodGroup {it.workload.namespace}/{name}"
            + ("" if known else " in the manifests")
            + ("" if stated else f", if the feature gate {GROUPS} is on")
            + did_you_mean(name, group_names(it.scenario, it.workload.namespace))
        ),
        values={"group": name, "where": "the manifests or the cluster" if known else "the manifests"},
    )


def _few(gang: Gang, most: int, text: str, variant: str, values: Mapping[str, object]) -> Hazard:
    group, first = gang.group, gang.members[0].workload
    related = [] if group.source is None else [Place(group.path, "how many must come together", group.source)]
    for member in gang.members[1:]:
        workload = member.workload
        related.append(
            Place(
                workload.replicas_path, f"{many(member.replicas, 'pod')} of {workload}", workload.source, workload.ref
            )
        )
    return Hazard(
        at=(*first.pod.path, "schedulingGroup", "podGroupName"),
        together=tuple(member.workload.ref for member in gang.members),
        evidence=proof(
            f"minCount {gang.needed} > {text}",
            demand=gang.needed,
            supply=most,
            assumes=("no other workload has pods in the group", *gates_premise(gang.members[0].scenario)),
        ),
        severity=Severity.WARNING,
        values={
            "pending": pods_wanted(gang.members[0]),
            "group": group.name,
            "least": gang.needed,
            "pods": most,
            **values,
        },
        related=tuple(related),
        variant=variant,
    )
