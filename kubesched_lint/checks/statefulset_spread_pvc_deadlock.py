"""Volumes tie the pods of a StatefulSet to domains where its own spread constraint refuses them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.placement import schedule_anyway
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.volumes.held_by_volumes import Stuck, first_stuck
from kubesched_lint.findings import Hazard, Place, Severity, proof


def check(it: Member) -> Iterator[Hazard]:
    if not it.workload.claim_templates or it.workload.pod_management != "OrderedReady" or not it.usable:
        return
    for constraint in it.pod.spread:
        if not constraint.is_hard:
            continue
        stuck = first_stuck(it, constraint)
        if stuck is None:
            continue
        key = constraint.topology_key
        yield Hazard(
            at=constraint.path,
            evidence=replace(
                proof(
                    f"{stuck.would} in {stuck.domain} - {stuck.least} in the least > maxSkew {constraint.max_skew}",
                    assumes=("all pods start anew, in order, and their volumes stay where they are",),
                ),
                trace=_trace(it.workload, stuck, key),
            ),
            severity=Severity.WARNING,
            values={
                "pending": it.replicas - stuck.ordinal,
                "ordinal": stuck.ordinal,
                "claim": stuck.claim,
                "domain": stuck.domain,
                "key": key,
                "skew": constraint.max_skew,
                "would": stuck.would,
                "least": stuck.least,
                "behind": it.replicas - stuck.ordinal - 1,
                "parallel": " or podManagementPolicy: Parallel" if stuck.helped else "",
            },
            related=(Place(it.workload.claim_templates[0].path, "whose volumes each stay in one zone or node"),),
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Make the constraint soft, so that the volumes decide."""
    yield schedule_anyway(it.workload, hazard.at)


def _trace(workload: Workload, stuck: Stuck, key: str) -> tuple[str, ...]:
    """The events that lead to the stuck pod."""
    placed = [f"{workload.name}-{i} runs in {key}={d}, where its volume is" for i, d in enumerate(stuck.before)]
    return (
        *placed,
        f"{workload.name}-{stuck.ordinal} must go to {stuck.domain}: {stuck.would} there, {stuck.least} in the least",
        "no later pod is created before it runs (OrderedReady)",
    )
