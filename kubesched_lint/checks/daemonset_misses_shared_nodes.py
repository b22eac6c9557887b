"""A DaemonSet that skips tainted nodes on which other DaemonSets of the set run."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.others.room import taints_in_the_way
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.nodes.missed_nodes import daemons_where_missed, missed_nodes
from kubesched_lint.explaining.remedies.nodes import tolerate
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Place, pattern


def check(it: Member) -> Iterator[Hazard]:
    others = daemons_where_missed(it)
    if not others:
        return
    missed = missed_nodes(it)
    yield Hazard(
        at=(*it.workload.pod.path, "tolerations"),
        key=True,
        evidence=pattern(f"{len(others)} other DaemonSets run beside it and there"),
        values={
            "missed": missed.bit_count(),
            "nodes": it.scenario.names(missed),
            "taints": tuple(map(str, taints_in_the_way(it, missed))),
            "others": tuple(map(str, others)),
        },
        related=tuple(
            Place((*other.pod.path, "tolerations"), "tolerates them", other.source, other.ref) for other in others[:1]
        ),
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Tolerate the taints of the nodes that it misses."""
    yield from tolerate(it, missed_nodes(it))
