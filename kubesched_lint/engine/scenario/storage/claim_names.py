"""The claims of manifests and cluster, found by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.plain import mappings_at, value_at
from kubesched_lint.engine.base.text import closest
from kubesched_lint.engine.controllers.statefulset import ClaimNames, ordinals_with
from kubesched_lint.engine.scenario.storage.volume_places import volumes_of
from kubesched_lint.engine.scenario.world import Member, World, once_per_world

if TYPE_CHECKING:
    from kubesched_lint.engine.model.storage import Claim
    from kubesched_lint.engine.model.workload import Workload


def all_claims(world: World) -> Iterator[Claim]:
    """Yield the claims of the manifests, then those of the cluster."""
    yield from world.manifests.claims
    if world.cluster is not None:
        yield from world.cluster.inventory.claims


def claim_named(world: World, namespace: str, name: str) -> Claim | None:
    """Return a claim of the manifests, else of the cluster; None if neither has it."""
    return _claims_by_name(world).get((namespace, name))


def claims_of_volumes(it: Member) -> Iterator[tuple[Path, Claim, bool]]:
    """Yield (path of its name, claim, whether a container may mount it) for each volume with a known claim.

    The kubelet waits for no other volume (``volume/util/util.go``, GetPodVolumeNames, v1.36).
    """
    mounted = _mounted(it.workload)
    for volume in it.workload.pod.volumes:
        claim = claim_named(it.world, it.workload.namespace, volume.claim) if volume.claim else None
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


@once_per_world
def _claims_by_name(world: World) -> Mapping[tuple[str, str], Claim]:
    """Return (namespace, name) → claim; of several claims with one name, the first."""
    found: dict[tuple[str, str], Claim] = {}
    for claim in all_claims(world):
        found.setdefault((claim.namespace, claim.name), claim)
    return found


def known_ordinals(it: Member) -> list[int]:
    """Return the ordinals of a StatefulSet that have a claim, or a volume reserved for one.

    Nothing is known about the other ordinals; there may be billions.
    """
    claims = _names_of_claims(it.world).get(it.workload.namespace)
    found = ordinals_with(it.workload, claims) if claims is not None else ()
    return sorted(ordinal for ordinal in found if 0 <= ordinal - it.workload.first_ordinal < it.replicas)


@once_per_world
def _names_of_claims(world: World) -> Mapping[str, ClaimNames]:
    """Return namespace → the names of its claims, and of claims for which a volume is reserved."""
    names: dict[str, list[str]] = {}
    for claim in all_claims(world):
        names.setdefault(claim.namespace, []).append(claim.name)
    for volume in volumes_of(world):
        if volume.claim_ref is not None:
            names.setdefault(volume.claim_ref[0], []).append(volume.claim_ref[1])
    return {namespace: ClaimNames(those) for namespace, those in names.items()}


def nearest_claim(world: World, namespace: str, name: str) -> str:
    """Return the claim of the namespace whose name is most similar to ``name``; empty if none is."""
    return closest(name, (c.name for c in all_claims(world) if c.namespace == namespace), 0.75)
