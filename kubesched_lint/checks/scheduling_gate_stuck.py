"""A gate hides the pod from the scheduler until a controller removes it, and no known controller does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, pattern


def check(it: Member, *, removers: Sequence[str]) -> Iterator[Hazard]:
    replicas = it.replicas
    for number, gate in enumerate(it.workload.pod.scheduling_gates):
        if gate.startswith(tuple(removers)):
            continue
        yield Hazard(
            at=(*it.workload.pod.path, "schedulingGates", number),
            evidence=pattern(f"no controller is known that removes {gate}"),
            values={"gate": gate, "replicas": replicas},
            variant="daemonset" if it.workload.kind == "DaemonSet" else "default",
        )
