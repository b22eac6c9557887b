"""A HorizontalPodAutoscaler fits replicas to a share of requests that the pods do not have: it never scales."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.pod import Container
from kubesched_lint.engine.model.policy import ResourceMetric
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.sizes.vertical import vertical_autoscaler_of
from kubesched_lint.findings import Hazard, Place, pattern


def check(it: Member) -> Iterator[Hazard]:
    """Mirrors ``calculateRequests`` of ``pkg/controller/podautoscaler/replica_calculator.go`` (v1.36).

    One container without the request fails the metric for all, unless the pod itself has requests.
    """
    scaler = it.autoscaler
    if scaler is None or scaler.source is None or vertical_autoscaler_of(it) is not None:
        return
    for metric in scaler.metrics:
        lacking = [c for c in _counted(it, metric) if metric.resource not in c.requests] if metric.is_relative else []
        if lacking and (metric.container or not it.pod.pod_requests):
            yield Hazard(
                at=lacking[0].path,
                evidence=pattern(f"missing request for {metric.resource} in container {lacking[0].name}"),
                values={
                    "scaler": f"{scaler.kind} {scaler.name}",
                    "resource": metric.resource,
                    "containers": tuple(c.name for c in lacking),
                },
                related=(Place(metric.path, f"the metric: {metric.resource}", scaler.source, scaler.ref),),
            )


def _counted(it: Member, metric: ResourceMetric) -> tuple[Container, ...]:
    """Return the containers that a metric counts: sidecars, too."""
    sidecars = tuple(c for c in it.pod.init_containers if c.restart_always)
    return tuple(c for c in (*it.pod.containers, *sidecars) if metric.container in ("", c.name))
