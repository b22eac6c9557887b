"""One pod requests more than any node that it may use offers; for a DaemonSet, more than its own node offers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from kubesched_lint.analysis.remedies.nodes import tolerate
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.wanted import control_planes
from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.model.quantity import show
from kubesched_lint.model.resources import DEVICE_CLASS, is_extended, request_path
from kubesched_lint.text import first_few, many, plural
from kubesched_lint.world.device_premises import class_premises
from kubesched_lint.world.offers import room_beside
from kubesched_lint.world.premises import ONE_NODE, count_existing, node_premises, nodes_in_words
from kubesched_lint.world.room import large_enough, left_by_others, shortages_on, taints_in_the_way, too_small
from kubesched_lint.world.world import Member

if TYPE_CHECKING:
    from kubesched_lint.scheduler.capacity import Shortage
    from kubesched_lint.world.offers import Offer


def check(it: Member) -> Iterator[Hazard]:
    reach = it.reach
    if it.workload.kind == "DaemonSet":
        yield from _of_daemons(it)
    elif reach.tolerated and not reach.usable:
        # extended-resource-missing reports devices that nobody offers, so they come last.
        lacking = sorted(shortages_on(it, reach.tolerated), key=_is_missing_device)
        parts = () if lacking else tuple(too_small(it, reach.tolerated))
        if lacking:
            yield _of_all(it, *lacking)
        elif parts:  # else cordons, not resources, are the cause
            yield _of_parts(it, parts)


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Tolerate the taints of nodes that are large enough."""
    if it.workload.kind != "DaemonSet":
        yield from tolerate(it, _closed_to(it))


def _of_all(it: Member, shortage: Shortage, *others: Shortage) -> Hazard:
    """The hazard of a pod whose request of one resource or more exceeds every node."""
    among = it.reach.tolerated
    name, wanted, largest, where = shortage.resource, shortage.wanted, shortage.largest, shortage.node
    offer = it.world.potential.by_name.get(where) if it.world.pools else None
    usual = None if offer is None else _usual(offer, name)
    where = where if offer is None else str(offer.template)
    nodes = nodes_in_words(it.world, among)
    called = "largest allocatable" if usual is None else "most that could be allocatable"
    others = tuple(other for other in others if not _is_missing_device(other))
    return Hazard(
        at=request_path(it.workload, name),
        evidence=proof(
            "; ".join((f"{_exceeds(shortage)}, the {called} of {nodes} ({where})", *map(_exceeds, others))),
            demand=wanted,
            supply=largest,
            assumes=(*node_premises(it), *(class_premises(name, it.world) if name.startswith(DEVICE_CLASS) else ())),
        ),
        values={
            "resource": name,
            "wanted": show(name, wanted),
            "largest": show(name, largest),
            "node": where,
            "others": _too_little_of(others),
            "lacks": _lacking(nodes, "it may use"),
            "replicas": it.replicas,
            "count": count_existing(it.world, among),
            "advice": "" if offer is not None or others else _advice(it, name),
            "usual": show(name, largest if usual is None else usual),
            **_if_tolerated(it),
        },
        cause="" if largest else name,
        variant="absent" if largest == 0 else "" if offer is None else "estimated",
    )


def _of_parts(it: Member, parts: Sequence[tuple[Shortage, NodeSet]]) -> Hazard:
    """The hazard of a pod of which every node that it may use lacks one resource or another."""
    among = it.reach.tolerated
    left = (among & ~reduce(or_, (lacking for _, lacking in parts))).bit_count()
    short = [
        f"{nodes_in_words(it.world, lacking)} with at most {part.resource} {show(part.resource, part.largest)}"
        for part, lacking in parts
    ]
    if left:
        short.append(f"{many(left, 'node')} that {plural(left, 'takes', 'take')} no new pods")
    return Hazard(
        at=request_path(it.workload, parts[0][0].resource),
        evidence=proof(
            f"{'; '.join(short)}: none of {nodes_in_words(it.world, among)} is left",
            demand=1,
            supply=0,
            assumes=node_premises(it),
        ),
        values={
            "wanted": tuple(f"{part.resource} {show(part.resource, part.wanted)}" for part, _ in parts),
            "short": tuple(short),
            "replicas": it.replicas,
            **_if_tolerated(it),
        },
        variant="parts",
    )


