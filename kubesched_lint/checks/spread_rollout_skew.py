"""During a rolling update old and new pods are counted together, so what is left at the end need not be even."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.pod import SpreadConstraint
from kubesched_lint.model.workload import Workload

_REVISION = "pod-template-hash"
_VERSION_WORDS = ("version", "revision", "release-id", "build", "commit", "sha", "hash", "tag", "rev")


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if workload.kind != "Deployment" or workload.strategy.type != "RollingUpdate" or workload.replicas < 2:
        return
    for constraint in workload.pod.spread:
        selector = constraint.selector
        if selector is None or not selector.matches(facts.pod(workload).labels):
            continue
        if selector.is_empty and not constraint.match_label_keys:
            continue
        if _REVISION in constraint.match_label_keys or version_label(workload, constraint):
            continue
        yield Hazard(
            at=constraint.path,
            evidence=pattern(f"the selector {selector} matches the old revision and the new one alike"),
            values={"key": constraint.topology_key, "skew": constraint.max_skew},
        )


def version_label(workload: Workload, constraint: SpreadConstraint) -> str | None:
    """A label that tells revisions apart: the constraint selects it, and the Deployment's selector leaves it free."""
    pinned = {r.key for r in workload.selector.requirements} if workload.selector else set()
    selected = [r.key for r in constraint.selector.requirements] if constraint.selector else []
    for key in (*selected, *constraint.match_label_keys):
        if key not in pinned and any(word in key.lower() for word in _VERSION_WORDS):
            return key
    return None
