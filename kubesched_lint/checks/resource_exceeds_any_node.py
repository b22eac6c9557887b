"""One pod requests more than any node that it may use offers; for a DaemonSet, more than its own node offers."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.model.quantity import show
from kubesched_lint.model.resources import is_extended, request_path
from kubesched_lint.world.premises import node_premises
from kubesched_lint.world.room import shortage_on, too_small
from kubesched_lint.world.world import Member, World


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind == "DaemonSet":
        yield from _of_daemons(it)
        return
    reach = it.reach
    if not reach.tolerated or reach.usable:
        return
    shortage = shortage_on(it, reach.tolerated)
    if shortage is None:
        return  # cordons, not resources, are the cause
    name, wanted, largest, where = shortage.resource, shortage.wanted, shortage.largest, shortage.node
    usual = _usual(it.world, where, name)
    called = "largest allocatable" if usual is None else "most that could be allocatable"
    yield Hazard(
        at=request_path(it.workload, name),
        evidence=proof(
            f"{name} {show(name, wanted)} > {show(name, largest)}, the {called} of "
            f"{reach.tolerated.bit_count()} nodes ({where})",
            demand=wanted,
            supply=largest,
            assumes=node_premises(it),
        ),
        values={
            "resource": name,
            "wanted": show(name, wanted),
            "largest": show(name, largest),
            "node": where,
            "replicas": it.replicas,
            "count": reach.tolerated.bit_count(),
            "usual": "" if usual is None else show(name, usual),
        },
        variant="absent" if largest == 0 else "" if usual is None else "estimated",
    )


def _of_daemons(it: Member) -> Iterator[Hazard]:
    """Its controller makes a pod for each node that labels and taints allow, whatever its size (daemonset/util)."""
    from kubesched_lint.analysis.wanted import daemon_nodes

    nodes = daemon_nodes(it)
    found = tuple(too_small(it, nodes))
    never = sum(lacking.bit_count() for _, lacking in found)
    for shortage, lacking in found:
        name, wanted, largest = shortage.resource, shortage.wanted, shortage.largest
        where, count = lacking.bit_count(), nodes.bit_count()
        if is_extended(name) and not largest and where == count:
            continue  # a DaemonSet may itself provide the devices that no node has yet
        yield Hazard(
            at=request_path(it.workload, name),
            evidence=proof(
                f"{name} {show(name, wanted)} > {show(name, largest)}, the largest allocatable of {where} of the "
                f"{count} nodes that get a pod ({shortage.node})",
                demand=wanted,
                supply=largest,
                assumes=node_premises(it),
            ),
            # If some of its pods run, small nodes may be excluded on purpose.
            severity=None if never == count else Severity.WARNING,
            values={
                "resource": name,
                "wanted": show(name, wanted),
                "largest": show(name, largest),
                "node": shortage.node,
                "nodes": it.world.names(lacking),
                "pending": where,
                "replicas": where,
                "count": count,
            },
            variant="some_daemons" if where < count else "daemons" if largest else "absent",
        )


def _usual(world: World, node: str, resource: str) -> int | None:
    """The usual amount on a machine of that type, if a pool would make it and only a bound is certain; else None."""
    offer = world.potential.by_name.get(node) if world.pools else None
    if offer is None or offer.template.shape.most is None:
        return None
    usual = (offer.template.shape.allocatable or {}).get(resource)
    return None if usual == offer.template.shape.most.get(resource) else usual
