"""Several pods use one claim that only one pod, or one node, may use."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.rollout import fenceposts
from kubesched_lint.analysis.wanted import replicas_wanted_here
from kubesched_lint.checks._remedies import use_recreate
from kubesched_lint.findings import Hazard, Severity, pattern, proof
from kubesched_lint.model.node import HOSTNAME
from kubesched_lint.model.workload import Workload
from kubesched_lint.world.claims import claim_named, is_attached
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    replicas = it.replicas
    rolls = it.workload.kind == "Deployment" and it.workload.strategy.type == "RollingUpdate"
    surge, unavailable = fenceposts(it.workload, replicas) if rolls else (0, 1)
    for volume in it.workload.pod.volumes:
        claim = (
            claim_named(it.world, it.workload.namespace, volume.claim)
            if volume.kind == "persistentVolumeClaim"
            else None
        )
        if claim is None:
            continue
        at = (*volume.path, "claimName")
        modes = set(claim.access_modes)
        values = {"claim": claim.name, "replicas": replicas, "surge": surge}
        related = (replicas_wanted_here(it),)
        if modes == {"ReadWriteOncePod"} and it.workload.stays:
            if replicas > 1:
                yield Hazard(
                    at=at,
                    evidence=proof(
                        f"{replicas} replicas > 1 pod of a ReadWriteOncePod claim", demand=replicas, supply=1
                    ),
                    values={**values, "pending": replicas - 1},
                    related=related,
                    variant="one_pod",
                )
            elif rolls and replicas == 1 and unavailable == 0:
                yield Hazard(
                    at=at,
                    evidence=proof(
                        "1 old pod + 1 surge pod > 1 pod of a ReadWriteOncePod claim",
                        demand=2,
                        supply=1,
                        event="rollout",
                    ),
                    values=values,
                    variant="rollout_one_pod",
                )
        elif modes == {"ReadWriteOnce"} and not _one_node(it.workload) and is_attached(it.world, claim):
            if replicas > 1 and it.workload.kind != "StatefulSet":
                yield Hazard(
                    at=at,
                    evidence=pattern(f"{replicas} pods, one node"),
                    severity=Severity.WARNING,
                    values=values,
                    related=related,
                    variant="one_node",
                )
            elif rolls and replicas == 1 and unavailable == 0:
                yield Hazard(
                    at=at,
                    evidence=pattern("old pod and surge pod, one node"),
                    severity=Severity.WARNING,
                    values=values,
                    variant="rollout_one_node",
                )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Delete the old pod, which holds the claim, before the new one needs it."""
    if hazard.variant.startswith("rollout"):
        yield use_recreate(it.workload)


def _one_node(workload: Workload) -> bool:
    """Whether all pods must run on the same node."""
    pod = workload.pod
    return (
        bool(pod.node_name)
        or HOSTNAME in pod.node_selector
        or any(
            t.topology_key == HOSTNAME and t.selector is not None and t.selector.matches(pod.labels)
            for t in pod.required_affinity
        )
    )
