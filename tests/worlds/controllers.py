"""What the controllers do next, for the exhaustive reference: by hand, over counts of named revisions and ordinals.

Mirrors ``pkg/controller/{deployment,replicaset,statefulset,daemon,job}`` (v1.36). A bound pod is ready at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import ceil
from typing import Any, NamedTuple

from tests.worlds.filters import Kind, Placed
from tests.worlds.storage import Disks

Value = dict[str, Any]
WAITS = -1
"""Not bound, and in the scheduler's queue. Below that: tried in vain, and asleep (see ``courses``)."""
NEWEST = 0
"""The number of the revision that the manifests ask for; higher ones are older."""


class State(NamedTuple):
    """Pods as (number of the kind, position), sorted; sizes of ReplicaSets as their specs say.

    The position is that of the node, or WAITS or less.
    """

    pods: tuple[Placed, ...]
    sizes: tuple[tuple[tuple[int, int], int], ...]
    disks: Disks


Mine = list[tuple[Kind, Placed]]


def deployment(
    spec: Value, sizes: Mapping[int, int], bound: Mapping[int, int], actual: Mapping[int, int]
) -> dict[int, int]:
    """New sizes of its ReplicaSets after one sync; empty when it rests (deployment/rolling.go, recreate.go)."""
    desired = spec["replicas"]
    old = {revision: size for revision, size in sizes.items() if revision != NEWEST and size}
    strategy = spec.get("strategy") or {}
    if strategy.get("type") == "Recreate":
        if old:
            return dict.fromkeys(old, 0)
        if any(count for revision, count in actual.items() if revision != NEWEST):
            return {}
        return {NEWEST: desired} if sizes.get(NEWEST, 0) != desired else {}
    surge, unavailable = _bounds(strategy.get("rollingUpdate") or {}, desired)
    fresh = sizes.get(NEWEST, 0)
    if not old:
        return {NEWEST: desired} if fresh != desired else {}
    total = sum(sizes.values())
    if fresh < desired and total < desired + surge:
        return {NEWEST: fresh + min(desired + surge - total, desired - fresh)}
    return _scaled_down(desired - unavailable, sizes, old, bound)


def _scaled_down(
    least: int, sizes: Mapping[int, int], old: Mapping[int, int], bound: Mapping[int, int]
) -> dict[int, int]:
    """reconcileOldReplicaSets: unhealthy ones first, then as many as availability allows."""
    most = sum(sizes.values()) - least - (sizes.get(NEWEST, 0) - bound.get(NEWEST, 0))
    if most <= 0:
        return {}
    found: dict[int, int] = {}
    for revision in sorted(old, reverse=True):
        ill = min(most - sum(old[r] - found[r] for r in found), old[revision] - bound.get(revision, 0))
        if ill > 0:
            found[revision] = old[revision] - ill
    left = sum(bound.values()) - least
    for revision in sorted(old, reverse=True):
        size = found.get(revision, old[revision])
        step = min(left, size)
        if step > 0:
            found[revision] = size - step
            left -= step
    return found


def _bounds(rolling: Value, desired: int) -> tuple[int, int]:
    """maxSurge rounds up, maxUnavailable down; both zero: one unavailable (ResolveFenceposts)."""

    def part(written: int | str, up: bool) -> int:
        if isinstance(written, int):
            return written
        share = desired * int(written.rstrip("%")) / 100
        return ceil(share) if up else int(share)

    surge, unavailable = part(rolling.get("maxSurge", "25%"), True), part(rolling.get("maxUnavailable", "25%"), False)
    return (surge, 1) if not surge and not unavailable else (surge, unavailable)


def deletions(mine: Mine, related: Mine, count: int) -> Iterator[tuple[Placed, ...]]:
    """The pods that a ReplicaSet may delete: waiting ones first, then those with most siblings on their node."""

    def rank(one: tuple[Kind, Placed]) -> tuple[int, int]:
        position = one[1][1]
        return (0, 0) if position < 0 else (1, -sum(p == position for _, (_, p) in related))

    worst = sorted(map(rank, mine))[:count]
    for gone in combinations(mine, count):
        if sorted(map(rank, gone)) == worst:
            yield tuple(sorted(placed for _, placed in gone))


class Step(NamedTuple):
    """What a StatefulSet does next: ordinals to make, and those to delete."""

    create: tuple[int, ...] = ()
    delete: tuple[int, ...] = ()


def stateful_set(members: Mapping[int, tuple[int, bool]], replicas: int, *, ordered: bool) -> Step:
    """``members``: ordinal → (revision, bound). Mirrors performUpdate of stateful_set_control.go."""
    if ordered:
        for ordinal in range(replicas):
            if ordinal not in members:
                return Step(create=(ordinal,))
            if not members[ordinal][1]:
                return Step()
        condemned = sorted((o for o in members if o >= replicas), reverse=True)
        if condemned:
            return Step(delete=condemned[:1]) if all(members[o][1] for o in condemned[1:]) else Step()
    else:
        missing = tuple(o for o in range(replicas) if o not in members)
        if missing:
            return Step(create=missing)
        condemned = [o for o in members if o >= replicas]
        if condemned:
            return Step(delete=tuple(condemned))
    for ordinal in reversed(range(replicas)):
        revision, bound = members[ordinal]
        if revision != NEWEST:
            return Step(delete=(ordinal,))
        if not bound:
            return Step()
    return Step()


def free_slots(taken: Sequence[int], count: int) -> list[int]:
    return [n for n in range(len(taken) + count) if n not in taken][:count]
