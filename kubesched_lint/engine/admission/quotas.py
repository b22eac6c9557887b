"""Which ResourceQuotas count the pods of a workload, each pod's usage, and the words of a refusal.

Mirrors ``pkg/quota/v1/evaluator/core/{pods,persistent_volume_claims}.go`` (v1.36): podMatchesScopeFunc and, for the
claims that a StatefulSet makes with each pod, pvcEvaluator.Usage; of the pods, also MatchingResources,
podComputeUsageHelper and Constraints. The words of a refusal mirror
``apiserver/pkg/admission/plugin/resourcequota/controller.go`` (CheckRequest, prettyPrint), read at commits d7ce957 and
030880a of kubernetes/kubernetes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.admission.reach import InReach
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.model.pod import BoundPod, Container, Pod, PodAffinityTerm
from kubesched_lint.engine.model.policy import QuotaScope, ResourceQuota
from kubesched_lint.engine.model.resources import effective_requests, is_extended
from kubesched_lint.engine.model.storage import Claim
from kubesched_lint.engine.model.workloads.workload import Workload, written_template

_CLAIMS = ("persistentvolumeclaims", "count/persistentvolumeclaims")
_STORAGE = "requests.storage"
_OF_CLASS = ".storageclass.storage.k8s.io/"


def counts(quota: ResourceQuota, pod: Pod, template: object = None) -> bool | None:
    """Return whether a quota's scopes count a stored pod; None if this depends on the pod's unknown deadline."""
    matches = [_matches(scope, pod, template) for scope in quota.scopes]
    return False if False in matches else None if None in matches else True


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


# --- A pod's usage under a ResourceQuota, and the API server's words when the quota refuses it ------------------------

PODS = ("pods", "count/pods")
"""``count/pods`` also counts finished pods, which a snapshot does not list."""
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_SET_BY_ALL = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
"""If a quota has one of these, every container must set it: upstream calls this a mistake, and keeps it."""


def asked(pod: Pod, entry: str) -> int:
    """Return a pod's usage under a quota entry; 0 if the entry does not concern pods, or the usage is unknown.

    Extended resources count only under ``requests.``: no pod counts under ``nvidia.com/gpu`` or under ``limits.``.
    """
    if entry in PODS:
        return 1
    if entry.startswith("limits."):
        name = entry.removeprefix("limits.")
        return _limits(pod).get(name, 0) if name in _COMPUTE else 0
    name = entry.removeprefix("requests.")
    if name in _COMPUTE or name.startswith("hugepages-") or (name != entry and is_extended(name)):
        return pod.requests.get(name, 0)
    return 0


def unset(pod: Pod) -> Mapping[str, tuple[str, ...]]:
    """Return what quotas may require → names of the containers that do not set it, both sorted."""
    if pod.pod_requests is not None:
        return {}
    containers = (*pod.containers, *pod.init_containers)
    missing = {
        entry: tuple(sorted({c.name for c in containers if not _sets(c, entry)})) for entry in sorted(_SET_BY_ALL)
    }
    return {entry: names for entry, names in missing.items() if names}


def required_by(quota: ResourceQuota, missing: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """Return what a quota requires of all that a pod leaves ``unset``."""
    return {entry: names for entry, names in missing.items() if entry in quota.hard}


def in_words(missing: Mapping[str, tuple[str, ...]]) -> str:
    """Return the missing entries in Kubernetes' words: ``cpu for: app,sidecar; memory for: app``."""
    return "; ".join(f"{entry} for: {','.join(names)}" for entry, names in missing.items())


def _sets(container: Container, entry: str) -> bool:
    if entry.startswith("limits."):
        return entry.removeprefix("limits.") in container.limits
    return entry.removeprefix("requests.") in container.requests


