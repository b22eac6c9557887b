"""How much of a ResourceQuota the set and the running pods use."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched_lint.admission.quotas import PODS, asked, asked_with_claims, counts, unset
from kubesched_lint.model.policy import ResourceQuota
from kubesched_lint.model.workload import SCALED, Workload
from kubesched_lint.world.running import RunningPods, pods_of_others
from kubesched_lint.world.world import Member, World, once_per_world

STANDING = (*SCALED, "DaemonSet")
"""Kinds whose pods all exist at the same time (those of a Job run in turn)."""


def used(quota: ResourceQuota, entry: str, pods: RunningPods) -> int:
    """Return how much of a quota's entry running pods use; ``pods`` are those of other workloads that count."""
    known, key = pods.quota_uses, (quota, entry)
    if key not in known:
        charged = pods.charged.get(quota.namespace, ())
        known[key] = sum(asked(p, entry) * count for p, count in charged if not quota.scopes or counts(quota, p))
    return known[key]


def drawing(quota: ResourceQuota, world: World) -> tuple[Workload, ...]:
    """The created workloads whose pods the quota counts, in creation order; Jobs do not count."""
    return drawers(world).get(quota, ())


@once_per_world
def drawers(world: World) -> dict[ResourceQuota, tuple[Workload, ...]]:
    """``drawing`` of every quota."""
    found: dict[ResourceQuota, list[Workload]] = {}
    for workload in world.as_created:
        if workload.kind in STANDING:
            quotas = world.admission.quotas_of(workload, world.member(workload).pod)
            for quota in quotas:
                found.setdefault(quota, []).append(workload)
    return {quota: tuple(workloads) for quota, workloads in found.items()}


def asked_of(it: Member, entry: str) -> int:
    """Return how much of an entry one pod of the workload uses."""
    return asked_with_claims(it.pod, it.workload.claim_templates, entry)


def granted(wanted: Sequence[tuple[Workload, int]], world: World) -> list[int]:
    """Return, for each workload, how many wanted pods the API server creates if they are requested in this order."""
    found = [count if world.member(workload).is_created else 0 for workload, count in wanted]
    if not world.objects.quotas:
        return found
    pods = [world.member(workload).pod for workload, _ in wanted]
    counted: dict[ResourceQuota, list[int]] = {}
    for i, ((workload, _), pod) in enumerate(zip(wanted, pods, strict=True)):
        for quota in world.admission.quotas_of(workload, pod):
            counted.setdefault(quota, []).append(i)
    for quota in sorted(counted, key=_numbered(world).__getitem__):
        taken = {name: used(quota, name, pods_of_others(world)) for name in quota.hard}
        for i in counted[quota]:
            if not found[i]:
                continue
            workload, _ = wanted[i]
            each = {name: amount for name in quota.hard if (amount := asked_of(world.member(workload), name))}
            room = [max(quota.hard[name] - taken[name], 0) // amount for name, amount in each.items()]
            found[i] = 0 if unset(pods[i], quota.hard) else min((*room, found[i]))
            for name, amount in each.items():
                taken[name] += amount * found[i]
    return found


@once_per_world
def _numbered(world: World) -> dict[ResourceQuota, int]:
    """Each quota → its place among all."""
    return {quota: number for number, quota in enumerate(world.objects.quotas)}


def shown_as(entry: str) -> str:
    """The resource whose unit the amounts of an entry use."""
    name = "pods" if entry in PODS else entry.removeprefix("requests.").removeprefix("limits.")
    return "memory" if name == "storage" else name
