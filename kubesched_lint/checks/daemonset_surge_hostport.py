"""The surge pod of a DaemonSet must share its node with the old pod, and cannot."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.controllers.bounds import scaled
from kubesched_lint.engine.model.nodes.node import HOSTNAME
from kubesched_lint.engine.placing.rollout import repels_across_revisions
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.crowding.ports import REASON
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import roll_without_surge
from kubesched_lint.findings import Hazard, Place, proof


def check(it: Member) -> Iterator[Hazard]:
    """With surge the old pod goes when the new one is available (``pkg/controller/daemon/update.go``)."""
    strategy = it.workload.strategy
    if strategy.type != "RollingUpdate" or not scaled(strategy.max_surge, 100, up=True):
        return
    related = (Place((*strategy.path, "rollingUpdate", "maxSurge"), "the new pod comes before the old one goes"),)
    if it.workload.pod.host_ports:
        port = it.workload.pod.host_ports[0]
        yield Hazard(
            at=port.path,
            evidence=proof(
                f"2 pods on each node want {port.protocol} {port.port}, which it gives once: {REASON}",
                demand=2,
                supply=1,
                assumes=("the running revision takes the same port",),
                event="rollout",
            ),
            values={"port": port.port},
            related=related,
        )
        return
    for term in it.workload.pod.required_anti_affinity:
        if term.topology_key == HOSTNAME and repels_across_revisions(it, term):
            yield Hazard(
                at=term.path,
                evidence=proof(
                    "2 pods on each node repel each other: node(s) didn't match pod anti-affinity rules",
                    demand=2,
                    supply=1,
                    assumes=("every node has its own label kubernetes.io/hostname",),
                    event="rollout",
                ),
                values={"key": term.topology_key},
                related=related,
                variant="anti_affinity",
            )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Delete the old pod, which holds the port, first."""
    yield roll_without_surge(it)
