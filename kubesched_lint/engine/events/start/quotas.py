"""The number of pods that ResourceQuotas allow the controllers of a set to create; see ``scenario.quotas``."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace as replace_record

from kubesched_lint.engine.admission.quotas import PODS, Charged, Use, asked, asked_with_claims, canonical, is_of_claims
from kubesched_lint.engine.events.start.quiet import quiet
from kubesched_lint.engine.events.start.simulated_set import (
    LOSSES,
    SimulatedMember,
    SimulatedSet,
    once_per_member,
    once_per_set,
)
from kubesched_lint.engine.model.policy import ResourceQuota
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.storage import Claim
from kubesched_lint.engine.model.workloads.workload import SCALED, Workload
from kubesched_lint.engine.scenario.quotas import claimed, in_turn

_COUNTED = (*SCALED, "Job")
"""Kinds of which it matters how many pods a quota grants, not which: those of a DaemonSet have nodes of their own."""


class Entry(NamedTuple):
    """One resource of a quota: the request of one pod of the workload, and the use by pods outside the set."""

    resource: str
    each: int
    used: int


class Shared(NamedTuple):
    """What several workloads may use together: a resource of all quotas that count the same workloads."""

    quota: ResourceQuota
    """The first of these quotas."""
    resource: str


class Limit(NamedTuple):
    """What an entry of a quota leaves for the set if the fewest running pods count."""

    left: int
    place: tuple[int, int]
    """That of the quota, and that of the entry in it."""
    quota: ResourceQuota


class Left(NamedTuple):
    """What quotas with the same users leave of a resource."""

    surely: int
    """What each of them leaves if the most running pods count."""
    limits: list[Limit]
    """In their order, each tighter than all before it: the others refuse no pod first."""


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
    def name(self) -> str:
        return f"ResourceQuota {self.quota.namespace}/{self.quota.name}"

    @property
    def why(self) -> str:
        return f"{self.name} {self.allows}"

    @property
    def allows(self) -> str:
        """Return ``allows 6 of requests.cpu; each pod requests 1``."""
        beside = f"; others use {_amount(self.resource, self.used)}" if self.used else ""
        limit, each = _amount(self.resource, self.limit), _amount(self.resource, self.each)
        if self.resource in PODS:
            return f"allows {limit} pods{beside}"
        return f"allows {limit} of {self.resource}{beside}; each pod requests {each}"

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


@once_per_member
def cap(member: SimulatedMember) -> Cap | None:
    """Return the tightest cap, or None; running pods always stay."""
    return _tightest(member, ())


@once_per_member
def cap_in_rollout(member: SimulatedMember) -> Cap | None:
    """Return the tightest cap of its rollout: pods of other workloads stand, and a quota counts them."""
    return _tightest(member, frozenset(_standing(member)))


def _standing(member: SimulatedMember) -> Iterator[int]:
    """Yield other workloads whose pods stand while this one is rolled out: they run unchanged, or the deploy makes all.

    Left out is who may have fewer pods then: one that an autoscaler scales, makes its pods one after another, ends
    them, or is preempted; and one whose pods are created on an assumption, or by a controller that is not modelled.
    """
    simulated = member.set
    rivals = {i for quota in _distinct(member) for i in _users(simulated)[quota]} - {member.number}
    highest = _highest_waiting(member) if rivals else 0
    for other in map(simulated.member, sorted(rivals)):
        number, workload = other.number, other.workload
        is_scaled = workload.kind in SCALED and number not in simulated.scalers and number not in simulated.scaled
        is_made = number not in simulated.decisions and workload.custom is None
        if not (is_scaled and is_made) or min(pod.priority or 0 for pod in other.kinds) < highest:
            continue
        if other.running:
            stands = number in quiet(simulated)
        else:
            stands = not _creates_in_turn(other) and surely_granted(other, "deploy") >= other.wanted
        if stands:
            yield number


def _highest_waiting(member: SimulatedMember) -> int:
    """Return the highest priority of pods that may wait, and so preempt others, in an event of a workload."""
    simulated, pods = member.set, list(member.kinds)
    for other in member.others:
        more = other.scaler is not None or other.scaled or other.workload.kind == "Job"
        if more or other.number not in quiet(simulated):
            pods += other.kinds
    pods += (bound.pod for bound in simulated.objects.pods if not bound.node)
    return max(pod.priority or 0 for pod in pods)


def _tightest(member: SimulatedMember, standing: Collection[int]) -> Cap | None:
    simulated = member.set
    running, ceilings = len(member.running), list[tuple[int, tuple[int, int], ResourceQuota, str]]()
    for shared, each in _asks(member).items():
        limits, beside = _left(member, shared).limits, _beside(simulated, shared, standing)
        most = max((limits[-1].left - beside) // each, running)
        # Of all that allow as few, the first.
        first = limits[bisect_right(limits, -beside - (most + 1) * each, key=lambda limit: -limit.left)]
        ceilings.append((most, first.place, first.quota, shared.resource))
    if not ceilings:
        return None
    most, _, quota, resource = min(ceilings, key=lambda ceiling: ceiling[:2])
    entries = tuple(
        Entry(name, each, use.least + _beside(simulated, _shared(simulated, quota, name), standing))
        for name, each, use in _entries(member, quota)
    )
    tightest = next(entry for entry in entries if entry.resource == resource)
    return Cap(most, quota, resource, tightest.each, tightest.used, entries)


def _beside(simulated: SimulatedSet, shared: Shared, standing: Collection[int]) -> int:
    """Return the use by all pods of those workloads that stand."""
    others = [i for i in _users(simulated)[shared.quota] if i in standing] if standing else ()
    return sum(_used_standing(simulated.member(i), shared.resource) for i in others)


def _used_standing(member: SimulatedMember, resource: str) -> int:
    if not member.running:
        return _asked(member, resource) * member.wanted
    # Claims that exist count as use by others already.
    return 0 if is_of_claims(resource) else sum(asked(bound.pod, resource) for bound in member.running)


def surely_granted(member: SimulatedMember, event: str = "") -> int:
    """Return the pods of a workload that its quotas allow in an event, or in any, even if all others come first."""
    least = most_made(member, event)
    for shared, (_, left) in _bounds(member.set)[member.number].items():
        others = _demand(member.set, shared) - _drawn(member, shared.resource)
        least = min(least, (left - others) // _most_asked(member, shared.resource))
    return max(least, 0)


def most_made(member: SimulatedMember, event: str = "") -> int:
    """Return the most pods of a workload that its controller may want at once in an event of it, or in any.

    Quotas aside. What runs and is not quiet may be rolled out by the deploy already, and a hypothesis may change all
    workloads.
    """
    is_changed = bool(member.running) and member.number not in quiet(member.set)
    if is_changed or member.set.supposed is not None:
        return member.most_wished
    if event == "rollout":
        return member.with_surge(member.wanted)
    return member.wanted if event in ("deploy", "scale-down", *LOSSES) else member.most_wished


def _drawn(member: SimulatedMember, resource: str) -> int:
    """Return the most that all pods of a workload use during an event of another one, which does not scale it.

    Pods that a quota surely refuses use nothing; but a StatefulSet has made their claims by then.
    """
    made = max(most_made(member, "deploy"), len(member.running))
    granted = None if member.running or is_of_claims(resource) else cap(member)
    return _most_asked(member, resource) * (made if granted is None else min(made, granted.pods))


def _demand(simulated: SimulatedSet, shared: Shared) -> int:
    """Return the most that all users of it use together, except in events of their own."""
    known = _demands(simulated)
    if shared not in known:
        known[shared] = sum(_drawn(simulated.member(i), shared.resource) for i in _users(simulated)[shared.quota])
    return known[shared]


@once_per_set
def _demands(simulated: SimulatedSet) -> dict[Shared, int]:
    return {}


def refused_in(member: SimulatedMember, event: str) -> frozenset[int]:
    """Return the workloads for which a quota may refuse pods in an event of one workload, or in the deploy before."""
    short = _refused_in_deploys(member.set)
    return short | {member.number} if member.number in quota_short(member.set) and _may_lack(member, event) else short


@once_per_set
def _refused_in_deploys(simulated: SimulatedSet) -> frozenset[int]:
    return frozenset(i for i in quota_short(simulated) if _may_lack(simulated.member(i), "deploy"))


def _may_lack(member: SimulatedMember, event: str) -> bool:
    return surely_granted(member, event) < most_made(member, event)


@once_per_set
def _users(simulated: SimulatedSet) -> Mapping[ResourceQuota, Sequence[int]]:
    """Return quota → the workloads that use it."""
    users: dict[ResourceQuota, list[int]] = {}
    for i, quotas in enumerate(simulated.quotas):
        for quota in quotas:
            users.setdefault(quota, []).append(i)
    return users


@once_per_set
def _alike(simulated: SimulatedSet) -> Mapping[ResourceQuota, ResourceQuota]:
    """Return quota → the first quota with the same users."""
    first: dict[tuple[int, ...], ResourceQuota] = {}
    return {quota: first.setdefault(tuple(users), quota) for quota, users in _users(simulated).items()}


class Grants(NamedTuple):
    """What workloads get at deploy if they create their pods one workload after the other."""

    pods: dict[int, int]
    """By workload."""
    taken: dict[Shared, int]
    """The use by all of them."""


def granted_in_turn(simulated: SimulatedSet, order: Iterable[int]) -> Grants:
    """Return what the workloads get if they create their pods in ``order``."""
    return Grants(*in_turn(((number, simulated.member(number).wanted) for number in order), _bounds(simulated)))


@once_per_set
def _bounds(simulated: SimulatedSet) -> Mapping[int, Mapping[Shared, tuple[int, int]]]:
    """Return by workload: what it shares → (the request of one pod, what the set may use of it)."""
    return {
        member.number: {shared: (each, _left(member, shared).surely) for shared, each in _asks(member).items()}
        for member in simulated.members
    }


def _distinct(member: SimulatedMember) -> Iterable[ResourceQuota]:
    """Return the quotas that count a workload; of those with the same users the first."""
    return dict.fromkeys(map(_alike(member.set).__getitem__, member.quotas))


@once_per_member
def _asks(member: SimulatedMember) -> Mapping[Shared, int]:
    """Return what a workload shares → the request of one pod."""
    shares = (shared for quota in _distinct(member) for shared in _limited(member.set)[quota])
    return {shared: each for shared in shares if (each := _asked(member, shared.resource))}


@once_per_set
def _limited(simulated: SimulatedSet) -> Mapping[ResourceQuota, Mapping[Shared, Left]]:
    """Return the first of the quotas with the same users → what they limit → what they leave.

    They count the same pods, so that only the tightest of them matters for each resource, and each is asked once.
    """
    limited: dict[ResourceQuota, dict[Shared, Left]] = {}
    counting = filter(_alike(simulated).__contains__, simulated.objects.quotas)
    for place, quota in enumerate(sorted(counting, key=lambda quota: quota.name)):
        known = limited.setdefault(_alike(simulated)[quota], {})
        for at, (resource, hard) in enumerate(quota.hard.items()):
            shared, use = _shared(simulated, quota, resource), _charged(simulated).use(quota, resource)
            surely, limits = known.get(shared, Left(hard - use.most, []))
            if not limits or hard - use.least < limits[-1].left:
                limits.append(Limit(hard - use.least, (place, at), quota))
            known[shared] = Left(min(surely, hard - use.most), limits)
    return limited


def _left(member: SimulatedMember, shared: Shared) -> Left:
    simulated = member.set
    quota, resource = shared
    if not is_of_claims(resource):
        return _limited(simulated)[quota][shared]
    used = _claimed(member, resource)
    (limit,) = _limited(simulated)[_alike(simulated)[quota]][shared].limits
    return Left(quota.hard[resource] - used.most, [limit._replace(left=quota.hard[resource] - used.least)])


def _shared(simulated: SimulatedSet, quota: ResourceQuota, resource: str) -> Shared:
    # The use by existing claims differs between workloads.
    return Shared(quota if is_of_claims(resource) else _alike(simulated)[quota], resource)


def _others(member: SimulatedMember) -> list[int]:
    return [i for i in range(len(member.set.pods)) if i != member.number]


@once_per_member
def _pods_when_last(member: SimulatedMember) -> int:
    """Return the pods that a workload gets if it creates them after all others."""
    return granted_in_turn(member.set, (*_others(member), member.number)).pods[member.number]


@once_per_set
def _in_apply_order(simulated: SimulatedSet) -> Grants:
    return granted_in_turn(simulated, range(len(simulated.pods)))


@once_per_member
def message_in_turn(member: SimulatedMember) -> str:
    """Return the API server's message for the first pod too many if workloads create pods in apply order, or ''."""
    simulated = member.set
    wanted = member.wanted
    grants = _in_apply_order(simulated)
    if grants.pods[member.number] >= wanted:
        grants = granted_in_turn(simulated, (*_others(member), member.number))
    if grants.pods[member.number] >= wanted:
        return ""
    for quota in member.quotas:
        exceeded = []
        for resource, each, use in sorted(_entries(member, quota)):
            taken = use.most + grants.taken[_shared(simulated, quota, resource)]
            if taken + each > quota.hard[resource]:
                exceeded.append([f"{resource}={canonical(resource, n)}" for n in (each, taken, quota.hard[resource])])
        if exceeded:
            return _exceeded(quota, exceeded)
    return ""


