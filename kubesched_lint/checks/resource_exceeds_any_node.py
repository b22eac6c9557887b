"""One pod requests more than any node that it may use offers; for a DaemonSet, more than its own node offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.model.quantity import show
from kubesched_lint.model.resources import is_extended, request_path
from kubesched_lint.text import many, plural
from kubesched_lint.world.potential import room_beside
from kubesched_lint.world.premises import ONE_NODE, count_existing, node_premises, nodes_in_words
from kubesched_lint.world.room import left_by_others, shortage_on, too_small
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
    fits, beside = (0, "") if offer is not None else left_by_others(it, reach.tolerated & it.world.today, name)
    nodes = nodes_in_words(it.world, reach.tolerated)
    called = "largest allocatable" if usual is None else "most that could be allocatable"
    yield Hazard(
        at=request_path(it.workload, name),
        evidence=proof(
            f"{name} {show(name, wanted)} > {show(name, largest)}, the {called} of {nodes} ({where})",
            demand=wanted,
            supply=largest,
            assumes=node_premises(it),
        ),
        values={
            "resource": name,
            "wanted": show(name, wanted),
            "largest": show(name, largest),
            "node": where,
            "lacks": _lacking(nodes, "it may use"),
            "replicas": it.replicas,
            "count": count_existing(it.world, reach.tolerated),
            "advice": _advice("it fits", name, fits, beside),
            "usual": show(name, largest if usual is None else usual),
        },
        variant="absent" if largest == 0 else "" if offer is None else "estimated",
    )


def _advice(fits: str, resource: str, most: int, beside: str) -> str:
    return f"{fits} if the request is at most {show(resource, most)}{beside}; or " if most else ""


def _lacking(nodes: str, which: str) -> str:
    return f"the only node {which} does not offer" if nodes == ONE_NODE else f"none of the {nodes} {which} offers"


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
                f"{name} {show(name, wanted)} > {show(name, largest)}, the largest allocatable of {where} of "
                f"{many(count, 'node')} that {plural(count, 'gets', 'get')} a pod ({shortage.node})",
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
                "lacks": _lacking(f"{count} {plural(count, 'node')}", f"that {plural(count, 'gets', 'get')} one"),
                "advice": _advice("its pods fit", name, *left_by_others(it, nodes, name, min)),
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
