"""The pods name a ResourceClaim, or the template of one, that does not exist."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import joined
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.devices.requests import IS_NOT_HERE, IS_NOWHERE, devices_in, must_have_claims, references
from kubesched_lint.explaining.near_misses.nearest import correction, hint, nearest_class
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    must_have_claims(it.scenario)
    unknown: list[str] = []
    for reference, kind, name, at in references(it):
        known = _known(it, kind)
        if (it.workload.namespace, name) in known:
            continue
        meant = nearest_class(it.scenario, kind, name, _names(it, kind))
        if meant or it.scenario.cluster_has(kind):
            yield _hazard(it, reference, kind, name, at, meant)
        else:
            unknown.append(kind)
    if unknown:
        raise UncheckedError(f"needs {unknown[0]}s (kubectl get {unknown[0].lower()}s -A), which no snapshot holds")


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write the correct name."""
    meant = str(hazard.values["meant"])
    if meant:
        yield Remedy(f"write {meant}", safe=False, changes=(Put(hazard.at, meant),))


def _hazard(it: Member, reference: str, kind: str, name: str, at: Path, meant: str) -> Hazard:
    elsewhere = sorted(namespace for namespace, other in _known(it, kind) if other == name)
    near = meant or (f"one in namespace {joined(elsewhere[:3])}" if elsewhere else "")
    is_template = kind == "ResourceClaimTemplate"
    event = f'PodResourceClaim {reference}: resource claim template "{name}": ' if is_template else ""
    return Hazard(
        at=at,
        evidence=pattern(f'{event}{kind.lower()}.resource.k8s.io "{name}" not found'),
        values={
            "kind_of_claim": kind,
            "claim": name,
            "is_nowhere": IS_NOWHERE if it.scenario.cluster_has(kind) else IS_NOT_HERE,
            "nearest": hint(near, "there is "),
            "meant": meant,
            "correction": correction(meant),
        },
        cause="" if meant else f"{kind} {it.workload.namespace}/{name}",
        variant="template" if is_template else "default",
    )


def _known(it: Member, kind: str) -> Collection[tuple[str, str]]:
    """Return (namespace, name) of all claims or templates."""
    devices = devices_in(it.scenario)
    return devices.templates if kind == "ResourceClaimTemplate" else devices.claims


def _names(it: Member, kind: str) -> list[str]:
    return [name for namespace, name in _known(it, kind) if namespace == it.workload.namespace]
