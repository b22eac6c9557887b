"""The claims of manifests and cluster, found by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.plain import mappings_at, value_at
from kubesched_lint.engine.base.text import closest
from kubesched_lint.engine.controllers.statefulset import ClaimNames, ordinals_with
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scenario.storage.volume_places import volumes_of

if TYPE_CHECKING:
    from kubesched_lint.engine.model.storage import Claim
    from kubesched_lint.engine.model.workloads.workload import Workload


def all_claims(scenario: Scenario) -> Iterator[Claim]:
    """Yield the claims of the manifests, then those of the cluster."""
    yield from scenario.manifests.claims
    if scenario.cluster is not None:
        yield from scenario.cluster.inventory.claims


def claim_named(scenario: Scenario, namespace: str, name: str) -> Claim | None:
    """Return a claim of the manifests, else of the cluster; None if neither has it."""
    return _claims_by_name(scenario).get((namespace, name))


def claims_of_volumes(it: Member) -> Iterator[tuple[Path, Claim, bool]]:
    """Yield (path of its name, claim, whether a container may mount it) for each volume with a known claim.

    The kubelet waits for no other volume (``volume/util/util.go``, GetPodVolumeNames, v1.36).
    """
    mounted = _mounted(it.workload)
    for volume in it.workload.pod.volumes:
        claim = claim_named(it.scenario, it.workload.namespace, volume.claim) if volume.claim else None
        if claim is not None and volume.kind == "persistentVolumeClaim":
            yield (*volume.path, "claimName"), claim, mounted is None or volume.name in mounted


def _mounted(workload: Workload) -> frozenset[str] | None:
    """Return the names of the volumes that containers mount; None if the manifest does not say."""
    spec = value_at(getattr(workload.source, "value", None), workload.pod.path)
    if not isinstance(spec, dict):
        return None
    containers = (c for key in ("initContainers", "containers") for c in mappings_at(spec, (key,)))
    entries = (m for c in containers for key in ("volumeMounts", "volumeDevices") for m in mappings_at(c, (key,)))
    return frozenset(str(entry.get("name")) for entry in entries)


@once_per_scenario
def _claims_by_name(scenario: Scenario) -> Mapping[tuple[str, str], Claim]:
    """Return (namespace, name) → claim; of several claims with one name, the first."""
    by_name: dict[tuple[str, str], Claim] = {}
    for claim in all_claims(scenario):
        by_name.setdefault((claim.namespace, claim.name), claim)
    return by_name


def known_ordinals(it: Member) -> list[int]:
    """Return the ordinals of a StatefulSet that have a claim, or a volume reserved for one.

    Nothing is known about the other ordinals; there may be billions.
    """
    claims = _names_of_claims(it.scenario).get(it.workload.namespace)
    ordinals = ordinals_with(it.workload, claims) if claims is not None else ()
    return sorted(ordinal for ordinal in ordinals if 0 <= ordinal - it.workload.first_ordinal < it.replicas)


@once_per_scenario
def _names_of_claims(scenario: Scenario) -> Mapping[str, ClaimNames]:
    """Return namespace → the names of its claims, and of claims for which a volume is reserved."""
    names: dict[str, list[str]] = {}
    for claim in all_claims(scenario):
        names.setdefault(claim.namespace, []).append(claim.name)
    for volume in volumes_of(scenario):
        if volume.claim_ref is not None:
            names.setdefault(volume.claim_ref[0], []).append(volume.claim_ref[1])
    return {namespace: ClaimNames(claims) for namespace, claims in names.items()}


def nearest_claim(scenario: Scenario, namespace: str, name: str) -> str:
    """Return the claim of the namespace whose name is most similar to ``name``; empty if none is."""
    return closest(name, (c.name for c in all_claims(scenario) if c.namespace == namespace), 0.75)
