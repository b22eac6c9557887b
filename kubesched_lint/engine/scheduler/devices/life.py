"""The life of a pod's claims: made from templates before it is scheduled, allocated and reserved when it is bound.

Mirrors ``pkg/controller/resourceclaim/controller.go``, and Reserve, PreBind and PostFilter of
``plugins/dynamicresources/dynamicresources.go`` (v1.36).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from kubesched_lint.engine.cluster.devices import NO_EXECUTE, Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.model.devices.devices import DeviceClaim, DeviceRequest, DeviceTaint, DeviceToleration
from kubesched_lint.engine.model.pod import DEVICES_PLUGIN, Pod, PodClaim
from kubesched_lint.engine.scheduler.devices.attempt import ANY, Attempt, own_claim
from kubesched_lint.engine.scheduler.devices.extended import IN_MEMORY


def with_made_claims(pod: Pod, name: str, devices: Devices) -> tuple[Pod, Devices]:
    """Return the pod with the names of its own claims, and the devices with these claims.

    A claim whose template does not exist is not made.
    """
    made: list[DeviceClaim] = []
    references: list[PodClaim] = []
    for reference in pod.resource_claims:
        template = devices.templates.get((pod.namespace, reference.template))
        if template is not None:
            claim = own_claim(template, name, reference.name)
            made.append(claim)
            reference = replace(reference, claim=claim.name)
        references.append(reference)
    if not made:
        return pod, devices
    return replace(pod, resource_claims=tuple(references)), devices.with_claims(made)


def binding_error(attempt: Attempt) -> str:
    """Return why PreBind fails: a claim that two references name cannot be reserved twice; empty if it does not."""
    for (_, name), count in Counter((claim.namespace, claim.name) for claim in attempt.held).items():
        if count > 1:
            claim = next(claim for claim in attempt.held if claim.name == name)
            field = f"status.reservedFor[{len(claim.reserved_for) + 1}]"
            return (
                f'running PreBind plugin "{DEVICES_PLUGIN}": add reservation to claim {claim.namespace}/{name}: '
                f'ResourceClaim.resource.k8s.io "{name}" is invalid: {field}: Duplicate value: "{ANY}"'
            )
    return ""


def is_evicted(attempt: Attempt, position: int, devices: Devices) -> bool:
    """Return whether the pod is evicted as soon as it is bound to a node, because of a device's NoExecute taint.

    Only a toleration with the effect NoExecute keeps it; one without an effect lets the scheduler allocate the device,
    and the pod is deleted at once. Mirrors claimEvictionTime of
    ``pkg/controller/devicetainteviction/device_taint_eviction.go`` (v1.36), without toleration seconds.
    """
    taints = devices.evicting_taints
    return any(
        request is None or evicts_at_once(taint, request)
        for claim in attempt.on(position).claims
        for names in [requests_by_name(claim)]
        for device in (claim.allocation.devices if claim.allocation else ())
        for request in [names.get(device.request)]
        for taint in taints.get(device.id, ())
    )


def never_evicts(taint: DeviceTaint, request: DeviceRequest) -> bool:
    """Return whether a request tolerates the NoExecute taint of its device forever."""
    return _keeps((t for t in request.tolerations if not t.is_temporary), taint)


def evicts_at_once(taint: DeviceTaint, request: DeviceRequest) -> bool:
    """Return whether no toleration of a request, not even for some time, keeps pods beside a NoExecute taint."""
    return not _keeps(request.tolerations, taint)


def requests_by_name(claim: DeviceClaim) -> Mapping[str, DeviceRequest]:
    """Return the requests of a claim by the name that its allocation has for them: ``request/alternative``."""
    by_name = {request.name: request for request in claim.requests if not request.alternatives}
    return by_name | {f"{r.name}/{each.name}": each for r in claim.requests for each in r.alternatives}


def _keeps(tolerations: Iterable[DeviceToleration], taint: DeviceTaint) -> bool:
    return any(t.effect == NO_EXECUTE and t.tolerates(taint) for t in tolerations)


def after_binding(attempt: Attempt, name: str, position: int, devices: Devices) -> Devices:
    """Return the devices after a pod is bound: its claims are allocated as the node can, and reserved for it."""
    new = {claim.name: claim for claim in attempt.on(position).claims}
    claims = [new.pop(claim.name, claim) for claim in attempt.held]
    claims += [replace(claim, name=f"{name}-extended-resources-{ANY}", owner=name) for claim in new.values()]
    return devices.with_claims(replace(claim, reserved_for=(*claim.reserved_for, name)) for claim in claims)


def bound_devices(pod: Pod, name: str, position: int, devices: Devices, index: NodeIndex) -> Devices:
    """Return the devices after a pod is bound to a node; unchanged if the node cannot give what it needs."""
    known, with_claims = with_made_claims(pod, name, devices)
    attempt = Attempt(known, with_claims, index)
    if attempt.is_empty or attempt.waits_for or not attempt.on(position).is_given:
        return devices
    return after_binding(attempt, name, position, with_claims)


def after_failure(attempt: Attempt, devices: Devices) -> Devices:
    """Return the devices after a pod was not bound and is deleted: its own claims go, and one idle claim is free again.

    Of several idle claims the scheduler draws one.
    """
    away = [claim for given in attempt.seen() for claim in given.unavailable if not claim.reserved_for]
    freed = devices.with_claims(replace(claim, allocation=None) for claim in away[:1])
    return freed.without_claims((claim.namespace, claim.name) for claim in attempt.held if claim.owner)


def allocations(attempt: Attempt, position: int) -> dict[str, list[list[str]]]:
    """Return reference of the pod → [request, driver, pool, device] of each device it would have on a node.

    The claim for extended resources, which no reference names, has the name ``<extended-resources>``.
    """
    claims = {claim.name: claim for claim in (*attempt.held, *attempt.on(position).claims)}
    named = {ref.name: claim.name for ref, claim in zip(attempt.references, attempt.held, strict=True)}
    if IN_MEMORY in claims:
        named[IN_MEMORY] = IN_MEMORY
    return {
        reference: [[held.request, *held.id] for held in allocation.devices]
        for reference, name in named.items()
        if (allocation := claims[name].allocation) is not None
    }
