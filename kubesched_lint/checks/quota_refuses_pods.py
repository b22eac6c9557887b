"""A ResourceQuota refuses pods because a container sets no amount, or because the pods are too many.

Mirrors ``pkg/quota/v1/evaluator/core/pods.go``: a quota on cpu or memory requires an amount for every container.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesched_lint import work
from kubesched_lint.admission.quotas import in_words, unset
from kubesched_lint.analysis.quota_demand import STANDING, asked_of, drawing, shown_as, used
from kubesched_lint.analysis.rollout import rollout_condition
from kubesched_lint.analysis.wanted import pods_wanted
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.model.pod import Container, Pod
from kubesched_lint.model.policy import ResourceQuota
from kubesched_lint.model.quantity import show
from kubesched_lint.world.staying import staying_beside_set
from kubesched_lint.world.world import Member, World, once_per_world

_REQUESTS: Mapping[str, str] = {"cpu": "cpu", "requests.cpu": "cpu", "memory": "memory", "requests.memory": "memory"}
_LIMITS: Mapping[str, str] = {"limits.cpu": "cpu", "limits.memory": "memory"}


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind != "DaemonSet" and not it.replicas:
        return
    pod = it.pod
    quotas = it.world.admission.quotas_of(it.workload, pod)
    is_counted = bool(quotas) and it.workload.kind in STANDING and it.is_created
    for quota in quotas:
        silent = next(_unsaid(pod, quota), None) if pod.pod_requests is None else None
        if silent is not None:
            yield _hazard_unsaid(it, quota, *silent)
        elif is_counted:
            work.spend(work.LOOK)
            yield from list(_exceeded(it, quota)) or _together(it, quota)


def _unsaid(pod: Pod, quota: ResourceQuota) -> Iterator[tuple[Container, tuple[str, ...]]]:
    for container in (*pod.containers, *pod.init_containers):
        missing = [
            f"requests.{r}" for name, r in _REQUESTS.items() if name in quota.hard and r not in container.requests
        ]
        missing += [name for name, r in _LIMITS.items() if name in quota.hard and r not in container.limits]
        if missing:
            yield container, tuple(dict.fromkeys(missing))


def _hazard_unsaid(it: Member, quota: ResourceQuota, container: Container, missing: tuple[str, ...]) -> Hazard:
    known = _is_live(quota, it.world) and it.world.cluster_has("LimitRange")
    premises = () if known else (f"no LimitRange of namespace {it.workload.namespace} fills it in",)
    return Hazard(
        at=container.path,
        evidence=proof(
            f"failed quota: {quota.name}: must specify {in_words(unset(it.pod, quota.hard))}",
            assumes=(*premises, *_premises(quota, it.world)),
        ),
        values={"quota": quota.name, "missing": missing, "container": container.name},
        severity=None if known else Severity.WARNING,
        related=_related(quota, it.world),
        variant="unsaid",
    )


def _exceeded(it: Member, quota: ResourceQuota) -> Iterator[Hazard]:
    replicas = pods_wanted(it)
    for name, hard in quota.hard.items():
        each, taken = asked_of(it, name), _surely_used(quota, name, it.world)
        if each and taken + each * replicas > hard:
            allowed, resource = max(0, (hard - taken) // each), shown_as(name)
            beside = f"{show(resource, taken)} of others + " if taken else ""
            yield Hazard(
                at=it.workload.replicas_path if it.workload.kind != "DaemonSet" else it.workload.pod.path,
                evidence=proof(
                    f"{beside}{replicas} x {show(resource, each)} > {show(resource, hard)}",
                    demand=replicas,
                    supply=allowed,
                    assumes=_premises(quota, it.world),
                ),
                values={
                    "quota": quota.name,
                    "resource": name,
                    "each": show(resource, each),
                    "hard": show(resource, hard),
                    "allowed": allowed,
                    "rollouts": rollout_condition(it.workload, allowed),
                    "missing": replicas - allowed,
                    "pending": replicas - allowed,
                },
                severity=None if _is_live(quota, it.world) else Severity.WARNING,
                related=_related(quota, it.world),
                variant="pods" if resource == "pods" else "exceeded",
            )
            return


def _together(it: Member, quota: ResourceQuota) -> Iterator[Hazard]:
    """Yield one hazard for the whole quota, at the last workload that uses it."""
    group = drawing(quota, it.world)
    if len(group) < 2 or group[-1] is not it.workload:
        return
    for name, hard in quota.hard.items():
        each = {w: asked_of(it.world.member(w), name) for w in group}
        members = [w for w in group if each[w] and pods_wanted(it.world.member(w))]
        total = _surely_used(quota, name, it.world) + sum(each[w] * pods_wanted(it.world.member(w)) for w in members)
        alone = any(
            _surely_used(quota, name, it.world) + each[w] * pods_wanted(it.world.member(w)) > hard for w in members
        )
        if total > hard and len(members) > 1 and not alone:
            resource, largest = shown_as(name), max(each[w] for w in members)
            missing = -(-(total - hard) // largest)
            yield Hazard(
                at=it.workload.replicas_path if it.workload.kind != "DaemonSet" else it.workload.pod.path,
                evidence=proof(
                    f"{show(resource, total)} > {show(resource, hard)}",
                    assumes=(*_premises(quota, it.world), "all of them are deployed"),
                ),
                values={
                    "quota": quota.name,
                    "resource": name,
                    "hard": show(resource, hard),
                    "total": show(resource, total),
                    "missing": missing,
                    "pending": missing,
                    "others": tuple(str(w) for w in members if w is not it.workload),
                },
                severity=None if _is_live(quota, it.world) else Severity.WARNING,
                related=_related(quota, it.world),
                variant="together",
                together=tuple(w.ref for w in members),
            )
            return


def _surely_used(quota: ResourceQuota, entry: str, world: World) -> int:
    """Return how much other pods surely use: pods that the set may preempt free their part of the quota."""
    return used(quota, entry, staying_beside_set(world))


def _is_live(quota: ResourceQuota, world: World) -> bool:
    return quota in _live(world)


@once_per_world
def _live(world: World) -> frozenset[ResourceQuota]:
    return frozenset() if world.cluster is None else frozenset(world.cluster.inventory.quotas)


def _premises(quota: ResourceQuota, world: World) -> tuple[str, ...]:
    if _is_live(quota, world):
        return (f"quota {quota.name} stays as it is",)
    return (f"quota {quota.name} exists before the pods, as it does whenever they are created again",)


def _related(quota: ResourceQuota, world: World) -> tuple[Place, ...]:
    return () if _is_live(quota, world) else (Place(("spec", "hard"), "the quota", quota.source),)
