"""The volume waits for the scheduler's choice, but the scheduler never sees the pod."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claims import NO_OTHER_USER, never_chosen
from kubesched_lint.explaining.remedies.nodes import select_by_label
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Place, proof


def check(it: Member) -> Iterator[Hazard]:
    for claim, storage_class, at in never_chosen(it):
        yield Hazard(
            at=at,
            evidence=proof(
                f"nodeName {it.workload.pod.node_name} is set, and class {storage_class.name} waits for the scheduler",
                demand=1,
                supply=0,
                assumes=(NO_OTHER_USER,),
            ),
            values={
                "claim": claim.name,
                "storage_class": storage_class.name,
                "node": it.workload.pod.node_name,
                "replicas": it.replicas,
            },
            related=(Place((*it.workload.pod.path, "nodeName"), "the scheduler never sees the pod"),),
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Select the same node through the scheduler, so that it binds the claim."""
    yield from select_by_label(it, never_runs=True)
