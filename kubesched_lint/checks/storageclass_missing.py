"""A claim of a class that nobody has: no volume is ever made for it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.claims import has_free_volume, storage_class_of, unbound_claims
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import hint, nearest_name
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """Classes are known when the snapshot holds them; a free volume of the class needs none."""
    if not facts.cluster_has("StorageClass"):
        return
    for claim, at in unbound_claims(facts, workload):
        name = claim.storage_class
        if not name or storage_class_of(facts, claim) is not None or has_free_volume(facts, name):
            continue
        live = () if facts.cluster is None else facts.cluster.inventory.storage_classes
        names = [c.name for c in (*facts.manifests.storage_classes, *live)]
        yield Hazard(
            at=(*at, "storageClassName") if at[-1] == "spec" else at,
            evidence=pattern(f"StorageClass {name} is neither in the set nor among the {len(names)} of the cluster"),
            values={
                "storage_class": name,
                "claim": claim.name,
                "nearest": hint(nearest_name(name, names), "there is "),
            },
        )
