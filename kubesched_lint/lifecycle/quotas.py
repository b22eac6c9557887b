"""How many pods a namespace's ResourceQuotas let a controller make: those beyond are never created.

A quota without scopes counts every pod of its namespace that has not ended, waiting ones included; what each counts
for, and what every container has to say, is in ``model.quota``. Quotas with scopes are passed over: that only loosens
a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.model.pod import Pod
from kubesched_lint.model.policy import ResourceQuota
from kubesched_lint.model.quantity import show
from kubesched_lint.model.quota import PODS, asked, canonical, in_words, unsaid


class Entry(NamedTuple):
    """One line of a quota: what a pod of the workload asks, and what pods use that are not of the set."""

    resource: str
    each: int
    used: int


class Cap(NamedTuple):
    """The most pods of a workload that one entry of a quota lets exist at once."""

    pods: int
    quota: ResourceQuota
    resource: str
    each: int
    """What a pod asks."""
    used: int
    """By pods that are not of the set."""
    entries: tuple[Entry, ...] = ()
    """All of the quota that the pod draws on."""

    @property
    def limit(self) -> int:
        return self.quota.hard[self.resource]

    @property
    def why(self) -> str:
        beside = f", of which others use {_said(self.resource, self.used)}" if self.used else ""
        limit, each = _said(self.resource, self.limit), _said(self.resource, self.each)
        quota = f"ResourceQuota {self.quota.namespace}/{self.quota.name}"
        if self.resource in PODS:
            return f"{quota} lets {limit} pods exist{beside}"
        return f"{quota} lets pods ask for {self.resource} {limit}{beside}; each asks for {each}"

    @property
    def message(self) -> str:
        """What the controller's FailedCreate event says of the first pod too many (resourcequota admission)."""
        hard, told = self.quota.hard, []
        for entry in sorted(self.entries or (Entry(self.resource, self.each, self.used),)):
            used = entry.used + self.pods * entry.each
            if used + entry.each > hard[entry.resource]:
                numbers = (entry.each, used, hard[entry.resource])
                told.append([f"{entry.resource}={canonical(entry.resource, n)}" for n in numbers])
        parts = [",".join(column) for column in zip(*told, strict=True)]
        return "exceeded quota: {}, requested: {}, used: {}, limited: {}".format(self.quota.name, *parts)


def cap(setting: Setting, number: int) -> Cap | None:
    """The tightest one, or None; what runs already is not taken away."""
    pod = setting.pods[number]
    found = None
    for quota in _quotas(setting, pod.namespace):
        entries = tuple(_entries(setting, pod, quota))
        for resource, each, used in entries:
            most = max((quota.hard[resource] - used) // each, len(setting.running.get(number, ())), 0)
            if found is None or most < found.pods:
                found = Cap(most, quota, resource, each, used, entries)
    return found


def _entries(setting: Setting, pod: Pod, quota: ResourceQuota) -> Iterator[Entry]:
    # Pods that go are charged only until their grace period is over (QuotaV1Pod).
    beside = [b.pod for b in setting.objects.pods if b.namespace == pod.namespace and not b.terminating]
    for resource in quota.hard:
        each = asked(pod, resource)
        if each:
            yield Entry(resource, each, sum(asked(other, resource) for other in beside))


def refused(setting: Setting, number: int) -> str:
    """What a quota wants every container to say and one does not, so that none of the pods is made; empty if none does.

    A LimitRange that nobody told of may fill it in: a reason not to call anything fine, and no proof.
    """
    pod = setting.pods[number]
    for quota in _quotas(setting, pod.namespace):
        missing = unsaid(pod, quota.hard)
        if missing:
            said = f"failed quota: {quota.name}: must specify {in_words(missing)}"
            return (
                f"unless a LimitRange fills it in, ResourceQuota {quota.namespace}/{quota.name} lets none exist: {said}"
            )
    return ""


def short(setting: Setting) -> frozenset[int]:
    """Workloads of which a quota may keep pods from being made: their namespace may want more than it is granted."""
    exceeding = (
        number
        for namespace in dict.fromkeys(pod.namespace for pod in setting.pods)
        for quota in _quotas(setting, namespace)
        for resource, limit in quota.hard.items()
        if _wanted(setting, namespace, resource) > limit
        for number, pod in enumerate(setting.pods)
        if pod.namespace == namespace and asked(pod, resource)
    )
    unsaying = (number for number in range(len(setting.pods)) if setting.most(number) and refused(setting, number))
    return frozenset((*exceeding, *unsaying))


def is_alone(setting: Setting, number: int) -> bool:
    """Whether no other workload of the set draws on the namespace's quotas."""
    namespace = setting.pods[number].namespace
    return all(i == number or pod.namespace != namespace or not setting.most(i) for i, pod in enumerate(setting.pods))


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


def _said(resource: str, amount: int) -> str:
    return show(resource.removeprefix("requests.").removeprefix("limits."), amount)
