"""A gang of pods waits for a group that is missing, or for more members than it will ever have."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.findings import Hazard, Place, pattern, proof
from kubesched_lint.model.feature_gates import GROUPS
from kubesched_lint.model.workload import Workload
from kubesched_lint.world.gangs import gates_of, pod_group
from kubesched_lint.world.world import Member, World


def check(it: Member) -> Iterator[Hazard]:
    name = it.workload.pod.group
    if not name or gates_of(it.world).get(GROUPS) is False:
        return
    at = (*it.workload.pod.path, "schedulingGroup", "podGroupName")
    group = pod_group(it.world, it.workload.namespace, name)
    if group is None:
        known = it.world.cluster_has("PodGroup")
        yield Hazard(
            at=at,
            evidence=pattern(f"no PodGroup {it.workload.namespace}/{name}" + ("" if known else " in the manifests")),
            values={"group": name, "where": "the manifests or the cluster" if known else "the manifests"},
        )
        return
    gang = _members(it.world, it.workload.namespace, name)
    pods = sum(it.world.member(w).replicas for w in gang)
    if group.min_count is None or pods >= group.min_count or any(w.kind == "DaemonSet" for w in gang):
        return
    related = () if group.source is None else (Place(group.path, "how many must come together", group.source),)
    yield Hazard(
        at=at,
        evidence=proof(
            f"minCount {group.min_count} > {pods} pods of {', '.join(str(w) for w in gang)}",
            demand=group.min_count,
            supply=pods,
            assumes=("no other workload has pods in the group",),
        ),
        values={"group": name, "least": group.min_count, "pods": pods},
        related=related,
        variant="few",
    )


def _members(world: World, namespace: str, name: str) -> tuple[Workload, ...]:
    """The workloads of the set whose pods are in the group."""
    return tuple(w for w in world.manifests.workloads if w.namespace == namespace and w.pod.group == name)
