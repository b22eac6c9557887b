"""A volume that waits for the scheduler's choice, and a pod that the scheduler never sees."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.claims import storage_class_of, unbound_claims
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import select_by_label
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if workload.kind == "DaemonSet":
        return
    for claim, at in unbound_claims(facts, workload):
        storage_class = storage_class_of(facts, claim)
        if storage_class is None or storage_class.binding_mode != "WaitForFirstConsumer" or claim.volume_name:
            continue
        if "volume.kubernetes.io/selected-node" in claim.annotations:
            continue
        yield Hazard(
            at=at,
            evidence=proof(
                f"nodeName {workload.pod.node_name} is set, and class {storage_class.name} waits for the scheduler",
                demand=1,
                supply=0,
                assumes=("no other pod that the scheduler places uses the claim",),
            ),
            values={
                "claim": claim.name,
                "storage_class": storage_class.name,
                "node": workload.pod.node_name,
                "replicas": facts.replicas(workload),
            },
            related=(Place((*workload.pod.path, "nodeName"), "the scheduler never sees the pod"),),
        )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Ask the scheduler for the same node, so that it binds the claim."""
    yield from select_by_label(workload, facts, never_runs=True)