def _is_missing_device(shortage: Shortage) -> bool:
    return not shortage.largest and is_extended(shortage.resource)


def _exceeds(shortage: Shortage) -> str:
    name = shortage.resource
    return f"{name} {show(name, shortage.wanted)} > {show(name, shortage.largest)}"


def _too_little_of(others: Iterable[Shortage]) -> str:
    """The rest of a message about a resource: which other requests exceed every one of these nodes."""
    asked = [f"{o.resource} {show(o.resource, o.wanted)} (at most {show(o.resource, o.largest)})" for o in others]
    return f", and none has {' or '.join(asked)}" if asked else ""


def _closed_to(it: Member) -> NodeSet:
    """The nodes that are large enough and match, but whose taints it does not tolerate; no control planes."""
    return large_enough(it, it.reach.matching & ~it.reach.tolerated) & ~control_planes(it.world)


def _if_tolerated(it: Member) -> Mapping[str, str]:
    """What to say about nodes that only their taints close: in the message and in the help; empty without any."""
    nodes = _closed_to(it)
    if not nodes:
        return {"closed": "", "tolerate": ""}
    found = taints_in_the_way(it, nodes)
    taints = first_few([str(taint) for taint in found], 3)
    count = nodes_in_words(it.world, nodes)
    have = "is large enough has" if count == ONE_NODE else "are large enough have"
    which = f"{plural(len(found), 'the taint')} {taints}, which it does not tolerate"
    return {"closed": f"; {count} that {have} {which}", "tolerate": f"add a toleration for {taints}; or "}


def _advice(it: Member, resource: str) -> str:
    """The largest request that fits on one of the nodes that lack nothing else; empty without one."""
    roomy = large_enough(it, it.reach.tolerated & it.world.today, but=resource)
    return _fits("it fits", resource, *left_by_others(it, roomy, resource)) if roomy else ""


def _fits(fits: str, resource: str, most: int, beside: str) -> str:
    return f"{fits} if the request is at most {show(resource, most)}{beside}; or " if most else ""


def _lacking(nodes: str, which: str) -> str:
    return f"the only node {which} does not offer" if nodes == ONE_NODE else f"none of the {nodes} {which} offers"


def _of_daemons(it: Member) -> Iterator[Hazard]:
    """Its controller makes a pod for each node that labels and taints allow, whatever its size (daemonset/util)."""
    nodes = it.daemon_nodes
    found = tuple(too_small(it, nodes))
    never = sum(lacking.bit_count() for _, lacking in found)
    for shortage, lacking in found:
        name, wanted, largest = shortage.resource, shortage.wanted, shortage.largest
        where, count = lacking.bit_count(), nodes.bit_count()
        if is_extended(name) and not largest and where == count:
            continue  # a DaemonSet may itself provide the devices that no node has yet
        others = [o for o in shortages_on(it, lacking) if o.resource != name and not _is_missing_device(o)]
        yield Hazard(
            at=request_path(it.workload, name),
            evidence=proof(
                f"{name} {show(name, wanted)} > {show(name, largest)}, the largest allocatable of {where} of "
                f"{many(count, 'node')} that {plural(count, 'gets', 'get')} a pod ({shortage.node})",
                demand=wanted,
                supply=largest,
                assumes=node_premises(it),
            ),
            # Other nodes offer the device, so its plugin may follow on these, too.
            severity=Severity.WARNING if never < count and _is_missing_device(shortage) else None,
            values={
                "resource": name,
                "wanted": show(name, wanted),
                "largest": show(name, largest),
                "node": shortage.node,
                "nodes": it.world.names(lacking),
                "lacks": _lacking(f"{count} {plural(count, 'node')}", f"that {plural(count, 'gets', 'get')} one"),
                "others": _too_little_of(others),
                "advice": "" if others else _fits("its pods fit", name, *left_by_others(it, nodes, name, min)),
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
