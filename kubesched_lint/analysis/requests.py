"""Where a request of a pod is written."""

from __future__ import annotations

from kubesched_lint.findings import Path
from kubesched_lint.model.workload import Workload


def request_path(workload: Workload, resource: str) -> Path:
    """Where the largest request of a resource is written: of the pod, of a container, or its limit instead."""
    pod = workload.pod
    if pod.pod_requests and resource in pod.pod_requests:
        return (*pod.path, "resources", "requests", resource)
    asking = [c for c in (*pod.containers, *pod.init_containers) if c.requests.get(resource)]
    if not asking:
        return (*pod.path, "overhead") if resource in pod.overhead else pod.path
    largest = max(asking, key=lambda c: c.requests[resource])
    where: Path = (*largest.path, "resources", "requests", resource)
    if workload.source is not None and workload.source.span(where) == workload.source.span(where[:-1]):
        return (*largest.path, "resources", "limits", resource)  # only a limit is written: it is the request too
    return where
