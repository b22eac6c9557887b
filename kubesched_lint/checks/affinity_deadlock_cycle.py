"""Each waits for the other: required pod affinity that goes round in a circle, so none can be the first to start."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, Place, pattern, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    blocked = facts.blocked.get(id(workload))
    if blocked is None or blocked.cause != "cycle":
        return
    circle = _circle(workload, facts)
    terms = facts.pod(workload).required_affinity
    text = " → ".join(str(w) for w in (*circle, workload))
    yield Hazard(
        at=terms[0].path,
        evidence=proof(text, assumes=facts.set_premises) if facts.proves_absence else pattern(text),
        values={"others": tuple(str(w) for w in circle[1:]), "replicas": facts.replicas(workload)},
        related=tuple(
            Place(w.pod.required_affinity[0].path, f"{w} requires the next of the circle", w.source, w.ref)
            for w in circle[1:]
        ),
    )


def _circle(start: Workload, facts: Facts) -> tuple[Workload, ...]:
    """The shortest way round from ``start`` back to itself, over blocked workloads."""
    ways: list[tuple[Workload, ...]] = [(start,)]
    seen: set[int] = set()
    for way in ways:
        for target in facts.blocked[id(way[-1])].targets:
            if target is start:
                return way
            if id(target) not in seen and id(target) in facts.blocked:
                seen.add(id(target))
                ways.append((*way, target))
    raise AssertionError("a workload in a cycle has a way back to itself")
