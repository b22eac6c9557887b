"""A claim of a class that does not exist: it never gets a volume."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claims import has_free_volume, storage_class_of, unbound_claims
from kubesched_lint.engine.scenario.storage.volume_places import classes_of
from kubesched_lint.explaining.near_misses.nearest import correction, hint, nearest_class
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity, pattern, proof
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    """A free volume with the class name needs no class; classes that the snapshot lacks may exist."""
    is_known = it.scenario.cluster_has("StorageClass")
    for claim, at in unbound_claims(it):
        name = claim.storage_class
        if not name or storage_class_of(it.scenario, claim) is not None or has_free_volume(it.scenario, name):
            continue
        meant = _meant(it, name)
        if not (is_known or meant):
            continue
        yield Hazard(
            at=(*at, "storageClassName") if at[-1] == "spec" else at,
            evidence=proof(_evidence(it, name))
            if is_known
            else pattern(f"StorageClass {meant} is known, and {name} is not"),
            severity=Severity.WARNING,
            values={
                "pending": pods_wanted(it),
                "storage_class": name,
                "claim": claim.name,
                "nearest": hint(meant, "there is "),
                "meant": meant,
                "correction": correction(meant),
            },
            cause="" if meant else name,
            variant="default" if is_known else "misspelt",
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write the correct name of the class, in the claim template or in the claim."""
    meant = _meant(it, str(hazard.values["storage_class"]))
    if not meant:
        return
    if hazard.at[-1] == "storageClassName":
        yield Remedy(f"write {meant}", safe=False, changes=(Put(hazard.at, meant),))
        return
    claims = (
        c
        for c in it.scenario.manifests.claims
        if c.name == hazard.values["claim"] and c.namespace == it.workload.namespace
    )
    for claim in claims:
        yield Remedy(
            f"write {meant} in PersistentVolumeClaim {claim.name}",
            safe=False,
            changes=(Put(("spec", "storageClassName"), meant),),
            source=claim.source,
        )


def _evidence(it: Member, name: str) -> str:
    known = many(len(_names(it)), "class", "classes")
    return f"StorageClass {name} is neither in the set nor in the cluster, which has {known}"


def _meant(it: Member, name: str) -> str:
    return nearest_class(it.scenario, "StorageClass", name, _names(it))


def _names(it: Member) -> list[str]:
    return [c.name for c in classes_of(it.scenario)]
