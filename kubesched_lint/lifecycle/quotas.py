"""The number of pods that a namespace's ResourceQuotas allow a controller to create.

A quota counts every pod of its namespace that matches its scopes and has not ended, waiting ones included. See
``admission`` for which quotas count a workload, ``model.quota`` and ``admission.quotas`` for what a pod uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kubesched_lint import work
from kubesched_lint.admission.quotas import PODS, asked, asked_with_claims, canonical, counts, is_of_claims
from kubesched_lint.controllers.statefulset import makes_claim
from kubesched_lint.lifecycle.setting import Setting, once_per_setting
from kubesched_lint.model.policy import ResourceQuota
from kubesched_lint.model.quantity import show
from kubesched_lint.model.storage import Claim
from kubesched_lint.model.workload import SCALED, Workload
from kubesched_lint.record import replace as replace_record


class Entry(NamedTuple):
    """One resource of a quota: the request of one pod of the workload, and the use by pods outside the set."""

    resource: str
    each: int
    used: int


class Cap(NamedTuple):
    """The most pods of a workload that one entry of a quota allows at once."""

    pods: int
    quota: ResourceQuota
    resource: str
    each: int
    """The request of one pod."""
    used: int
    """The use by pods outside the set."""
    entries: tuple[Entry, ...] = ()
    """All entries of the quota that the pod uses."""

    @property
    def limit(self) -> int:
        return self.quota.hard[self.resource]

    @property
    def why(self) -> str:
        beside = f"; others use {_amount(self.resource, self.used)}" if self.used else ""
        limit, each = _amount(self.resource, self.limit), _amount(self.resource, self.each)
        quota = f"ResourceQuota {self.quota.namespace}/{self.quota.name}"
        if self.resource in PODS:
            return f"{quota} allows {limit} pods{beside}"
        return f"{quota} allows {self.resource} {limit}{beside}; each pod requests {each}"

    @property
    def message(self) -> str:
        """Return the message of the FailedCreate event for the first pod too many (resourcequota admission)."""
        hard, exceeded = self.quota.hard, []
        for entry in sorted(self.entries or (Entry(self.resource, self.each, self.used),)):
            used = entry.used + self.pods * entry.each
            if used + entry.each > hard[entry.resource]:
                numbers = (entry.each, used, hard[entry.resource])
                exceeded.append([f"{entry.resource}={canonical(entry.resource, n)}" for n in numbers])
        return _exceeded(self.quota, exceeded)


def _exceeded(quota: ResourceQuota, exceeded: Sequence[Sequence[str]]) -> str:
    """Return the message; ``exceeded`` has (requested, used, limit) per entry."""
    parts = [",".join(column) for column in zip(*exceeded, strict=True)]
    return "exceeded quota: {}, requested: {}, used: {}, limited: {}".format(quota.name, *parts)


def cap(setting: Setting, number: int) -> Cap | None:
    """Return the tightest cap, or None; running pods always stay."""
    found = None
    for quota in setting.quotas[number]:
        entries = tuple(_entries(setting, number, quota))
        for resource, each, used in entries:
            most = max((quota.hard[resource] - used) // each, len(setting.running.get(number, ())), 0)
            if found is None or most < found.pods:
                found = Cap(most, quota, resource, each, used, entries)
    return found


def surely_granted(setting: Setting, number: int, event: str = "") -> int:
    """Return the pods of a workload that its quotas allow even if all others of the set come first."""
    first = event == "deploy" and not any(setting.running.values())
    desired = setting.wanted if first else setting.most_wished
    least = desired(number)
    for quota in setting.quotas[number]:
        for resource, _, used in _entries(setting, number, quota):
            others = _demand(setting, quota, resource, first=first) - _drawn(setting, number, resource, first=first)
            least = min(least, (quota.hard[resource] - used - others) // _most_asked(setting, number, resource))
    return max(least, 0)


def _drawn(setting: Setting, number: int, resource: str, *, first: bool) -> int:
    """Return the most that all pods of a workload use; ``first``: in the first deployment."""
    desired = setting.wanted(number) if first else setting.most_wished(number)
    return _most_asked(setting, number, resource) * max(desired, len(setting.running.get(number, ())))


def _demand(setting: Setting, quota: ResourceQuota, resource: str, *, first: bool) -> int:
    """Return the most that all users of a quota use."""
    known, key = _demands(setting), (id(quota), resource, first)
    if key not in known:
        users = _users(setting)[id(quota)]
        work.spend(len(users))
        known[key] = sum(_drawn(setting, i, resource, first=first) for i in users)
    return known[key]


@once_per_setting
def _demands(setting: Setting) -> dict[tuple[int, str, bool], int]:
    return {}


@once_per_setting
def _users(setting: Setting) -> Mapping[int, Sequence[int]]:
    """Return ``id`` of a quota → the workloads that use it."""
    found: dict[int, list[int]] = {}
    for i, quotas in enumerate(setting.quotas):
        for quota in quotas:
            found.setdefault(id(quota), []).append(i)
    return found


def granted_in_turn(setting: Setting, order: Sequence[int]) -> dict[int, int]:
    """Return workload → pods that it gets at deploy if the workloads create their pods in ``order``."""
    found: dict[int, int] = {}
    taken: dict[tuple[int, str], int] = {}
    """(``id`` of a quota, resource) → use by the workloads before."""
    for number in order:
        entries = [(quota, entry) for quota in setting.quotas[number] for entry in _entries(setting, number, quota)]
        work.spend(len(entries))
        most = setting.wanted(number)
        for quota, (resource, each, used) in entries:
            most = min(most, (quota.hard[resource] - used - taken.get((id(quota), resource), 0)) // each)
        pods = found[number] = max(most, 0)
        for quota, (resource, each, _) in entries:
            taken[id(quota), resource] = taken.get((id(quota), resource), 0) + each * pods
    return found


def message_in_turn(setting: Setting, number: int) -> str:
    """Return the API server's message for the first pod too many if workloads create pods in apply order, or ''."""
    found = granted_in_turn(setting, range(len(setting.pods)))
    if found[number] >= setting.wanted(number):
        others = [i for i in range(len(setting.pods)) if i != number]
        found = granted_in_turn(setting, (*others, number))
    for quota in setting.quotas[number]:
        exceeded = []
        for resource, each, used in sorted(_entries(setting, number, quota)):
            taken = used + sum(_asked(setting, i, resource) * found[i] for i in _users(setting)[id(quota)])
            if taken + each > quota.hard[resource]:
                exceeded.append([f"{resource}={canonical(resource, n)}" for n in (each, taken, quota.hard[resource])])
        if exceeded and found[number] < setting.wanted(number):
            return _exceeded(quota, exceeded)
    return ""