@once_per_member
def goes_both_ways(member: SimulatedMember) -> bool:
    """Whether a deployment gives a workload all its pods in one order of creation, and fewer in another."""
    simulated = member.set
    if any(simulated.running.get(i) for quota in _distinct(member) for i in _users(simulated)[quota]):
        return False
    when_first = granted_in_turn(simulated, (member.number,)).pods[member.number]
    return when_first >= member.wanted > _pods_when_last(member)


def rivals_in_turn(member: SimulatedMember) -> Iterator[SimulatedMember]:
    """Yield the others that use its quotas and create each pod only when the one before is ready."""
    users = {i for quota in _distinct(member) for i in _users(member.set)[quota]} - {member.number}
    return (other for other in map(member.set.member, sorted(users)) if _creates_in_turn(other))


def stays_short(member: SimulatedMember, size: int) -> bool:
    """Whether a workload that was last to create its pods may have fewer than ``size`` after nodes are lost.

    That is so if the other workloads recreate their lost pods and so keep their share of the quota.
    """
    simulated = member.set
    ours = set(member.quotas)
    rivals = [i for i in _others(member) if not ours.isdisjoint(simulated.quotas[i])]
    steady = all(
        simulated.workloads[i].kind in ("Deployment", "ReplicaSet", "ReplicationController")
        or (simulated.workloads[i].kind == "StatefulSet" and simulated.workloads[i].pod_management == "Parallel")
        for i in rivals
    )
    return steady and _pods_when_last(member) < size


