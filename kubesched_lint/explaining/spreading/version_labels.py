"""Labels by which people tell the revisions of a Deployment apart, beside the one that its controller sets."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.pods.pod_labels import revision_label

_VERSION_WORDS = ("version", "revision", "release-id", "build", "commit", "sha", "hash", "tag", "rev")


def bumped_by_hand(workload: Workload) -> Iterator[tuple[SpreadConstraint, str]]:
    """Yield each constraint that tells revisions apart by a version label which no controller changes."""
    for constraint in workload.pod.spread:
        label = version_label(workload, constraint)
        if label is not None and revision_label(workload) not in constraint.match_label_keys:
            yield constraint, label


def version_label(workload: Workload, constraint: SpreadConstraint) -> str | None:
    """A label that distinguishes revisions: the constraint selects it, but the Deployment's own selector does not."""
    pinned = {r.key for r in workload.selector.requirements} if workload.selector else set()
    selected = [r.key for r in constraint.selector.requirements] if constraint.selector else []
    for key in (*selected, *constraint.match_label_keys):
        if key not in pinned and any(word in key.lower() for word in _VERSION_WORDS):
            return key
    return None
