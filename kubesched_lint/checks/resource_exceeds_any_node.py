"""One pod requests more than any node that it may use offers; for a DaemonSet, more than its own node offers."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.checks._large_by_node import of_daemons, of_parts
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.resources import DEVICE_CLASS, request_path
from kubesched_lint.engine.scenario.others.room import shortages_on, too_small
from kubesched_lint.engine.scenario.premises.device_premises import class_premises
from kubesched_lint.engine.scenario.premises.premises import count_existing, node_premises, nodes_in_words
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.capacity import Shortage
from kubesched_lint.explaining.near_misses.too_large import (
    advice,
    closed_to,
    exceeds,
    if_tolerated,
    is_missing_device,
    usual_amount,
)
from kubesched_lint.explaining.remedies.nodes import tolerate
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, proof


def check(it: Member) -> Iterator[Hazard]:
    reach = it.reach
    if it.workload.kind == "DaemonSet":
        yield from of_daemons(it)
    elif reach.tolerated and not reach.usable:
        # extended-resource-missing reports devices that nobody offers, so they come last.
        lacking = sorted(shortages_on(it, reach.tolerated), key=is_missing_device)
        parts = () if lacking else tuple(too_small(it, reach.tolerated))
        if lacking:
            yield _of_all(it, *lacking)
        elif parts:  # else cordons, not resources, are the cause
            yield of_parts(it, parts)


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Tolerate the taints of nodes that are large enough."""
    if it.workload.kind != "DaemonSet":
        yield from tolerate(it, closed_to(it))


def _of_all(it: Member, shortage: Shortage, *others: Shortage) -> Hazard:
    """The hazard of a pod whose request of one resource or more exceeds every node."""
    among = it.reach.tolerated
    name, wanted, largest, where = shortage.resource, shortage.wanted, shortage.largest, shortage.node
    offer = it.scenario.potential.by_name.get(where) if it.scenario.pools else None
    usual = None if offer is None else usual_amount(offer, name)
    where = where if offer is None else str(offer.template)
    nodes = nodes_in_words(it.scenario, among)
    called = "largest allocatable" if usual is None else "most that could be allocatable"
    others = tuple(other for other in others if not is_missing_device(other))
    return Hazard(
        at=request_path(it.workload, name),
        evidence=proof(
            "; ".join((f"{exceeds(shortage)}, the {called} of {nodes} ({where})", *map(exceeds, others))),
            demand=wanted,
            supply=largest,
            assumes=(*node_premises(it), *(class_premises(name, it.scenario) if name.startswith(DEVICE_CLASS) else ())),
        ),
        values={
            "resource": name,
            "wanted": show(name, wanted),
            "largest": show(name, largest),
            "node": where,
            "replicas": it.replicas,
            "count": count_existing(it.scenario, among),
            "advice": "" if offer is not None or others else advice(it, name),
            "usual": show(name, largest if usual is None else usual),
            **if_tolerated(it),
        },
        cause="" if largest else name,
        variant="absent" if largest == 0 else "" if offer is None else "estimated",
    )