def _entries(member: SimulatedMember, quota: ResourceQuota) -> Iterator[tuple[str, int, Use]]:
    """Yield the entries of a quota that a pod of a workload uses, the use by one pod, and by what is there already."""
    for resource in quota.hard:
        each = _asked(member, resource)
        if each and is_of_claims(resource):
            yield resource, each, _claimed(member, resource)
        elif each:
            yield resource, each, _charged(member.set).use(quota, resource)


def _claimed(member: SimulatedMember, resource: str) -> Use:
    return claimed(member.workload, _templates(member), member.set.objects.claims, resource)


@once_per_set
def _charged(simulated: SimulatedSet) -> Charged:
    return Charged(simulated.objects.pods)


def _asked(member: SimulatedMember, resource: str) -> int:
    """Return the use by one pod of a workload, with the claims that a StatefulSet creates for it."""
    return asked_with_claims(member.pod, _templates(member), resource)


def _most_asked(member: SimulatedMember, resource: str) -> int:
    """Return the most that a pod of a workload uses; pods of an older template that run may use more than new ones."""
    if is_of_claims(resource):
        return _asked(member, resource)
    return max(_asked(member, resource), *(asked(pod, resource) for pod in member.kinds[1:]), 0)


def _templates(member: SimulatedMember) -> tuple[Claim, ...]:
    return member.set.claim_templates.get(member.number, member.workload.claim_templates)


