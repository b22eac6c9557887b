"""A VerticalPodAutoscaler sets the requests that a horizontal autoscaler of the same workload takes as its measure."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.policy import ResourceMetric
from kubesched_lint.engine.model.workloads.vertical import VerticalAutoscaler
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.sizes.vertical import vertical_autoscaler_of
from kubesched_lint.findings import Hazard, Place, Severity, pattern


def check(it: Member) -> Iterator[Hazard]:
    """Judge horizontal autoscalers of the manifests only: a snapshot keeps no metrics."""
    vertical, scaler = vertical_autoscaler_of(it), it.autoscaler
    if vertical is None or scaler is None or scaler.source is None:
        return
    shared = [metric for metric in scaler.metrics if _sets(vertical, metric, it)]
    if not shared:
        return
    resources = tuple(dict.fromkeys(metric.resource for metric in shared))
    is_relative = any(metric.is_relative for metric in shared)
    yield Hazard(
        at=("spec", "targetRef") if vertical.source else shared[0].path,
        source=vertical.source or scaler.source,
        victim=it.workload.ref,
        severity=None if is_relative else Severity.NOTE,
        evidence=pattern(f"both autoscalers follow the use of {' and '.join(resources)}"),
        values={
            "vertical": f"VerticalPodAutoscaler {vertical.name}",
            "scaler": f"{scaler.kind} {scaler.name}",
            "resources": resources,
        },
        related=tuple(Place(m.path, f"the metric: {m.resource}", scaler.source, scaler.ref) for m in shared),
        variant="default" if is_relative else "absolute",
    )


def _sets(vertical: VerticalAutoscaler, metric: ResourceMetric, member: Member) -> bool:
    """Whether it sets the metric's resource in a container that the metric counts."""
    counted = (c.name for c in member.pod.containers if metric.container in ("", c.name))
    policies = (vertical.policy_of(name) for name in counted)
    return any(policy.is_on and metric.resource in policy.controlled for policy in policies)
