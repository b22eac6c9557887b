"""A Deployment resizes its ReplicaSets: the new one within maxSurge, the old ones within maxUnavailable.

Mirrors ``pkg/controller/deployment/{rolling,recreate,sync}.go`` and ``util/deployment_util.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from kubesched_lint.engine.controllers.bounds import rolling_bounds
from kubesched_lint.engine.model.workloads.workload import Strategy


class ReplicaSetSize(Struct, frozen=True):
    """One ReplicaSet: ``revision`` increases with creation; ``available`` of its ``size`` pods are bound and ready."""

    revision: int
    size: int
    available: int


def sync(strategy: Strategy, replicas: int, newest: int, sets: Sequence[ReplicaSetSize]) -> Mapping[int, int]:
    """Return revision → new size after one sync; empty if nothing changes.

    ``newest`` is the revision of the current template, whose ReplicaSet may not exist yet. A sync scales either the new
    ReplicaSet or the old ones, never both.
    """
    new = next((s for s in sets if s.revision == newest), ReplicaSetSize(newest, 0, 0))
    old = sorted((s for s in sets if s.revision != newest and s.size), key=lambda s: s.revision)
    if strategy.type == "Recreate":
        if old:
            return {s.revision: 0 for s in old}
        return {newest: replicas} if new.size != replicas else {}
    size = _new_size(strategy, replicas, new, old)
    if size != new.size:
        return {newest: size}
    return _old_sizes(strategy, replicas, new, old)


def _new_size(strategy: Strategy, replicas: int, new: ReplicaSetSize, old: Sequence[ReplicaSetSize]) -> int:
    """Return the new ReplicaSet's size (NewRSNewReplicas): at most replicas + maxSurge pods over all revisions."""
    if new.size >= replicas:
        return replicas
    surge, _ = rolling_bounds(strategy, replicas)
    room = replicas + surge - new.size - sum(s.size for s in old)
    return new.size + min(max(room, 0), replicas - new.size)


def _old_sizes(
    strategy: Strategy, replicas: int, new: ReplicaSetSize, old: Sequence[ReplicaSetSize]
) -> Mapping[int, int]:
    """Return the old sizes to change (reconcileOldReplicaSets): unhealthy pods go first, then healthy ones if enough
    remain.
    """
    if strategy.is_whole:
        return {s.revision: 0 for s in old} if new.available >= replicas else {}
    _, unavailable = rolling_bounds(strategy, replicas)
    least = replicas - unavailable
    removable = new.size + sum(s.size for s in old) - least - (new.size - new.available)
    if removable <= 0:
        return {}
    sizes = {s.revision: s.size for s in old}
    for s in old:
        unhealthy = min(removable, s.size - s.available)
        sizes[s.revision] -= unhealthy
        removable -= unhealthy
    spare = new.available + sum(s.available for s in old) - least
    for s in old:
        if spare <= 0:
            break
        gone = min(sizes[s.revision], spare)
        sizes[s.revision] -= gone
        spare -= gone
    return {s.revision: sizes[s.revision] for s in old if sizes[s.revision] != s.size}


def rescale(
    strategy: Strategy, before: int, replicas: int, newest: int, sets: Sequence[ReplicaSetSize]
) -> Mapping[int, int]:
    """Return the new sizes when ``spec.replicas`` changes from ``before`` to ``replicas``; in proportion during a
    rollout.

    Mirrors scale() in ``sync.go``, with FindActiveOrLatest, IsSaturated and GetReplicaSetProportion.
    """
    active = [s for s in sets if s.size]
    if len(active) <= 1:
        revision = active[0].revision if active else max((s.revision for s in sets), default=newest)
        if not active and any(s.revision == newest for s in sets):
            revision = newest
        size = active[0].size if active else 0
        return {revision: replicas} if size != replicas else {}
    new = next((s for s in sets if s.revision == newest), None)
    if new is not None and new.size == new.available == replicas:
        return {s.revision: 0 for s in active if s.revision != newest}
    if strategy.type != "RollingUpdate":
        return {}
    return _in_proportion(strategy, before, replicas, active)


def _in_proportion(
    strategy: Strategy, before: int, replicas: int, active: Sequence[ReplicaSetSize]
) -> Mapping[int, int]:
    surge_before = rolling_bounds(strategy, before)[0]
    most = replicas + rolling_bounds(strategy, replicas)[0]
    add = (most if replicas else 0) - sum(s.size for s in active)
    # Largest first; among equals the newest grows first and the oldest shrinks first.
    ordered = sorted(active, key=lambda s: (-s.size, -s.revision if add > 0 else s.revision))
    sizes: dict[int, int] = {}
    added = 0
    for s in ordered:
        share = 0
        if add != added and add:
            if replicas:
                share = _round(s.size * most / (before + surge_before)) - s.size
            else:
                share = -s.size
            share = min(share, add - added) if add > 0 else max(share, add - added)
        sizes[s.revision] = s.size + share
        added += share
    largest = ordered[0].revision
    sizes[largest] = max(sizes[largest] + add - added, 0)
    return {s.revision: sizes[s.revision] for s in active if sizes[s.revision] != s.size}


def _round(number: float) -> int:
    """Round half away from zero, like ``integer.RoundToInt32``."""
    return int(number + 0.5) if number >= 0 else int(number - 0.5)
