"""Volumes hold the pods of a StatefulSet where its own spread constraint does not want them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.ordinals import first_stuck, trace
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import schedule_anyway
from kubesched_lint.findings import Hazard, Place, witness
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if not workload.claim_templates or workload.pod_management != "OrderedReady" or not facts.usable(workload):
        return
    for constraint in facts.pod(workload).spread:
        if not constraint.is_hard:
            continue
        stuck = first_stuck(workload, constraint, facts)
        if stuck is None:
            continue
        key = constraint.topology_key
        yield Hazard(
            at=constraint.path,
            evidence=witness(
                f"{stuck.would} in {stuck.domain} - {stuck.least} in the least > maxSkew {constraint.max_skew}",
                trace=trace(workload, stuck, key),
                assumes=("all pods start anew, in order, and their volumes stay where they are",),
            ),
            values={
                "ordinal": stuck.ordinal,
                "claim": stuck.claim,
                "domain": stuck.domain,
                "key": key,
                "skew": constraint.max_skew,
                "would": stuck.would,
                "least": stuck.least,
                "behind": facts.replicas(workload) - stuck.ordinal - 1,
            },
            related=(Place(workload.claim_templates[0].path, "whose volumes lie in one domain each"),),
        )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Make the constraint soft, so that the volumes decide."""
    yield schedule_anyway(workload, hazard.at)
