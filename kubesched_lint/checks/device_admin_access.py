"""A claim with adminAccess in a namespace without the label that allows it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.model.devices.devices import DeviceClaim, DeviceClaimTemplate
from kubesched_lint.engine.scenario.premises.device_premises import ADMIN_LABEL
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Hazard, proof


def check(scenario: Scenario) -> Iterator[Hazard]:
    """Mirrors AuthorizedForAdmin of ``pkg/registry/resource/utils.go`` (v1.36): the first request is to blame."""
    claims: tuple[DeviceClaim | DeviceClaimTemplate, ...] = scenario.manifests.device_claims
    for claim in (*claims, *scenario.manifests.device_claim_templates):
        labels = scenario.namespaces.labels.get(claim.namespace)
        if labels is None or labels.get(ADMIN_LABEL) == "true":
            continue
        for i, request in enumerate(claim.requests):
            if request.admin_access:
                yield _hazard(claim, i)
                break


def _hazard(claim: DeviceClaim | DeviceClaimTemplate, number: int) -> Hazard:
    kind = "ResourceClaim" if isinstance(claim, DeviceClaim) else "ResourceClaimTemplate"
    field = f"spec.devices.requests[{number}].adminAccess"  # also of a template: upstream's path has one "spec" less
    words = f"{field}: Forbidden: admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing"
    return Hazard(
        at=(*claim.requests[number].path, "adminAccess"),
        source=claim.source,
        victim=ObjectRef(kind, claim.namespace, claim.name),
        evidence=proof(
            f"422: {words} namespace",
            assumes=(f"nobody adds the label to namespace {claim.namespace} before",),
        ),
        values={"words": f"{words} namespace", "label": ADMIN_LABEL},
    )
