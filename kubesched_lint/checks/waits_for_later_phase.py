"""A hook, or a workload of an early sync wave, needs an object that a later phase creates: neither ever comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workload import service_account
from kubesched_lint.engine.scenario.applying.phases import Phase, phase_of, waits
from kubesched_lint.engine.scenario.storage.claim_names import claim_named
from kubesched_lint.engine.scenario.world import Member, World, once_per_world
from kubesched_lint.findings import Hazard, Place, pattern

if TYPE_CHECKING:
    from kubesched_lint.engine.model.storage import Claim

_ANNOTATIONS: Path = ("metadata", "annotations")


def check(it: Member) -> Iterator[Hazard]:
    workload = it.workload
    mine = phase_of(workload.annotations)
    if mine is None:
        return
    for at, kind, found in _needed(it):
        # Claims keep their annotations; other objects are read again only for a workload of some phase.
        annotations = found.annotations if kind == "claim" else _annotations(found.source)
        theirs = phase_of(annotations)
        if found.source is None or theirs is None:
            continue
        values = {
            "kind": kind,
            "needed": found.name,
            "mine": mine.words(workload.annotations),
            "theirs": theirs.words(annotations),
        }
        place = Place(("metadata", "name"), f"the {kind}", found.source)
        if mine < theirs and waits(workload.kind, workload.annotations):
            text = f"{values['mine']} comes before {values['theirs']}, and is waited for"
            yield Hazard(at=at, evidence=pattern(text), values=values, related=(place,))
        elif kind == "claim" and _stays_pending(it, found, theirs):
            text = f"claim {found.name} is bound when its first consumer is scheduled, after {values['theirs']}"
            yield Hazard(at=at, evidence=pattern(text), values=values, related=(place,), variant="consumer")


def _needed(it: Member) -> Iterator[tuple[Path, str, Any]]:
    """Yield (place, kind, object) for what the pods name, if the set creates it and the cluster does not have it."""
    pod, namespace = it.workload.pod, it.workload.namespace
    live = it.world.cluster.inventory if it.world.cluster is not None else Inventory()
    for volume in pod.volumes:
        claim = claim_named(it.world, namespace, volume.claim) if volume.claim else None
        if claim is not None and (claim.namespace, claim.name) not in live.claims_by_name:
            yield (*volume.path, "claimName"), "claim", claim
    if phase_of(it.workload.annotations) == phase_of({}):
        return
    for name, at, kind, ours, theirs in _named(it, live):
        created = next((each for each in ours if each.name == name), None) if name else None
        if created is not None and not any(each.name == name for each in theirs):
            yield at, kind, created


def _named(it: Member, live: Inventory) -> Iterator[tuple[str, Path, str, Sequence[Any], Sequence[Any]]]:
    """Yield (name, place, kind, objects of the set, objects of the cluster) for what its pods may not be without."""
    pod, objects = it.workload.pod, it.world.manifests
    at = (*pod.path, "priorityClassName")
    yield pod.priority_class, at, "PriorityClass", objects.priority_classes, live.priority_classes
    at = (*pod.path, "runtimeClassName")
    yield pod.runtime_class, at, "RuntimeClass", objects.runtime_classes, live.runtime_classes
    own, theirs = (
        [account for account in each.service_accounts if account.namespace == it.workload.namespace]
        for each in (objects, live)
    )
    yield service_account(it.workload), (*pod.path, "serviceAccountName"), "ServiceAccount", own, theirs
    for template in it.workload.claim_templates:
        at = (*template.path, "spec", "storageClassName")
        yield template.storage_class or "", at, "StorageClass", objects.storage_classes, live.storage_classes


def _stays_pending(it: Member, claim: Claim, theirs: Phase) -> bool:
    """Whether it is the first consumer of a claim that waits for one, and of a later wave of Argo CD than the claim."""
    if claim not in _first_consumers(it.world) or _first_consumers(it.world)[claim] <= theirs:
        return False
    from kubesched_lint.engine.scenario.storage.claims import bound_volume, storage_class_of  # few sets have phases

    found = storage_class_of(it.world, claim)
    waits_for_pod = found is not None and found.binding_mode == "WaitForFirstConsumer"
    return waits_for_pod and bound_volume(it.world, claim.namespace, claim.name) is None


@once_per_world
def _first_consumers(world: World) -> Mapping[Claim, Phase]:
    """Claim → the phase of the first workload that mounts it."""
    found: dict[Claim, Phase] = {}
    for workload in world.manifests.workloads:
        phase = phase_of(workload.annotations)
        for volume in workload.pod.volumes if phase is not None else ():
            claim = claim_named(world, workload.namespace, volume.claim) if volume.claim else None
            if claim is not None and phase is not None:
                found[claim] = min(phase, found.get(claim, phase))
    return found


def _annotations(source: Source | None) -> Mapping[str, str]:
    written = value_at(getattr(source, "value", None), _ANNOTATIONS)
    return {str(key): str(value) for key, value in written.items()} if isinstance(written, dict) else {}
