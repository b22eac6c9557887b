"""Pods that would find no node if they were deleted one at a time, while all other pods stay: by exact filters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesched_lint.commands.audit.findings import PROOF, RETURN, AuditFinding
from kubesched_lint.commands.audit.running_cluster import ReplicaGroup, RunningCluster, decisive, place
from kubesched_lint.commands.limits import MOST_PLACES
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scheduler.framework import Diagnosis, diagnose, filter_node, message, static_reach
from kubesched_lint.engine.scheduler.preemption.preemption import preempt
from kubesched_lint.findings import Severity


def not_returning(now: RunningCluster) -> Iterator[AuditFinding]:
    """Yield a finding for each group of which some pod could not come back."""
    for group in now.groups:
        if group.comes_back and now.follows(group) and not group.pod.node_name:
            yield from _of(group, now)


def _of(group: ReplicaGroup, now: RunningCluster) -> Iterator[AuditFinding]:
    if now.open_to(group) and not _own_keys(group.pod):
        return
    lost, seen = _lost(group, now.state)
    if not lost:
        return
    plugin = decisive(group.pod, seen[1], now.state)
    count, total = len(lost), len(group.positions)
    who = "the pod" if total == 1 else f"{count} of {total} pods"
    where = "" if total == 1 else ", if one of them were deleted,"
    condition = " if it were deleted" if total == 1 else ""
    makes_room = " without evicting other pods" if seen[2] else ""
    yield AuditFinding(
        RETURN,
        Severity.WARNING,
        group.ref,
        f"{who} of {group.ref}{where} would find no node{makes_room}{condition}",
        place(group.pod, group.workload, plugin, group.ref),
        PROOF,
        count,
        (
            ("proof", message(seen[1], "")),
            ("assumes", now.assumed),
        ),
    )


def _lost(group: ReplicaGroup, state: ClusterState) -> tuple[list[int], tuple[int, Diagnosis, bool]]:
    """Return the positions of pods that could not come back, and for the first one what it would meet.

    (position, diagnosis, whether evicting others would make room).
    """
    whole = diagnose(group.pod, state)
    first = (-1, whole, False)
    lost: list[int] = []
    for alike in list(_alike(group, state, is_open=bool(whole.feasible)))[:MOST_PLACES]:
        refusal = _without_one(group, alike[0], state)
        if refusal is not None:
            first = refusal if not lost else first
            lost += alike
    return lost, first


def _alike(group: ReplicaGroup, state: ClusterState, *, is_open: bool) -> Iterable[list[int]]:
    """Return the positions of pods that leave the same behind: on one node, or in the same domains of their keys.

    ``is_open``: a node takes one more pod now. Otherwise all depends on the one node, as it does if that node holds
    more than it should.
    """
    pod, index = group.pod, state.index
    usable, keys = static_reach(pod, index).usable, _own_keys(pod)
    by_node = not is_open or bool(pod.required_anti_affinity or pod.host_ports or pod.volumes)
    groups: dict[tuple[object, ...], list[int]] = {}
    for position in group.positions:
        if by_node or _is_overfull(pod, position, state):
            where: tuple[object, ...] = (position,)
        else:
            where = (bool(usable >> position & 1), *map(index.nodes[position].labels.get, keys))
        groups.setdefault(where, []).append(position)
    return groups.values()


def _is_overfull(pod: Pod, position: int, state: ClusterState) -> bool:
    return any(state.requested(position, r) > state.index.allocatable(r)[position] for r in ("pods", *pod.requests))


def _without_one(group: ReplicaGroup, position: int, state: ClusterState) -> tuple[int, Diagnosis, bool] | None:
    with state.undone():
        state.remove(placement_on(position, group, state))
        if not filter_node(group.pod, state, position):
            return None
        diagnosis = diagnose(group.pod, state)
        if diagnosis.feasible:
            return None
        return position, diagnosis, preempt(group.pod, diagnosis, state).chosen is not None


def placement_on(position: int, group: ReplicaGroup, state: ClusterState) -> Placement:
    """Return one pod of a group on a node."""
    ours = {(bound.namespace, bound.name) for bound in group.bound}  # another BoundPod after a resize in place
    return next(p for p in state.pods_on(position) if p.bound and (p.bound.namespace, p.bound.name) in ours)


def _own_keys(pod: Pod) -> tuple[str, ...]:
    """Return the keys over which another place may be worse without the pod: it attracts, or lowers a count."""
    hard = (constraint.topology_key for constraint in pod.spread if constraint.is_hard)
    return (*hard, *(term.topology_key for term in pod.required_affinity))
