"""One pod requests more than any node that it may use offers; for a DaemonSet, more than its own node offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.model.quantity import show
from kubesched_lint.model.resources import is_extended, request_path
from kubesched_lint.world.potential import room_beside
from kubesched_lint.world.premises import count_existing, node_premises, nodes_in_words
from kubesched_lint.world.room import daemons_on, shortage_on, too_small
from kubesched_lint.world.world import Member

if TYPE_CHECKING:
    from kubesched_lint.world.potential import Offer


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
    offer = it.world.potential.by_name.get(where) if it.world.pools else None
    usual = None if offer is None else _usual(offer, name)
    where = where if offer is None else str(offer.template)
    taken = 0 if offer is not None else sum(pod.requests.get(name, 0) for pod in daemons_on(it.world, where))
    called = "largest allocatable" if usual is None else "most that could be allocatable"
    yield Hazard(
        at=request_path(it.workload, name),
        evidence=proof(
            f"{name} {show(name, wanted)} > {show(name, largest)}, the {called} of "
            f"{nodes_in_words(it.world, reach.tolerated)} ({where})",
            demand=wanted,
            supply=largest,
            assumes=node_premises(it),
        ),
        values={
            "resource": name,
            "wanted": show(name, wanted),
            "largest": show(name, largest),
            "node": where,
            "nodes": nodes_in_words(it.world, reach.tolerated),
            "replicas": it.replicas,
            "count": count_existing(it.world, reach.tolerated),
            "fits": show(name, max(0, largest - taken)),
            "beside": " beside the DaemonSets there" if taken else "",
            "usual": show(name, largest if usual is None else usual),
        },
        variant="absent" if largest == 0 else "" if offer is None else "estimated",
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


def _usual(offer: Offer, resource: str) -> int | None:
    """The usual amount on a machine of that type, if only a bound is certain and the table has it; else None."""
    if offer.template.shape.most is None:
        return None
    usual = (room_beside(offer.template.shape.allocatable, offer.daemons) or {}).get(resource)
    return None if usual == offer.template.shape.most.get(resource) else usual
