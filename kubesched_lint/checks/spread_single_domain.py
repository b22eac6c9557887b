"""One domain is always even: the constraint has nothing to do."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.spread import counted_nodes
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.workload import Workload
from kubesched_lint.scheduler.topology import is_short_of_domains


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if workload.kind == "DaemonSet" or facts.replicas(workload) < 2:
        return
    pod, usable = facts.pod(workload), facts.usable(workload)
    for constraint in pod.spread:
        counted = counted_nodes(workload, constraint, facts)
        domains = facts.index.domains(constraint.topology_key)
        every = [value for value, nodes in domains.items() if nodes & counted]
        if len(every) != 1 or not domains[every[0]] & usable or is_short_of_domains(constraint, 1):
            continue
        yield Hazard(
            at=(*constraint.path, "topologyKey"),
            evidence=pattern(f"1 of {len(domains)} domains of {constraint.topology_key} counts"),
            values={
                "key": constraint.topology_key,
                "domain": every[0],
                "others": tuple(d for d in domains if d != every[0]),
            },
            variant="chosen" if len(domains) > 1 else "default",
        )
