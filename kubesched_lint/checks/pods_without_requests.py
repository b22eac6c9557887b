"""Pods that request no cpu or memory: the scheduler counts them as nothing, and so does each verdict on room."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.findings import Hazard, pattern


def check(scenario: Scenario) -> Iterator[Hazard]:
    """Yield one hazard for the set, at the largest workload that lacks a request."""
    members = [scenario.member(workload) for workload in scenario.order.workloads]
    silent = [member for member in members if _lacks(member) and _pods(member)]
    if silent:
        largest = max(silent, key=_pods)
        yield Hazard(
            at=largest.pod.containers[0].path if largest.pod.containers else largest.pod.path,
            source=largest.workload.source,
            victim=largest.workload.ref,
            evidence=pattern(f"{len(silent)} of {many(len(members), 'workload')}"),
            values={"pods": sum(map(_pods, silent)), "all": sum(map(_pods, members)), "lacks": _lacks(largest)},
        )


def _lacks(it: Member) -> str:
    """Return the resources that its pods request none of: ``no cpu and no memory``; empty if there is none."""
    return " and ".join(f"no {resource}" for resource in ("cpu", "memory") if not it.pod.requests.get(resource))


def _pods(it: Member) -> int:
    """Return its pods; those of a DaemonSet by the nodes that it may use."""
    return it.usable.bit_count() if it.workload.kind == "DaemonSet" else it.replicas
