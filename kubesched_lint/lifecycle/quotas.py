"""How many pods a namespace's ResourceQuotas let a controller make: those beyond are never created.

A quota without scopes counts every pod of its namespace that has not ended, waiting ones included
(``pkg/quota/v1/evaluator/core/pods.go``); what a pod asks of ``cpu``, ``memory`` and the like is its effective request.
Quotas with scopes, and resources that a pod does not ask for, are passed over: that only loosens a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.model.pod import Pod
from kubesched_lint.model.policy import ResourceQuota
from kubesched_lint.model.quantity import show

_PODS = ("pods", "count/pods")


class Cap(NamedTuple):
    """The most pods of a workload that one entry of a quota lets exist at once."""

    pods: int
    quota: ResourceQuota
    resource: str
    each: int
    """What a pod asks."""
    used: int
    """By pods that are not of the set."""

    @property
    def limit(self) -> int:
        return self.quota.hard[self.resource]

    @property
    def why(self) -> str:
        beside = f", of which others use {_said(self.resource, self.used)}" if self.used else ""
        limit, each = _said(self.resource, self.limit), _said(self.resource, self.each)
        quota = f"ResourceQuota {self.quota.namespace}/{self.quota.name}"
        if self.resource in _PODS:
            return f"{quota} lets {limit} pods exist{beside}"
        return f"{quota} lets pods ask for {self.resource} {limit}{beside}; each asks for {each}"

    @property
    def message(self) -> str:
        """What the controller's FailedCreate event says of the first pod too many (resourcequota admission)."""
        used = self.used + self.pods * self.each
        parts = (f"{self.resource}={_said(self.resource, n)}" for n in (self.each, used, self.limit))
        return "exceeded quota: {}, requested: {}, used: {}, limited: {}".format(self.quota.name, *parts)


def cap(setting: Setting, number: int) -> Cap | None:
    """The tightest one, or None; what runs already is not taken away."""
    pod = setting.pods[number]
    found = None
    for quota in _quotas(setting, pod.namespace):
        for resource, limit in quota.hard.items():
            each = asked(pod, resource)
            if not each:
                continue
            used = sum(asked(b.pod, resource) for b in setting.objects.pods if b.namespace == pod.namespace)
            most = max((limit - used) // each, len(setting.running.get(number, ())), 0)
            if found is None or most < found.pods:
                found = Cap(most, quota, resource, each, used)
    return found


def short(setting: Setting) -> frozenset[int]:
    """Workloads of which a quota may keep pods from being made: their namespace may want more than it is granted."""
    return frozenset(
        number
        for namespace in dict.fromkeys(pod.namespace for pod in setting.pods)
        for quota in _quotas(setting, namespace)
        for resource, limit in quota.hard.items()
        if _wanted(setting, namespace, resource) > limit
        for number, pod in enumerate(setting.pods)
        if pod.namespace == namespace and asked(pod, resource)
    )


def is_alone(setting: Setting, number: int) -> bool:
    """Whether no other workload of the set draws on the namespace's quotas."""
    namespace = setting.pods[number].namespace
    return all(i == number or pod.namespace != namespace for i, pod in enumerate(setting.pods))


def _quotas(setting: Setting, namespace: str) -> Iterator[ResourceQuota]:
    for quota in setting.objects.quotas:
        if quota.namespace == namespace and not quota.scopes:
            yield quota


def _wanted(setting: Setting, namespace: str, resource: str) -> int:
    """What all pods may ask for at once, at HPA maximum and with surge."""
    ours = sum(
        asked(pod, resource) * max(setting.most(i), len(setting.running.get(i, ())))
        for i, pod in enumerate(setting.pods)
        if pod.namespace == namespace
    )
    return ours + sum(asked(b.pod, resource) for b in setting.objects.pods if b.namespace == namespace)


def asked(pod: Pod, resource: str) -> int:
    """What a pod counts for under an entry of a quota; 0 where that is not known."""
    if resource in _PODS:
        return 1
    if resource.startswith("limits."):
        name = resource.removeprefix("limits.")
        return sum(c.limits.get(name, 0) for c in pod.containers)
    return pod.requests.get(resource.removeprefix("requests."), 0)


def _said(resource: str, amount: int) -> str:
    return show(resource.removeprefix("requests.").removeprefix("limits."), amount)
