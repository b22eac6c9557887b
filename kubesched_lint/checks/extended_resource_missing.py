"""A pod requests a device that no usable node offers."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import first_few, is_slip
from kubesched_lint.engine.model.pod import profile_of
from kubesched_lint.engine.model.resources import is_extended, is_ignored, request_path
from kubesched_lint.engine.scenario.others.room import why_closed
from kubesched_lint.engine.scenario.premises.device_premises import class_premises
from kubesched_lint.engine.scenario.premises.premises import node_premises, none_of_nodes
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import akin_resources, correction, hint, nearest_resource
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.findings import Hazard, proof
from kubesched_lint.sources.manifests.changes import Rename

_INTOLERANT = "it does not tolerate "
_BY_LABELS = "let the pod use these nodes: select their labels, and tolerate their taints"


def check(it: Member) -> Iterator[Hazard]:
    """The index knows that a DeviceClass serves a resource where no node offers it."""
    within = it.reach.tolerated
    if it.workload.kind == "DaemonSet" or not within:
        return
    for resource, amount in it.pod.requests.items():
        if amount <= 0 or not is_extended(resource) or is_ignored(resource, profile_of(it.pod)):
            continue
        offering = it.scenario.index.all & ~it.scenario.index.short_of(resource, 1)
        if within & offering:
            continue
        near = nearest_resource(resource, it.scenario.index.offered)
        akin = first_few(akin_resources(resource, it.scenario.index.offered), most=2)
        lacked = resource if offering else _lacked(it, resource)
        why = why_closed(it, offering) if offering else ""
        yield Hazard(
            at=request_path(it.workload, resource),
            evidence=proof(
                f"{none_of_nodes(it.scenario, within)} that it may use offers {resource}: Insufficient {resource}",
                demand=amount,
                supply=0,
                assumes=(*node_premises(it), *class_premises(lacked, it.scenario)),
            ),
            values={
                "resource": resource,
                "nodes": it.scenario.names(offering),
                "why": why,
                "how": f"add a toleration for {why.removeprefix(_INTOLERANT)}" if _INTOLERANT in why else _BY_LABELS,
                "nearest": hint(near or akin, "they offer "),
                "correction": correction(near),
                "replicas": it.replicas,
            },
            cause="" if offering or near else lacked,
            variant="elsewhere" if offering else "default",
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Name the resource as nodes do."""
    resource = str(hazard.values["resource"])
    nearest = nearest_resource(resource, it.scenario.index.offered) if hazard.variant == "default" else ""
    if not nearest:
        return
    holders = [
        (*container.path, "resources", what)
        for container in (*it.workload.pod.containers, *it.workload.pod.init_containers)
        for what in ("requests", "limits")
    ]
    changes = tuple(
        Rename((*at, resource), nearest)
        for at in holders
        if written_at(it.workload.source, (*at, resource)) is not None
    )
    if changes:
        yield Remedy(f"ask for {nearest}, which nodes offer", is_slip(resource, nearest), changes)


def _lacked(it: Member, resource: str) -> str:
    """What the cluster lacks: the resource, or all of its vendor's (``intel.com/*``) if no node offers any of these."""
    vendor = _vendor(resource)
    return resource if vendor in map(_vendor, it.scenario.index.offered) else f"{vendor}/*"


def _vendor(resource: str) -> str:
    """The vendor's domain: ``intel.com`` of ``gpu.intel.com/i915``."""
    return ".".join(resource.partition("/")[0].split(".")[-2:])
