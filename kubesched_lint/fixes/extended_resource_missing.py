"""The resource by the name under which nodes offer it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import nearest_resource
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._written import is_slip, written
from kubesched_lint.manifests.changes import Rename
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
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
        Rename((*at, resource), meant) for at in holders if written(workload.source, (*at, resource)) is not None
    )
    if changes:
        yield Remedy(f"ask for {meant}, which nodes offer", is_slip(resource, meant), changes)
