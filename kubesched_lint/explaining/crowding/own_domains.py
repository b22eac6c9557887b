"""The topology domains that replicas may have if each needs one for itself."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.scenario.others.room import domain_room
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.ends.bad_ends import bad_end


class Near(Struct, frozen=True):
    """The most domains with a pod that the replicas must be near, fewer than the domains for them; and whose pods."""

    most: int
    whom: tuple[str, ...]


def near_others(it: Member, domains: Sequence[str], event: str) -> Near | None:
    """Return what the verdict on an event proves; None if its pods need no others, or enough domains have these."""
    end = bad_end(it, event) if it.pod.required_affinity else None
    if end is None or not end.cell.near or end.cell.bound.most >= len(domains):
        return None
    return Near(end.cell.bound.most, tuple(map(str, end.cell.near)))


def are_all(it: Member, term: PodAffinityTerm, domains: Sequence[str]) -> bool:
    """Whether there are no further domains once the set has preempted what it may."""
    return domain_room(it, term.topology_key, term, staying_beside_set(it.scenario)).domains == domains
