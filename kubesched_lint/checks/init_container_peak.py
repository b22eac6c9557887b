"""An init container requests more than the containers after it, and the pod keeps that reservation for life."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.model.pod import Container, Pod
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.resources import effective_requests
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.document import Document


def check(it: Member) -> Iterator[Hazard]:
    pod = it.pod
    sidecars = tuple(c for c in pod.init_containers if c.restart_always)
    steady = effective_requests(pod.containers, sidecars)
    peak = effective_requests(pod.containers, pod.init_containers)
    for resource, amount in peak.items():
        if amount <= steady.get(resource, 0) or resource in (pod.pod_requests or {}):
            continue
        largest = _largest(pod, resource)
        if largest is None or not _is_users(it.workload, largest):
            continue
        by_limit = largest.limits.get(resource) == largest.requests[resource] and not _requested(it.workload, largest)
        yield Hazard(
            at=_at(largest, resource, by_limit),
            evidence=pattern(f"{show(resource, amount)} before start, {show(resource, steady.get(resource, 0))} after"),
            values={
                "resource": resource,
                "peak": show(resource, amount),
                "steady": show(resource, steady.get(resource, 0)),
                "container": largest.name,
            },
            variant="limit" if by_limit else "default",
        )


def _largest(pod: Pod, resource: str) -> Container | None:
    ending = [c for c in pod.init_containers if not c.restart_always and c.requests.get(resource)]
    return max(ending, key=lambda c: c.requests[resource], default=None)


def _is_users(workload: Workload, container: Container) -> bool:
    """Whether a user wrote the container; the operator of a custom resource may add one, which nobody can change."""
    source = workload.source
    if workload.custom is None or not isinstance(source, Document):
        return True
    move = source.moved(container.path)
    return move.is_exact and value_at(move.document.value, move.at) is not None


def _at(container: Container, resource: str, by_limit: bool) -> Path:
    return (*container.path, "resources", "limits" if by_limit else "requests", resource)


def _requested(workload: Workload, container: Container) -> bool:
    """Whether the manifest itself sets requests; otherwise the API server copies the limits."""
    source, where = workload.source, (*container.path, "resources", "requests")
    return not isinstance(source, Document) or value_at(source.value, where) is not None
