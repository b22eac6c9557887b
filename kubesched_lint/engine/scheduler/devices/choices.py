"""The devices that a pod's claims get on a node: by the allocator, or all that any allocator might give them.

For the latter the allocator is asked again and again, each time with fewer devices of some kind. Devices that differ in
their name alone are of one kind: the first free ones stand for any others. Claims get their devices one after another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import product

from msgspec.structs import replace

from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.model.devices.devices import AllocatedDevice, Allocation, DeviceClaim, DeviceID
from kubesched_lint.engine.model.pod import Pod, PodClaim
from kubesched_lint.engine.scheduler.devices.allocator import candidates
from kubesched_lint.engine.scheduler.devices.answers import offers_of, taken_of
from kubesched_lint.engine.scheduler.devices.attempt import ANY, Attempt

_WITHHELD = "withheld/"
"""No claim's name has a slash."""
Claims = Sequence[DeviceClaim]
"""The allocated claims of a pod, in the order of its references."""


def own_choice(pod: Pod, devices: Devices, index: NodeIndex, position: int) -> Iterator[Claims]:
    """Yield what the allocator of kube-scheduler gives; nothing if the node cannot give it."""
    attempt = Attempt(pod, devices, index)
    if attempt.on(position).is_given:
        yield _with(attempt, attempt.on(position).claims)


def every_choice(pod: Pod, devices: Devices, index: NodeIndex, position: int) -> Iterator[Claims]:
    """Yield what any allocator may give, up to the names of equal devices.

    It may miss some where claims share devices, where devices are partitions, and where claims with constraints ask for
    all devices or for admin access: what is withheld counts as taken.
    """
    attempt = Attempt(pod, devices, index)
    for given in _in_turn(pod, attempt.wanted_on(position), devices, index, position):
        yield _with(attempt, given)


def _with(attempt: Attempt, given: Claims) -> Claims:
    """Return the claims of a pod, with that for extended resources."""
    allocated = {claim.name: claim for claim in given}
    named = [allocated.pop(claim.name, claim) for claim in attempt.held]
    return [*named, *(replace(claim, owner=ANY) for claim in allocated.values() if claim.requests)]


def _in_turn(pod: Pod, claims: Claims, devices: Devices, index: NodeIndex, position: int) -> Iterator[Claims]:
    if not claims:
        yield ()
        return
    for variant in _variants(claims[0]):
        for given in _of_claim(pod, variant, devices, index, position):
            for others in _in_turn(pod, claims[1:], devices.with_claims([given]), index, position):
                yield (given, *others)


def _variants(claim: DeviceClaim) -> Iterator[DeviceClaim]:
    """Yield the claim with one alternative of each request."""
    options = [[replace(r, alternatives=(each,)) for each in r.alternatives] or [r] for r in claim.requests]
    return (replace(claim, requests=requests) for requests in product(*options))


def _of_claim(pod: Pod, claim: DeviceClaim, devices: Devices, index: NodeIndex, position: int) -> Iterator[DeviceClaim]:
    kinds = _kinds(devices, index, position)
    kind_of = {device: kind for kind, members in kinds.items() for device in members}
    asking = Pod(pod.namespace, {}, resource_claims=(PodClaim(claim.name, claim=claim.name),))
    first: Mapping[Hashable, int] = {}
    left, seen = [first], {frozenset(first.items())}
    while left:
        limits = left.pop()
        withheld = [device for kind, most in limits.items() for device in kinds[kind][most:]]
        among = devices.with_claims([claim, _holder_of(withheld, claim.namespace)])
        for given in Attempt(asking, among, index).on(position).claims:
            yield given
            results = given.allocation.devices if given.allocation else ()
            used = Counter(kind_of[held.id] for held in results if not held.admin_access)
            for kind, number in used.items():
                fewer = {**limits, kind: number - 1}
                if frozenset(fewer.items()) not in seen:
                    seen.add(frozenset(fewer.items()))
                    left.append(fewer)


def _kinds(devices: Devices, index: NodeIndex, position: int) -> Mapping[Hashable, Sequence[DeviceID]]:
    """Return the free devices for a node by kind, in the order of the allocator."""
    by_kind: dict[Hashable, list[DeviceID]] = {}
    taken = taken_of(devices)
    for each in candidates(offers_of(devices, index).pools(position)):
        if not taken.holds(each.id):
            by_kind.setdefault((each.slice.name, repr(replace(each.device, name=""))), []).append(each.id)
    return by_kind


def _holder_of(withheld: Sequence[DeviceID], namespace: str) -> DeviceClaim:
    held = tuple(AllocatedDevice("", *device) for device in withheld)
    return DeviceClaim(namespace, _WITHHELD, allocation=Allocation(held))
