"""What to say of requests that nodes are too small for: what each lacks, and what would fit."""

from __future__ import annotations

from collections.abc import Mapping

from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.resources import is_extended
from kubesched_lint.engine.scenario.others.room import large_enough, left_by_others, taints_in_the_way
from kubesched_lint.engine.scenario.pools.offers import NodeOffer, room_beside
from kubesched_lint.engine.scenario.premises.premises import nodes_in_words
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.capacity import Shortage
from kubesched_lint.explaining.nodes.missed_nodes import control_planes


def is_missing_device(shortage: Shortage) -> bool:
    return not shortage.largest and is_extended(shortage.resource)


def exceeds(shortage: Shortage) -> str:
    """Return ``memory 900Gi > 100Gi``."""
    name = shortage.resource
    return f"{name} {show(name, shortage.wanted)} > {show(name, shortage.largest)}"


def closed_to(it: Member) -> NodeSet:
    """The nodes that are large enough and match, but whose taints it does not tolerate; no control planes."""
    return large_enough(it, it.reach.matching & ~it.reach.tolerated) & ~control_planes(it.scenario)


def if_tolerated(it: Member) -> Mapping[str, str]:
    """What the help says about nodes that only their taints close; empty without any."""
    nodes = closed_to(it)
    if not nodes:
        return {"tolerate": ""}
    untolerated = taints_in_the_way(it, nodes)
    taints = first_few([str(taint) for taint in untolerated])
    count = nodes_in_words(it.scenario, nodes)
    return {"tolerate": f"add a toleration for {taints}, which keeps the pod off {count} that would do; or "}


def advice(it: Member, resource: str) -> str:
    """The largest request that fits on one of the nodes that lack nothing else; empty without one."""
    roomy = large_enough(it, it.reach.tolerated & it.scenario.today, but=resource)
    return fits(resource, *left_by_others(it, roomy, resource)) if roomy else ""


def fits(resource: str, most: int, rest: str) -> str:
    """Return the part of a help that says what fits beside those who use the ``rest``; empty if nothing does."""
    return f"request at most {show(resource, most)} of {resource}{rest}; or " if most else ""


def usual_amount(offer: NodeOffer, resource: str) -> int | None:
    """The usual amount on a machine of that type, if only a bound is certain and the table has it; else None."""
    if offer.template.shape.most is None:
        return None
    usual = (room_beside(offer.template.shape.allocatable, offer.daemons) or {}).get(resource)
    return None if usual == offer.template.shape.most.get(resource) else usual