def is_alone(member: SimulatedMember) -> bool:
    """Whether no other workload of the set uses the quotas of this one."""
    ours = set(member.quotas)
    return all(ours.isdisjoint(other.quotas) for other in member.others if other.most_wished)


def _amount(resource: str, amount: int) -> str:
    return show(resource.removeprefix("requests.").removeprefix("limits."), amount)


def most_pods(member: SimulatedMember) -> int:
    """Return the most pods it may have at any time: at HPA maximum, with surge, within its quotas."""
    return _most_pods(member.set)[member.number]


@once_per_set
def _most_pods(simulated: SimulatedSet) -> tuple[int, ...]:
    return tuple(map(_as_far_as_granted, simulated.members))


def _as_far_as_granted(member: SimulatedMember) -> int:
    if not member.quotas:
        return member.most_wished
    granted = cap(member)
    return member.most_wished if granted is None else min(member.most_wished, granted.pods)


@once_per_set
def capped(simulated: SimulatedSet) -> Mapping[int, int]:
    """Return workload → exact number of its pods, for workloads that are the only users of their quotas."""
    alone = (
        i
        for i in quota_short(simulated)
        if simulated.workloads[i].kind in _COUNTED and not simulated.running.get(i) and is_alone(simulated.member(i))
    )
    return {i: granted.pods for i in alone if (granted := cap(simulated.member(i))) is not None}


