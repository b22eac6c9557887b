"""The class by the name that it has, where a claim template names it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import nearest_name
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    live = () if facts.cluster is None else facts.cluster.inventory.storage_classes
    wrong = str(hazard.values["storage_class"])
    meant = nearest_name(wrong, (c.name for c in (*facts.manifests.storage_classes, *live)))
    if not meant:
        return
    if hazard.at[-1] == "storageClassName":
        yield Remedy(f"write {meant}", safe=False, changes=(Put(hazard.at, meant),))
        return
    claims = (
        c for c in facts.manifests.claims if c.name == hazard.values["claim"] and c.namespace == workload.namespace
    )
    for claim in claims:
        yield Remedy(
            f"write {meant} in PersistentVolumeClaim {claim.name}",
            safe=False,
            changes=(Put(("spec", "storageClassName"), meant),),
            source=claim.source,
        )
