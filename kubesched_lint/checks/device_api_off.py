"""An object of a beta version of resource.k8s.io, which API servers serve only if somebody turned it on."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.quirks import DYNAMIC_RESOURCES, has
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Put
from kubesched_lint.sources.manifests.document import Document

_GROUP = "resource.k8s.io"
_STABLE = f"{_GROUP}/v1"
_GONE_IN = {f"{_GROUP}/v1beta1": "1.38", f"{_GROUP}/v1beta2": "1.39"}
"""Version → the first release that cannot serve it (``zz_generated.prerelease-lifecycle.go``, v1.36)."""
_KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")


def check(document: Document, scenario: Scenario) -> Iterator[Hazard]:
    """Kubernetes 1.34 and later serve v1, and beta versions are off by default (``pkg/controlplane/instance.go``)."""
    gone = _GONE_IN.get(document.api_version)
    if gone is None or document.kind not in _KINDS or document.is_stored:
        return  # what a server has stored, it serves
    if not has(scenario.premises.kubernetes_version, DYNAMIC_RESOURCES):
        return
    yield Hazard(
        at=("apiVersion",),
        evidence=pattern(f"{document.api_version} is off by default"),
        values={"written": document.api_version, "gone": gone, "stable": _STABLE},
        cause=document.api_version,
        variant="moved" if _has_moved(document) else "default",
    )


def fix(hazard: Hazard, document: Document, scenario: Scenario) -> Iterator[Remedy]:
    """Write the stable version if every field of the object is the same there."""
    if hazard.variant == "default":
        yield Remedy(f"write {_STABLE}", safe=True, changes=(Put(("apiVersion",), _STABLE),))


def _has_moved(document: Document) -> bool:
    """Whether v1 has fields of the object elsewhere: v1beta1 has no ``exactly``, and devices have ``basic``."""
    return document.api_version.endswith("v1beta1") and document.kind != "DeviceClass"
