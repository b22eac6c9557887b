"""The constraint distinguishes revisions by a version label that this change does not bump."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import count_by_revision
from kubesched_lint.checks.spread_rollout_skew import version_label
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.text import many, plural
from kubesched_lint.world.pod_labels import revision_label
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind != "Deployment" or it.template_changed is not True:
        return
    running = it.running_pods
    for constraint in it.workload.pod.spread:
        label = version_label(it.workload, constraint)
        if label is None or revision_label(it.workload) in constraint.match_label_keys:
            continue
        value = it.workload.pod.labels.get(label)
        same = sum(1 for bound in running if bound.pod.labels.get(label) == value)
        if value is not None and same:
            yield Hazard(
                at=(*it.workload.pod.labels_path, label),
                evidence=pattern(
                    f"{many(same, 'running pod')} of the old revision {plural(same, 'has', 'have')} {label}={value} too"
                ),
                values={"label": label, "value": value, "key": constraint.topology_key, "same": same},
            )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Count by the label that the controller bumps by itself."""
    for constraint in it.workload.pod.spread:
        if constraint.topology_key == hazard.values["key"] and constraint.selector is not None:
            yield from count_by_revision(it.workload, constraint.path)
