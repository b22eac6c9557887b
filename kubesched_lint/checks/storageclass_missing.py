"""A claim of a class that does not exist: it never gets a volume."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.nearest import correction, hint, nearest_name
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.manifests.changes import Put
from kubesched_lint.text import many
from kubesched_lint.world.claims import has_free_volume, storage_class_of, unbound_claims
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    """Classes are known if the snapshot holds them; a free volume with the class name needs no class."""
    if not it.world.cluster_has("StorageClass"):
        return
    for claim, at in unbound_claims(it):
        name = claim.storage_class
        if not name or storage_class_of(it.world, claim) is not None or has_free_volume(it.world, name):
            continue
        live = () if it.world.cluster is None else it.world.cluster.inventory.storage_classes
        names = [c.name for c in (*it.world.manifests.storage_classes, *live)]
        yield Hazard(
            at=(*at, "storageClassName") if at[-1] == "spec" else at,
            evidence=pattern(
                f"StorageClass {name} is neither in the set nor in the cluster, which has "
                f"{many(len(names), 'class', 'classes')}"
            ),
            values={
                "storage_class": name,
                "claim": claim.name,
                "nearest": hint(nearest_name(name, names), "there is "),
                "correction": correction(nearest_name(name, names)),
            },
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write the correct name of the class, in the claim template or in the claim."""
    live = () if it.world.cluster is None else it.world.cluster.inventory.storage_classes
    wrong = str(hazard.values["storage_class"])
    nearest = nearest_name(wrong, (c.name for c in (*it.world.manifests.storage_classes, *live)))
    if not nearest:
        return
    if hazard.at[-1] == "storageClassName":
        yield Remedy(f"write {nearest}", safe=False, changes=(Put(hazard.at, nearest),))
        return
    claims = (
        c
        for c in it.world.manifests.claims
        if c.name == hazard.values["claim"] and c.namespace == it.workload.namespace
    )
    for claim in claims:
        yield Remedy(
            f"write {nearest} in PersistentVolumeClaim {claim.name}",
            safe=False,
            changes=(Put(("spec", "storageClassName"), nearest),),
            source=claim.source,
        )
