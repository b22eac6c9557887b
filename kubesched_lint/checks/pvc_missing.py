"""A pod mounts a claim that is neither in the set nor in the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claim_names import claim_named, nearest_claim
from kubesched_lint.explaining.near_misses.nearest import correction, hint
from kubesched_lint.findings import Hazard, Severity, proof


def check(it: Member) -> Iterator[Hazard]:
    if not it.scenario.cluster_has("PersistentVolumeClaim"):
        raise UncheckedError("needs claims (kubectl get pvc -A), which the snapshot does not hold")
    templates = {c.name for c in it.workload.claim_templates}
    for volume in it.workload.pod.volumes:
        if volume.kind != "persistentVolumeClaim" or not volume.claim or volume.name in templates:
            continue
        if claim_named(it.scenario, it.workload.namespace, volume.claim) is None:
            near = nearest_claim(it.scenario, it.workload.namespace, volume.claim)
            yield Hazard(
                at=(*volume.path, "claimName"),
                evidence=proof(f'persistentvolumeclaim "{volume.claim}" not found'),
                severity=Severity.WARNING,
                values={
                    "pending": pods_wanted(it),
                    "claim": volume.claim,
                    "nearest": hint(near, "there is "),
                    "correction": correction(near),
                },
                cause="" if near else f"{it.workload.namespace}/{volume.claim}",
            )
