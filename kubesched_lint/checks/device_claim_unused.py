"""Pods hold the devices of a claim that no container of theirs uses."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.plain import mappings_at
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.devices.requests import must_have_claims
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Append

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def check(it: Member) -> Iterator[Hazard]:
    must_have_claims(it.scenario)
    spec = written_at(it.workload.source, it.workload.pod.path)
    if not isinstance(spec, dict):
        return
    containers = [container for key in _CONTAINERS for container in mappings_at(spec, (key,))]
    used = [entry.get("name") for each in containers for entry in mappings_at(each, ("resources", "claims"))]
    for i, reference in enumerate(it.workload.pod.resource_claims):
        if reference.name not in used:
            yield Hazard(
                at=(*it.workload.pod.path, "resourceClaims", i),
                evidence=pattern(f"no container has {reference.name} in resources.claims"),
                values={"claim": reference.name},
            )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Give the claim to the only container."""
    containers = it.workload.pod.containers
    if len(containers) == 1:
        name = str(hazard.values["claim"])
        change = Append(
            (*containers[0].path, "resources", "claims"), {"name": name}, after=("image", "requests", "limits")
        )
        yield Remedy(f"give the claim {name} to the container {containers[0].name}", safe=False, changes=(change,))