def _limits(pod: Pod) -> Mapping[str, int]:
    """Return PodLimits; empty if the pod has pod-level requests, because pod-level limits are not decoded."""
    if pod.pod_requests is not None:
        return {}

    def limited(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(replace(c, requests=c.limits if c.held is None else c.held.limits, held=None) for c in containers)

    total = effective_requests(limited(pod.containers), limited(pod.init_containers))
    return {name: amount + pod.overhead.get(name, 0) for name, amount in total.items()}


def canonical(entry: str, amount: int) -> str:
    """Return an amount as ``Quantity.String()`` writes it, never rounded: ``1536Mi``, ``2k`` for 2000.

    A multiple of 1024 bytes is assumed to be written in powers of 1024.
    """
    name = entry.removeprefix("requests.").removeprefix("limits.")
    if name == "cpu":
        return f"{amount}m" if amount % 1000 else _reduced(amount // 1000, 1000, "kMGTPE")
    if (name in _COMPUTE or name.startswith("hugepages-")) and amount and amount % 1024 == 0:
        return _reduced(amount, 1024, ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
    return _reduced(amount, 1000, "kMGTPE")


def _reduced(amount: int, base: int, suffixes: str | tuple[str, ...]) -> str:
    suffix = ""
    for larger in suffixes:
        if not amount or amount % base:
            break
        amount, suffix = amount // base, larger
    return f"{amount}{suffix}"


# --- The use by running pods ------------------------------------------------------------------------------------------

_WITHOUT_DEADLINE = ("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet")
"""Kinds that the API server refuses with an ``activeDeadlineSeconds`` in their template (``apps/validation``)."""


class Use(NamedTuple):
    """The least and the most that is used: they differ if a quota asks for the unknown deadline of a pod."""

    least: int
    most: int


class Charged:
    """What running pods use of quotas.

    Terminating pods do not count: they are charged only until their grace period is over (QuotaV1Pod).
    """

    def __init__(self, pods: Iterable[BoundPod]) -> None:
        pods_by_deadline = Counter((bound.pod, _has_no_deadline(bound)) for bound in pods if not bound.terminating)
        self._pods: dict[str, list[tuple[Pod, object, int]]] = {}
        """Namespace → pod, what is known of its template, and how many are equal."""
        for (pod, has_none), number in pods_by_deadline.items():
            self._pods.setdefault(pod.namespace, []).append((pod, {} if has_none else None, number))
        self._known: dict[tuple[Hashable, ...], Use] = {}
        """(namespace, scopes, entry) → use: many quotas may count the same pods."""

    def use(self, quota: ResourceQuota, entry: str) -> Use:
        key = quota.namespace, quota.scopes, entry
        if key not in self._known:
            least = most = 0
            for pod, template, number in self._pods.get(quota.namespace, ()):
                is_counted = counts(quota, pod, template)
                amount = 0 if is_counted is False else asked(pod, entry) * number
                least, most = least + (amount if is_counted else 0), most + amount
            self._known[key] = Use(least, most)
        return self._known[key]


def _has_no_deadline(bound: BoundPod) -> bool:
    return bound.owner is not None and bound.owner.kind in _WITHOUT_DEADLINE


# --- The quotas that count a pod --------------------------------------------------------------------------------------


class QuotasOfNamespace:
    """The quotas of one namespace, found by what their scopes ask of a pod: those with equal scopes are asked once.

    Quotas for priority classes are asked only about pods of these classes.
    """

    def __init__(self, quotas: Sequence[ResourceQuota]) -> None:
        alike: dict[tuple[QuotaScope, ...], list[ResourceQuota]] = {}
        for quota in quotas:
            alike.setdefault(quota.scopes, []).append(quota)
        self._order = {quota: number for number, quota in enumerate(quotas)}
        self._alike = [InReach(some, around=False) for some in alike.values()]
        self._have_scopes = any(alike)
        self._of_any_class: list[int] = []
        self._of_class: dict[str, list[int]] = {}
        for number, scopes in enumerate(alike):
            classes = next((s.values for s in scopes if s.name == "PriorityClass" and s.operator == "In"), None)
            if classes is None:
                self._of_any_class.append(number)
            for name in dict.fromkeys(classes or ()):
                self._of_class.setdefault(name, []).append(number)

    def that_count(self, workload: Workload, pod: Pod) -> tuple[ResourceQuota, ...]:
        """Return the quotas that count the pods of a workload, in their order; ``pod`` is the stored one."""
        counting = list(filter(None, self._counting(workload, pod)))
        if len(counting) < 2:
            return counting[0] if counting else ()
        return tuple(sorted((quota for some in counting for quota in some), key=self._order.__getitem__))

    def _counting(self, workload: Workload, pod: Pod) -> Iterator[tuple[ResourceQuota, ...]]:
        template = written_template(workload) if self._have_scopes else None
        for number in (*self._of_any_class, *self._of_class.get(pod.priority_class, ())):
            alike = self._alike[number]
            if self._have_scopes and not counts(alike.all[0], pod, template):
                continue
            yield alike.of(workload.source)
