"""A pod mounts a claim that is neither in the set nor in the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.claims import claim_named, nearest_claim
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import hint
from kubesched_lint.findings import Hazard, UncheckedError, pattern
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if not facts.cluster_has("PersistentVolumeClaim"):
        raise UncheckedError("needs claims (kubectl get pvc -A), which the snapshot does not hold")
    templates = {c.name for c in workload.claim_templates}
    for volume in workload.pod.volumes:
        if volume.kind != "persistentVolumeClaim" or not volume.claim or volume.name in templates:
            continue
        if claim_named(facts, workload.namespace, volume.claim) is None:
            yield Hazard(
                at=(*volume.path, "claimName"),
                evidence=pattern(f'persistentvolumeclaim "{volume.claim}" not found'),
                values={
                    "claim": volume.claim,
                    "nearest": hint(nearest_claim(facts, workload.namespace, volume.claim), "there is "),
                },
            )
