"""Which ResourceQuotas count the pods of a workload, and each pod's usage.

Mirrors ``pkg/quota/v1/evaluator/core/{pods,persistent_volume_claims}.go`` (v1.36): podMatchesScopeFunc and, for the
claims that a StatefulSet makes with each pod, pvcEvaluator.Usage.
"""

from __future__ import annotations

from kubesched_lint.manifests.classify import value_at
from kubesched_lint.model.pod import Pod, PodAffinityTerm
from kubesched_lint.model.policy import QuotaScope, ResourceQuota
from kubesched_lint.model.quota import asked
from kubesched_lint.model.storage import Claim

_CLAIMS = ("persistentvolumeclaims", "count/persistentvolumeclaims")
_STORAGE = "requests.storage"
_OF_CLASS = ".storageclass.storage.k8s.io/"


def counts(quota: ResourceQuota, pod: Pod, template: object = None) -> bool | None:
    """Return whether a quota's scopes count a stored pod; None if this depends on the pod's unknown deadline."""
    found = [_matches(scope, pod, template) for scope in quota.scopes]
    return False if False in found else None if None in found else True


def _matches(scope: QuotaScope, pod: Pod, template: object) -> bool | None:
    match scope.name:
        case "Terminating" | "NotTerminating":
            if not isinstance(template, dict):
                return None
            ends = value_at(template, ("spec", "activeDeadlineSeconds")) is not None
            return ends == (scope.name == "Terminating")
        case "BestEffort" | "NotBestEffort":
            return _is_best_effort(pod) == (scope.name == "BestEffort")
        case "PriorityClass":
            return _has_class(scope, pod.priority_class)
        case "CrossNamespacePodAffinity":
            return any(t.namespaces or t.namespace_selector is not None for t in _terms(pod))
    return False


def _has_class(scope: QuotaScope, name: str) -> bool:
    match scope.operator:
        case "In":
            return name in scope.values
        case "NotIn":
            return name not in scope.values
        case "DoesNotExist":
            return not name
    return bool(name)


def _is_best_effort(pod: Pod) -> bool:
    """Return whether no container requests or limits cpu or memory (GetPodQOS)."""
    amounts = [a for c in (*pod.containers, *pod.init_containers) for a in (c.requests, c.limits)]
    amounts.append(pod.pod_requests or {})
    return not any(a.get("cpu") or a.get("memory") for a in amounts)


def _terms(pod: Pod) -> tuple[PodAffinityTerm, ...]:
    weighted = (*pod.preferred_affinity, *pod.preferred_anti_affinity)
    return (*pod.required_affinity, *pod.required_anti_affinity, *(w.term for w in weighted))


def asked_with_claims(pod: Pod, claims: tuple[Claim, ...], entry: str) -> int:
    """Return one pod's usage under an entry, with the claims made for it."""
    if entry in _CLAIMS:
        return len(claims)
    if entry == _STORAGE:
        return sum(c.request for c in claims)
    name, of_class, what = entry.partition(_OF_CLASS)
    if of_class:
        own = [c for c in claims if c.storage_class == name]
        return len(own) if what == "persistentvolumeclaims" else sum(c.request for c in own)
    return asked(pod, entry)


def is_of_claims(entry: str) -> bool:
    """Return whether an entry counts claims."""
    return entry in _CLAIMS or entry == _STORAGE or _OF_CLASS in entry
