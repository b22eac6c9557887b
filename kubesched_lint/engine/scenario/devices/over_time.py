"""How a simulation follows the devices that pods hold over time: by numbers, one by one, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.cluster.devices import CHOSEN, COUNTED, NAMED
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.model.devices.devices import USERS_OF_A_CLAIM
from kubesched_lint.engine.scenario.devices.devices import allocator_of, asking_pods, devices_unknown
from kubesched_lint.engine.scenario.limits import MOST_DEVICES, MOST_NODES
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario

if TYPE_CHECKING:
    from kubesched_lint.engine.cluster.devices import Devices
    from kubesched_lint.engine.model.devices.devices import DeviceClaim
    from kubesched_lint.engine.model.pod import BoundPod, Pod
    from kubesched_lint.engine.scheduler.devices.groups import DeviceGroups


class Following(NamedTuple):
    """``how`` is ``COUNTED``, ``NAMED`` or ``CHOSEN`` of ``engine.cluster.devices``; empty: they are not followed."""

    how: str
    why_not: str = ""


def followed_devices(scenario: Scenario) -> tuple[Devices, ...]:
    """Return the devices for ``Inventory.allocator`` of a simulation: none if they are not needed, or not followed."""
    how = following(scenario).how if asking_pods(scenario) else ""
    return tuple(replace(each, over_time=how) for each in allocator_of(scenario)) if how else ()


def which_matters(scenario: Scenario) -> bool:
    """Return whether it may matter which device a pod gets, so that counts of pods do not tell who fits where.

    A claim that pods share is allocated while any of them is bound, on their node: counts of pods tell that too.
    True also if some fact about devices is unknown; False if no pod of the manifests needs any.
    """
    if not asking_pods(scenario):
        return False
    return following(scenario).how != COUNTED


def shares_claims(scenario: Scenario) -> bool:
    """Return whether pods of the manifests name claims that other pods may use too."""
    return any(map(_shares, asking_pods(scenario)))


@once_per_scenario
def following(scenario: Scenario) -> Following:
    """Return how the devices of a scenario are followed over time."""
    if not asking_pods(scenario):
        return Following(COUNTED)
    if not allocator_of(scenario):
        return Following("", devices_unknown(scenario))
    from kubesched_lint.engine.scheduler.devices.groups import DeviceGroups

    (devices,) = allocator_of(scenario)
    live = scenario.cluster.inventory.pods if scenario.cluster is not None else ()
    running = [bound for bound in live if devices.may_serve(bound.pod)]
    tried = (pod for pod in asking_pods(scenario) if not _waits(pod, devices))
    pods = list(dict.fromkeys((*tried, *(bound.pod for bound in running))))
    why_not = next(_unclear(pods, running, devices, scenario), "")
    if why_not:
        return Following("", why_not)
    groups = DeviceGroups(pods, devices, scenario.index, with_shared_claims=True)
    if groups.is_counted:
        return Following(COUNTED)
    why_not = next(_unnamed(groups, running, devices, scenario), "")
    return Following("" if why_not else CHOSEN if groups.depend_on_the_allocator else NAMED, why_not)


def _unclear(pods: Sequence[Pod], running: Sequence[BoundPod], devices: Devices, scenario: Scenario) -> Iterator[str]:
    """Yield why it is not clear which pods hold which claims."""
    if not devices.holders <= {(bound.namespace, bound.name) for bound in running}:
        yield "the snapshot shows claims of pods that it does not show"
    for bound in running:
        if (
            bound.node
            and devices.resources_of(bound.pod)
            and len(_held(bound, devices)) != _due(bound, devices, scenario)
        ):
            yield f"the running pod {bound.namespace}/{bound.name} does not hold the devices that its node owes it"
    for claim in devices.claims.values():
        if not (claim.owner or _is_where_its_pods_are(claim, [bound for bound in running if bound.node])):
            yield f"ResourceClaim {claim.namespace}/{claim.name} is not reserved for just the running pods that name it"
    if any(room > USERS_OF_A_CLAIM for room in scenario.index.allocatable(PODS)) and any(map(_shares, pods)):
        yield f"pods share a claim, at most {USERS_OF_A_CLAIM} at a time, and a node has room for more"


def _unnamed(groups: DeviceGroups, running: Sequence[BoundPod], devices: Devices, scenario: Scenario) -> Iterator[str]:
    """Yield why devices are not followed one by one."""
    yield from groups.hindrances()
    for bound in running:
        if bound.node and len(_held(bound, devices)) < len(bound.pod.resource_claims):
            yield f"the running pod {bound.namespace}/{bound.name} has claims without devices"
    count = sum(len(each.devices) for each in devices.slices)
    if count > MOST_DEVICES:
        yield f"it matters which devices a pod holds, and {count} are too many to follow each (most: {MOST_DEVICES})"
    if len(scenario.index) > MOST_NODES:
        yield f"it matters which devices a pod holds, and there are more than {MOST_NODES} nodes"


def _held(bound: BoundPod, devices: Devices) -> list[DeviceClaim]:
    return [claim for claim in devices.claims_of(bound.namespace, bound.name) if claim.allocation is not None]


def _due(bound: BoundPod, devices: Devices, scenario: Scenario) -> int:
    """Return how many claims a running pod has, with that for extended resources unless a device plugin serves it."""
    at = scenario.index.positions.get(bound.node, -1)
    served = at >= 0 and any(scenario.index.by_devices(name) >> at & 1 for name in devices.resources_of(bound.pod))
    return len(bound.pod.resource_claims) + served


def _waits(pod: Pod, devices: Devices) -> bool:
    """Whether a new pod is never tried, because a claim or a template does not exist."""
    return not all(
        (pod.namespace, each.template) in devices.templates
        if each.template
        else (pod.namespace, each.claim) in devices.claims
        for each in pod.resource_claims
    )


def _shares(pod: Pod) -> bool:
    return any(reference.claim and not reference.template for reference in pod.resource_claims)


def _is_where_its_pods_are(claim: DeviceClaim, running: Sequence[BoundPod]) -> bool:
    """Whether a claim is reserved for just the running pods that name it, all of them on one node."""
    users = {
        pod.name: pod.node
        for pod in running
        if pod.namespace == claim.namespace
        and any(each.claim == claim.name and not each.template for each in pod.pod.resource_claims)
    }
    return users.keys() == set(claim.reserved_for) and len(set(users.values())) <= 1
