"""With a single domain the constraint has no effect."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.placing.together.spread import counted_nodes
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.topology import is_short_of_domains
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind == "DaemonSet" or it.replicas < 2:
        return
    pod, usable = it.pod, it.usable
    for constraint in pod.spread:
        counted = counted_nodes(it, constraint)
        domains = it.scenario.index.domains(constraint.topology_key)
        every = [value for value, nodes in domains.items() if nodes & counted]
        if len(every) != 1 or not domains[every[0]] & usable or is_short_of_domains(constraint, 1):
            continue
        yield Hazard(
            at=(*constraint.path, "topologyKey"),
            evidence=pattern(f"1 of {len(domains)} {domain_word(constraint.topology_key, len(domains))} counts"),
            values={
                "key": constraint.topology_key,
                "domain": every[0],
                "others": tuple(d for d in domains if d != every[0]),
            },
            variant="chosen" if len(domains) > 1 else "default",
        )
