"""How many pods a namespace's ResourceQuotas let a controller make: those beyond are never created.

A quota counts every pod of its namespace that matches its scopes and has not ended, waiting ones included. Which quotas
count a workload is ``admission``'s to say, and what a pod counts for ``model.quota``'s and ``admission.quotas``'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kubesched_lint.admission.quotas import asked_with_claims, counts, is_of_claims
from kubesched_lint.lifecycle.setting import Setting, once_per_setting
from kubesched_lint.model.policy import ResourceQuota
from kubesched_lint.model.quantity import show
from kubesched_lint.model.quota import PODS, asked, canonical
from kubesched_lint.model.storage import Claim
from kubesched_lint.model.workload import SCALED, Workload
from kubesched_lint.record import replace as replace_record


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
        return _exceeded(self.quota, told)


def _exceeded(quota: ResourceQuota, told: Sequence[Sequence[str]]) -> str:
    """``told``: per entry what is requested, used and the limit."""
    parts = [",".join(column) for column in zip(*told, strict=True)]
    return "exceeded quota: {}, requested: {}, used: {}, limited: {}".format(quota.name, *parts)


def cap(setting: Setting, number: int) -> Cap | None:
    """The tightest one, or None; what runs already is not taken away."""
    found = None
    for quota in setting.quotas[number]:
        entries = tuple(_entries(setting, number, quota))
        for resource, each, used in entries:
            most = max((quota.hard[resource] - used) // each, len(setting.running.get(number, ())), 0)
            if found is None or most < found.pods:
                found = Cap(most, quota, resource, each, used, entries)
    return found


def surely_granted(setting: Setting, number: int, event: str = "") -> int:
    """So many pods of a workload its quotas let exist whatever the others of the set take first."""
    first = event == "deploy" and not any(setting.running.values())
    wish = setting.wanted if first else setting.most_wished
    least = wish(number)
    for quota in setting.quotas[number]:
        for resource, each, used in _entries(setting, number, quota):
            others = sum(
                _asked(setting, i, resource) * max(wish(i), len(setting.running.get(i, ())))
                for i in range(len(setting.pods))
                if i != number and quota in setting.quotas[i]
            )
            least = min(least, (quota.hard[resource] - used - others) // each)
    return max(least, 0)


def granted_in_turn(setting: Setting, order: Sequence[int]) -> dict[int, int]:
    """Pods that each workload gets at deploy when those in ``order`` create theirs one after the other."""
    found: dict[int, int] = {}
    for number in order:
        found[number] = max(min(setting.wanted(number), *_left(setting, number, found)), 0)
    return found


def message_in_turn(setting: Setting, number: int) -> str:
    """What the API server says of the first pod too many, when workloads create theirs in apply order; or nothing."""
    found = granted_in_turn(setting, range(len(setting.pods)))
    if found[number] >= setting.wanted(number):
        others = [i for i in range(len(setting.pods)) if i != number]
        found = granted_in_turn(setting, (*others, number))
    for quota in setting.quotas[number]:
        told = []
        for resource, each, used in sorted(_entries(setting, number, quota)):
            taken = used + sum(
                _asked(setting, i, resource) * pods for i, pods in found.items() if quota in setting.quotas[i]
            )
            if taken + each > quota.hard[resource]:
                told.append([f"{resource}={canonical(resource, n)}" for n in (each, taken, quota.hard[resource])])
        if told and found[number] < setting.wanted(number):
            return _exceeded(quota, told)
    return ""


def goes_both_ways(setting: Setting, number: int) -> bool:
    """Whether a deployment grants a workload all its pods in one order of creation, and fewer in another."""
    others = [i for i in range(len(setting.pods)) if i != number]
    wanted = setting.wanted(number)
    first, last = granted_in_turn(setting, (number, *others)), granted_in_turn(setting, (*others, number))
    return not any(setting.running.values()) and first[number] >= wanted > last[number]


def stays_short(setting: Setting, number: int, size: int) -> bool:
    """Whether a workload that was last to create its pods may have fewer than ``size`` after nodes were lost.

    So it is where those that were quicker make theirs again, whichever go, and have all that they want.
    """
    others = [i for i in range(len(setting.pods)) if i != number]
    ours = {id(quota) for quota in setting.quotas[number]}
    rivals = [i for i in others if not ours.isdisjoint(map(id, setting.quotas[i]))]
    steady = all(
        setting.workloads[i].kind in ("Deployment", "ReplicaSet", "ReplicationController")
        or (setting.workloads[i].kind == "StatefulSet" and setting.workloads[i].pod_management == "Parallel")
        for i in rivals
    )
    return steady and granted_in_turn(setting, (*others, number))[number] < size


def _left(setting: Setting, number: int, found: Mapping[int, int]) -> Iterator[int]:
    """Per entry how many pods a workload may make beside those of ``found``."""
    yield setting.wanted(number)
    for quota in setting.quotas[number]:
        for resource, each, used in _entries(setting, number, quota):
            taken = sum(_asked(setting, i, resource) * pods for i, pods in found.items() if quota in setting.quotas[i])
            yield (quota.hard[resource] - used - taken) // each


def _entries(setting: Setting, number: int, quota: ResourceQuota) -> Iterator[Entry]:
    pod = setting.pods[number]
    # Pods that go are charged only until their grace period is over (QuotaV1Pod).
    beside = [b.pod for b in setting.objects.pods if b.namespace == pod.namespace and not b.terminating]
    if quota.scopes:
        beside = [other for other in beside if counts(quota, other) is not False]
    for resource in quota.hard:
        each = _asked(setting, number, resource)
        if each and is_of_claims(resource):
            yield Entry(resource, each, _claimed(setting, number, resource))
        elif each:
            yield Entry(resource, each, sum(asked(other, resource) for other in beside))


def _asked(setting: Setting, number: int, resource: str) -> int:
    """What a pod of a workload counts for, with the claims that a StatefulSet makes for it."""
    return asked_with_claims(setting.pods[number], _templates(setting, number), resource)


def _templates(setting: Setting, number: int) -> tuple[Claim, ...]:
    return setting.claim_templates.get(number, setting.workloads[number].claim_templates)


def _claimed(setting: Setting, number: int, resource: str) -> int:
    """What claims use that are there already; those of the StatefulSet itself are not made again."""
    workload = setting.workloads[number]
    own = tuple(f"{t.name}-{workload.name}-" for t in _templates(setting, number))
    there = (c for c in setting.objects.claims if c.namespace == workload.namespace and not c.name.startswith(own))
    return sum(asked_with_claims(setting.pods[number], (claim,), resource) for claim in there)


def is_alone(setting: Setting, number: int) -> bool:
    """Whether no other workload of the set draws on the quotas of this one."""
    ours = {id(q) for q in setting.quotas[number]}
    others = (i for i in range(len(setting.pods)) if i != number and setting.most_wished(i))
    return all(ours.isdisjoint(map(id, setting.quotas[i])) for i in others)


def _said(resource: str, amount: int) -> str:
    return show(resource.removeprefix("requests.").removeprefix("limits."), amount)


def most_pods(setting: Setting, number: int) -> int:
    """The most pods it may have at any time: at HPA maximum, with surge, as far as quotas let it."""
    return _most_pods(setting)[number]


@once_per_setting
def _most_pods(setting: Setting) -> tuple[int, ...]:
    return tuple(_as_far_as_granted(setting, number) for number in range(len(setting.workloads)))


def _as_far_as_granted(setting: Setting, number: int) -> int:
    if not setting.quotas[number]:
        return setting.most_wished(number)
    granted = cap(setting, number)
    return setting.most_wished(number) if granted is None else min(setting.most_wished(number), granted.pods)


@once_per_setting
def capped(setting: Setting) -> Mapping[int, int]:
    """Workloads that get exactly so many pods, for no other draws on the quota that caps them."""
    kinds = (*SCALED, "Job")
    alone = (
        i
        for i in quota_short(setting)
        if setting.workloads[i].kind in kinds and not setting.running.get(i) and is_alone(setting, i)
    )
    return {i: granted.pods for i in alone if (granted := cap(setting, i)) is not None}


def as_granted(setting: Setting, number: int) -> Workload:
    workload, most = setting.workloads[number], capped(setting).get(number)
    if most is None or workload.replicas <= most:
        return workload
    return replace_record(workload, replicas=most)


@once_per_setting
def quota_short(setting: Setting) -> frozenset[int]:
    """Workloads of which a ResourceQuota may keep pods from being made."""
    return _short(setting) if setting.objects.quotas else frozenset()


def _short(setting: Setting) -> frozenset[int]:
    """Workloads of which a quota may keep pods from being made: those that draw on it may want more than it grants."""
    found: set[int] = set()
    for quota in dict.fromkeys(id(q) for quotas in setting.quotas for q in quotas):
        drawing = [i for i, quotas in enumerate(setting.quotas) if any(id(q) == quota for q in quotas)]
        for number in drawing:
            wished = max(setting.most_wished(number), len(setting.running.get(number, ())))
            if wished and surely_granted(setting, number) < wished:
                found.add(number)
    return frozenset(found)
