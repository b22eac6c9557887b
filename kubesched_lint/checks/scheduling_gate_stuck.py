"""A gate keeps the pod from the scheduler until somebody takes it away, and we know of nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts, *, removers: Sequence[str]) -> Iterator[Hazard]:
    replicas = facts.replicas(workload)
    for number, gate in enumerate(workload.pod.scheduling_gates):
        if gate.startswith(tuple(removers)):
            continue
        yield Hazard(
            at=(*workload.pod.path, "schedulingGates", number),
            evidence=pattern(f"no controller is known that removes {gate}"),
            values={"gate": gate, "replicas": replicas},
            variant="daemonset" if workload.kind == "DaemonSet" else "default",
        )