def goes_both_ways(setting: Setting, number: int) -> bool:
    """Whether a deployment gives a workload all its pods in one order of creation, and fewer in another."""
    others = [i for i in range(len(setting.pods)) if i != number]
    wanted = setting.wanted(number)
    first, last = granted_in_turn(setting, (number, *others)), granted_in_turn(setting, (*others, number))
    return not any(setting.running.values()) and first[number] >= wanted > last[number]


def stays_short(setting: Setting, number: int, size: int) -> bool:
    """Whether a workload that was last to create its pods may have fewer than ``size`` after nodes are lost.

    That is so if the other workloads recreate their lost pods and so keep their share of the quota.
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


def _entries(setting: Setting, number: int, quota: ResourceQuota) -> Iterator[Entry]:
    pod = setting.pods[number]
    # A quota counts terminating pods only until their grace period is over (QuotaV1Pod).
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
    """Return the use by one pod of a workload, with the claims that a StatefulSet creates for it."""
    return asked_with_claims(setting.pods[number], _templates(setting, number), resource)


def _most_asked(setting: Setting, number: int, resource: str) -> int:
    """Return the most that a pod of a workload uses; pods of an older template that run may use more than new ones."""
    if is_of_claims(resource):
        return _asked(setting, number, resource)
    return max(_asked(setting, number, resource), *(asked(pod, resource) for pod in setting.kinds[number][1:]), 0)


def _templates(setting: Setting, number: int) -> tuple[Claim, ...]:
    return setting.claim_templates.get(number, setting.workloads[number].claim_templates)


def _claimed(setting: Setting, number: int, resource: str) -> int:
    """Return the use by existing claims, without the StatefulSet's own claims, which are not created again."""
    workload = setting.workloads[number]
    templates = _templates(setting, number)
    near = (claim for claim in setting.objects.claims if claim.namespace == workload.namespace)
    there = (claim for claim in near if not any(makes_claim(workload, template, claim.name) for template in templates))
    return sum(asked_with_claims(setting.pods[number], (claim,), resource) for claim in there)


def is_alone(setting: Setting, number: int) -> bool:
    """Whether no other workload of the set uses the quotas of this one."""
    ours = {id(q) for q in setting.quotas[number]}
    others = (i for i in range(len(setting.pods)) if i != number and setting.most_wished(i))
    return all(ours.isdisjoint(map(id, setting.quotas[i])) for i in others)


def _amount(resource: str, amount: int) -> str:
    return show(resource.removeprefix("requests.").removeprefix("limits."), amount)


def most_pods(setting: Setting, number: int) -> int:
    """Return the most pods it may have at any time: at HPA maximum, with surge, within its quotas."""
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
    """Return workload → exact number of its pods, for workloads that are the only users of their quotas."""
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
    """Return the workloads for which a ResourceQuota may refuse pods."""
    return _short(setting) if setting.objects.quotas else frozenset()


def _short(setting: Setting) -> frozenset[int]:
    """Return the workloads for which a quota may refuse pods: its users together may want more than it allows."""
    found: set[int] = set()
    for number in (i for i, quotas in enumerate(setting.quotas) if quotas):
        wished = max(setting.most_wished(number), len(setting.running.get(number, ())))
        if wished and surely_granted(setting, number) < wished:
            found.add(number)
    return frozenset(found)
