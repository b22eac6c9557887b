"""With several hard constraints only nodes with all of their keys count, so a whole domain may be ignored."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.findings import Hazard, Place, pattern


def check(it: Member) -> Iterator[Hazard]:
    hard = [c for c in it.pod.spread if c.is_hard]
    if len({c.topology_key for c in hard}) < 2:
        return
    usable = it.usable
    complete = usable
    for constraint in hard:
        complete &= it.scenario.index.with_key(constraint.topology_key)
    if not complete:
        return  # no node has them all: topology-key-missing-on-nodes reports it, or the keys are unknown
    for constraint in hard:
        domains = it.scenario.index.domains(constraint.topology_key)
        lost = {v: n & usable for v, n in domains.items() if n & usable and not n & complete}
        if not lost:
            continue
        nodes = sum(n.bit_count() for n in lost.values())
        other = _lacking(hard, next(iter(lost.values())), it.scenario)
        yield Hazard(
            at=(*constraint.path, "topologyKey"),
            evidence=pattern(f"0 of {nodes} usable nodes of {', '.join(lost)} have {other.topology_key}"),
            values={
                "key": constraint.topology_key,
                "other": other.topology_key,
                "lost": tuple(lost),
                "count": nodes,
            },
            related=(Place((*other.path, "topologyKey"), "which the nodes there lack"),),
        )


def _lacking(hard: list[SpreadConstraint], nodes: int, scenario: Scenario) -> SpreadConstraint:
    """A constraint whose key at least one of these nodes lacks (each node lacks some key)."""
    return next(c for c in hard if nodes & ~scenario.index.with_key(c.topology_key))
