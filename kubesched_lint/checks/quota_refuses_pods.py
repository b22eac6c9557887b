"""A ResourceQuota of the namespace lets the pods not be created: something is left unsaid, or they are too many.

Mirrors ``pkg/quota/v1/evaluator/core/pods.go``: a quota on cpu or memory wants every container to say how much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.model.pod import Container, Pod
from kubesched_lint.model.policy import ResourceQuota
from kubesched_lint.model.quantity import show
from kubesched_lint.model.quota import in_words, unsaid
from kubesched_lint.model.workload import SCALED, Workload

_REQUESTS: Mapping[str, str] = {"cpu": "cpu", "requests.cpu": "cpu", "memory": "memory", "requests.memory": "memory"}
_LIMITS: Mapping[str, str] = {"limits.cpu": "cpu", "limits.memory": "memory"}


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if not facts.replicas(workload):
        return
    pod = facts.pod(workload)
    for quota in _quotas(workload.namespace, facts):
        silent = next(_unsaid(pod, quota), None) if pod.pod_requests is None else None
        if silent is not None:
            yield _hazard_unsaid(workload, quota, *silent, facts)
        elif workload.kind in SCALED:
            yield from _exceeded(workload, pod, quota, facts)


def _quotas(namespace: str, facts: Facts) -> Iterator[ResourceQuota]:
    """Those for all pods of a namespace: of the set, else of the cluster."""
    live = () if facts.cluster is None else facts.cluster.inventory.quotas
    seen = set()
    for quota in (*facts.manifests.quotas, *live):
        if quota.namespace == namespace and quota.name not in seen:
            seen.add(quota.name)
            if not quota.scopes:
                yield quota


def _unsaid(pod: Pod, quota: ResourceQuota) -> Iterator[tuple[Container, tuple[str, ...]]]:
    for container in (*pod.containers, *pod.init_containers):
        missing = [
            f"requests.{r}" for name, r in _REQUESTS.items() if name in quota.hard and r not in container.requests
        ]
        missing += [name for name, r in _LIMITS.items() if name in quota.hard and r not in container.limits]
        if missing:
            yield container, tuple(dict.fromkeys(missing))


def _hazard_unsaid(
    workload: Workload, quota: ResourceQuota, container: Container, missing: tuple[str, ...], facts: Facts
) -> Hazard:
    known = _is_live(quota, facts) and facts.cluster_has("LimitRange")
    premises = () if known else (f"no LimitRange of namespace {workload.namespace} fills it in",)
    return Hazard(
        at=container.path,
        evidence=proof(
            f"failed quota: {quota.name}: must specify {in_words(unsaid(facts.pod(workload), quota.hard))}",
            assumes=(*premises, *_premises(quota, facts)),
        ),
        values={"quota": quota.name, "missing": missing, "container": container.name},
        severity=None if known else Severity.WARNING,
        related=_related(quota, facts),
        variant="unsaid",
    )


def _exceeded(workload: Workload, pod: Pod, quota: ResourceQuota, facts: Facts) -> Iterator[Hazard]:
    replicas = facts.replicas(workload)
    for name, hard in quota.hard.items():
        each, resource = _of_one(pod, name)
        if each and each * replicas > hard:
            allowed = max(0, hard // each)
            yield Hazard(
                at=workload.replicas_path,
                evidence=proof(
                    f"{replicas} x {show(resource, each)} > {show(resource, hard)}",
                    demand=replicas,
                    supply=allowed,
                    assumes=_premises(quota, facts),
                ),
                values={
                    "quota": quota.name,
                    "resource": name,
                    "each": show(resource, each),
                    "hard": show(resource, hard),
                    "allowed": allowed,
                    "missing": replicas - allowed,
                    "pending": replicas - allowed,
                },
                severity=None if _is_live(quota, facts) else Severity.WARNING,
                related=_related(quota, facts),
                variant="pods" if resource == "pods" else "exceeded",
            )
            return


def _of_one(pod: Pod, name: str) -> tuple[int, str]:
    """What one pod takes of a quota's resource, and the resource as amounts are shown."""
    if name in ("pods", "count/pods"):
        return 1, "pods"
    if name in _REQUESTS:
        return pod.requests.get(_REQUESTS[name], 0), _REQUESTS[name]
    return 0, name


def _is_live(quota: ResourceQuota, facts: Facts) -> bool:
    return facts.cluster is not None and any(q is quota for q in facts.cluster.inventory.quotas)


def _premises(quota: ResourceQuota, facts: Facts) -> tuple[str, ...]:
    if _is_live(quota, facts):
        return (f"quota {quota.name} stays as it is",)
    return (f"quota {quota.name} is there before the pods, as it is whenever they are made anew",)


def _related(quota: ResourceQuota, facts: Facts) -> tuple[Place, ...]:
    return () if _is_live(quota, facts) else (Place(("spec", "hard"), "the quota", quota.source),)