def as_granted(member: SimulatedMember, granted: Mapping[int, int] | None = None) -> Workload:
    """Return a workload with the pods that its quotas grant; ``granted``: see ``shares``, default: ``capped``."""
    granted = capped(member.set) if granted is None else granted
    workload, most = member.workload, granted.get(member.number)
    if most is None or workload.replicas <= most:
        return workload
    return replace_record(workload, replicas=most)


def shares(simulated: SimulatedSet, order: Iterable[int]) -> Mapping[int, int]:
    """Return workload → number of its pods, for those that are short if workloads create their pods in ``order``.

    Pods that run are there before all others. Those of a StatefulSet that waits for each are created last.
    """
    short = quota_short(simulated)
    if not short:
        return {}
    ranked = sorted(order, key=lambda i: (not simulated.running.get(i), _creates_in_turn(simulated.member(i))))
    granted = granted_in_turn(simulated, ranked).pods
    return {**{i: granted[i] for i in ranked if i in short and not simulated.running.get(i)}, **capped(simulated)}


def have_shares(simulated: SimulatedSet, short: Iterable[int]) -> bool:
    """Whether ``shares`` says for these workloads, which are short of quota, what a deployment may leave them.

    What runs unchanged keeps its share, and takes it again once its pods are lost or preempted. Of those that create
    their pods one after another, one takes what the others leave; what two of them get depends on whose become ready.
    """
    left = [simulated.member(i) for i in short if i not in capped(simulated)]
    waiting = [quota for member in left if _creates_in_turn(member) for quota in member.quotas]
    return all(map(_has_share, left)) and len(waiting) == len(set(waiting)) and (not left or simulated.supposed is None)


def _has_share(member: SimulatedMember) -> bool:
    if not member.running:
        return member.workload.kind in _COUNTED
    return member.number in quiet(member.set) and _of_what_runs(member.set)[member.number] >= member.wanted


def _creates_in_turn(member: SimulatedMember) -> bool:
    workload = member.workload
    return workload.kind == "StatefulSet" and workload.pod_management == "OrderedReady"


@once_per_set
def _of_what_runs(simulated: SimulatedSet) -> Mapping[int, int]:
    """Return what quotas grant to each workload that runs if only those want pods."""
    return granted_in_turn(simulated, (i for i, pods in sorted(simulated.running.items()) if pods)).pods


@once_per_set
def quota_short(simulated: SimulatedSet) -> frozenset[int]:
    """Return the workloads for which a ResourceQuota may refuse pods."""
    return _short(simulated) if simulated.objects.quotas else frozenset()


def may_be_freed(member: SimulatedMember, event: str, most: int) -> bool:
    """Whether an event may delete pods of others, so that a quota which is short for a workload has more to grant.

    ``most``: the most pods that counting allows. Where a quota grants more, something else keeps the others back.
    """
    simulated = member.set
    if member.number not in quota_short(simulated) or not simulated.deletes(event):
        return False
    granted = cap(member)
    if granted is not None and most < granted.pods:
        return False
    return any(bound.node and bound.namespace == member.pod.namespace for bound in simulated.objects.pods)


def _short(simulated: SimulatedSet) -> frozenset[int]:
    """Return the workloads for which a quota may refuse pods: its users together may want more than it allows."""
    short: set[int] = set()
    for number in (i for i, quotas in enumerate(simulated.quotas) if quotas):
        wished = max(simulated.member(number).most_wished, len(simulated.running.get(number, ())))
        if wished and surely_granted(simulated.member(number)) < wished:
            short.add(number)
    return frozenset(short)
