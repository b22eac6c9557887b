"""A hook, or a workload of an early sync wave, needs an object that a later phase creates: neither ever comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.model.storage import Claim
from kubesched_lint.engine.scenario.applying.phases import Phase, phase_of, waits
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scenario.storage.claim_names import claim_named
from kubesched_lint.explaining.objects.needed_objects import needed_claims, needed_classes
from kubesched_lint.findings import Hazard, Place, pattern

_ANNOTATIONS: Path = ("metadata", "annotations")


def check(it: Member) -> Iterator[Hazard]:
    workload = it.workload
    mine = phase_of(workload.annotations)
    if mine is None:
        return
    # Claims keep their annotations; other objects are read again only for a workload of some phase.
    classes = needed_classes(it) if mine != phase_of({}) else ()
    for at, kind, waited_for in chain(needed_claims(it), classes):
        annotations = waited_for.annotations if kind == "claim" else _annotations(waited_for.source)
        theirs = phase_of(annotations)
        if waited_for.source is None or theirs is None:
            continue
        values = {
            "kind": kind,
            "needed": waited_for.name,
            "mine": mine.words(workload.annotations),
            "theirs": theirs.words(annotations),
        }
        place = Place(("metadata", "name"), f"the {kind}", waited_for.source)
        if mine < theirs and waits(workload.kind, workload.annotations):
            text = f"{values['mine']} comes before {values['theirs']}, and is waited for"
            yield Hazard(at=at, evidence=pattern(text), values=values, related=(place,))
        elif kind == "claim" and _stays_pending(it, waited_for, theirs):
            text = f"claim {waited_for.name} is bound when its first consumer is scheduled, after {values['theirs']}"
            yield Hazard(at=at, evidence=pattern(text), values=values, related=(place,), variant="consumer")


def _stays_pending(it: Member, claim: Claim, theirs: Phase) -> bool:
    """Whether it is the first consumer of a claim that waits for one, and of a later wave of Argo CD than the claim."""
    if claim not in _first_consumers(it.scenario) or _first_consumers(it.scenario)[claim] <= theirs:
        return False
    from kubesched_lint.engine.scenario.storage.claims import bound_volume, storage_class_of  # few sets have phases

    storage_class = storage_class_of(it.scenario, claim)
    waits_for_pod = storage_class is not None and storage_class.binding_mode == "WaitForFirstConsumer"
    return waits_for_pod and bound_volume(it.scenario, claim.namespace, claim.name) is None


@once_per_scenario
def _first_consumers(scenario: Scenario) -> Mapping[Claim, Phase]:
    """Claim → the phase of the first workload that mounts it."""
    consumers: dict[Claim, Phase] = {}
    for workload in scenario.manifests.workloads:
        phase = phase_of(workload.annotations)
        for volume in workload.pod.volumes if phase is not None else ():
            claim = claim_named(scenario, workload.namespace, volume.claim) if volume.claim else None
            if claim is not None and phase is not None:
                consumers[claim] = min(phase, consumers.get(claim, phase))
    return consumers


def _annotations(source: Source | None) -> Mapping[str, str]:
    written = value_at(getattr(source, "value", None), _ANNOTATIONS)
    return {str(key): str(value) for key, value in written.items()} if isinstance(written, dict) else {}
