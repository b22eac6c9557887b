"""Nodes that are too small for a pod, each for a reason of its own: for a DaemonSet's, and where none has all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.resources import is_extended, request_path
from kubesched_lint.engine.scenario.others.room import left_by_others, shortages_on, too_small
from kubesched_lint.engine.scenario.premises.premises import node_premises, nodes_in_words
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.capacity import Shortage
from kubesched_lint.explaining.near_misses.too_large import exceeds, fits, if_tolerated, is_missing_device
from kubesched_lint.findings import Hazard, Severity, proof


def of_daemons(it: Member) -> Iterator[Hazard]:
    """Its controller makes a pod for each node that labels and taints allow, whatever its size (daemonset/util)."""
    nodes = it.daemon_nodes
    too_large = tuple(too_small(it, nodes))
    never = sum(lacking.bit_count() for _, lacking in too_large)
    for shortage, lacking in too_large:
        name, wanted, largest = shortage.resource, shortage.wanted, shortage.largest
        where, count = lacking.bit_count(), nodes.bit_count()
        gets = plural(count, "gets", "get")
        if is_extended(name) and not largest and where == count:
            continue  # a DaemonSet may itself provide the devices that no node has yet
        others = [o for o in shortages_on(it, lacking) if o.resource != name and not is_missing_device(o)]
        yield Hazard(
            at=request_path(it.workload, name),
            evidence=proof(
                f"{name} {show(name, wanted)} > {show(name, largest)}, the largest allocatable of {where} of "
                f"{many(count, 'node')} that {gets} a pod ({shortage.node})"
                f"{''.join(f'; {exceeds(other)}' for other in others)}",
                demand=wanted,
                supply=largest,
                assumes=node_premises(it),
            ),
            # Other nodes offer the device, so its plugin may follow on these, too.
            severity=Severity.WARNING if never < count and is_missing_device(shortage) else None,
            values={
                "resource": name,
                "wanted": show(name, wanted),
                "largest": show(name, largest),
                "node": shortage.node,
                "nodes": it.scenario.names(lacking),
                "advice": "" if others else fits(name, *left_by_others(it, nodes, name, min)),
                "pending": where,
                "replicas": where,
                "count": count,
            },
            variant="some_daemons" if where < count else "daemons" if largest else "absent",
        )


def of_parts(it: Member, parts: Sequence[tuple[Shortage, NodeSet]]) -> Hazard:
    """The hazard of a pod of which every node that it may use lacks one resource or another."""
    among = it.reach.tolerated
    left = (among & ~reduce(or_, (lacking for _, lacking in parts))).bit_count()
    short = [
        f"{nodes_in_words(it.scenario, lacking)} with at most {part.resource} {show(part.resource, part.largest)}"
        for part, lacking in parts
    ]
    if left:
        short.append(f"{many(left, 'node')} that {plural(left, 'takes', 'take')} no new pods")
    return Hazard(
        at=request_path(it.workload, parts[0][0].resource),
        evidence=proof(
            f"{'; '.join(short)}: none of {nodes_in_words(it.scenario, among)} is left",
            demand=1,
            supply=0,
            assumes=node_premises(it),
        ),
        values={
            "wanted": tuple(f"{part.resource} {show(part.resource, part.wanted)}" for part, _ in parts),
            "short": tuple(short),
            "replicas": it.replicas,
            **if_tolerated(it),
        },
        variant="parts",
    )
