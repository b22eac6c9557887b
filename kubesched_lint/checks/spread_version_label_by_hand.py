"""The constraint distinguishes revisions by a version label that no controller bumps."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import count_by_revision
from kubesched_lint.explaining.spreading.version_labels import bumped_by_hand
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind != "Deployment" or it.workload.strategy.type != "RollingUpdate" or it.workload.replicas < 2:
        return
    for constraint, label in bumped_by_hand(it.workload):
        yield Hazard(
            at=constraint.path,
            evidence=pattern(f"only {label} in the selector tells the revisions apart, and no controller sets it"),
            values={"label": label, "key": constraint.topology_key},
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Count by the label that the controller bumps by itself."""
    yield from count_by_revision(it.workload, hazard.at)
