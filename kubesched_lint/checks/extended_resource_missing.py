"""A device is asked for that no node within reach offers."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts, request_path
from kubesched_lint.analysis.nearest import hint, nearest_resource
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import is_slip, written_at
from kubesched_lint.findings import Hazard, proof
from kubesched_lint.manifests.changes import Rename
from kubesched_lint.model.resources import is_extended
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """What a DeviceClass offers is DRA's, and ``facts.pod`` leaves it out."""
    within = facts.reach(workload).tolerated
    if workload.kind == "DaemonSet" or not within:
        return
    for resource, amount in facts.pod(workload).requests.items():
        if amount <= 0 or not is_extended(resource):
            continue
        offering = facts.index.all & ~facts.index.short_of(resource, 1)
        if within & offering:
            continue
        yield Hazard(
            at=request_path(workload, resource),
            evidence=proof(
                f"0 of {within.bit_count()} nodes it may use offer {resource}: Insufficient {resource}",
                demand=amount,
                supply=0,
                assumes=_premises(workload, resource, facts),
            ),
            values={
                "resource": resource,
                "count": within.bit_count(),
                "nodes": facts.names(offering),
                "why": _why(workload, offering, facts) if offering else "",
                "nearest": hint(nearest_resource(resource, facts.index.nodes), "they offer "),
                "replicas": facts.replicas(workload),
            },
            variant="elsewhere" if offering else "default",
        )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Name the resource as nodes do."""
    resource = str(hazard.values["resource"])
    meant = nearest_resource(resource, facts.index.nodes) if hazard.variant == "default" else ""
    if not meant:
        return
    holders = [
        (*container.path, "resources", what)
        for container in (*workload.pod.containers, *workload.pod.init_containers)
        for what in ("requests", "limits")
    ]
    changes = tuple(
        Rename((*at, resource), meant) for at in holders if written_at(workload.source, (*at, resource)) is not None
    )
    if changes:
        yield Remedy(f"ask for {meant}, which nodes offer", is_slip(resource, meant), changes)


def _why(workload: Workload, offering: int, facts: Facts) -> str:
    """What keeps the pod from the nodes that have it."""
    matching = offering & facts.reach(workload).matching
    if not matching:
        return "its node selector or node affinity leaves them out"
    return "it does not tolerate " + ", ".join(str(t) for t in facts.taints_in_the_way(workload, matching))


def _premises(workload: Workload, resource: str, facts: Facts) -> tuple[str, ...]:
    premises = facts.node_premises(workload)
    if facts.cluster_has("DeviceClass"):
        return premises
    return (*premises, f"no DeviceClass offers {resource} (DRAExtendedResource)")
