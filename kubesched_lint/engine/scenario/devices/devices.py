"""The devices of a scenario: which there are, whose pods need them, and what the allocator would have to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.engine.base.quirks import CONSUMABLE_CAPACITY, DYNAMIC_RESOURCES, has
from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.model.devices.devices import DeviceRequest
from kubesched_lint.engine.scenario.nodes.new_nodes import pools_adding, pools_in_words
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.devices.failures import SelectorError, UndecidedError

if TYPE_CHECKING:
    from kubesched_lint.engine.model.devices.devices import Device, DeviceClaim, DeviceClaimTemplate, DeviceClass
    from kubesched_lint.engine.model.nodes.node import NodePool
    from kubesched_lint.engine.model.pod import Pod


@once_per_scenario
def devices_of(scenario: Scenario) -> Devices | None:
    """Return the device classes, slices, templates and claims of manifests and cluster; None if there are none.

    A claim of the cluster keeps its allocation: its spec cannot change.
    """
    objects = scenario.objects
    if not (objects.device_classes or objects.resource_slices or objects.device_claims):
        return None
    devices = Devices.of(objects, scenario.premises.kubernetes_version)
    return devices if scenario.cluster is None else devices.with_claims(scenario.cluster.inventory.device_claims)


def needs_devices(pod: Pod, scenario: Scenario) -> bool:
    """Return whether a pod as written has claims for devices, or requests a resource that devices of a node serve."""
    return bool(pod.resource_claims) or any(_by_devices(pod, scenario))


def _by_devices(pod: Pod, scenario: Scenario) -> Iterator[str]:
    """Yield the resources that a pod requests and that devices serve on some node; without a cluster, on any."""
    for name in sorted(scenario.device_resources.intersection(pod.requests)):
        if scenario.cluster is None or scenario.index.by_devices(name) | scenario.index.unknown_resources:
            yield name


def pools_without_devices(among: NodeSet, scenario: Scenario) -> tuple[NodePool, ...]:
    """Return the pools that could add some of these nodes and do not state their devices."""
    if not scenario.pools:
        return ()
    pools = pools_adding(among, scenario) if scenario.potential.complete else scenario.pools
    return tuple(pool for pool in pools if pool.devices is None)


@once_per_scenario
def asking_pods(scenario: Scenario) -> tuple[Pod, ...]:
    """Return the pods of the manifests that need devices."""
    return tuple(w.pod for w in scenario.manifests.workloads if needs_devices(w.pod, scenario))


@once_per_scenario
def allocator_of(scenario: Scenario) -> tuple[Devices, ...]:
    """Return the devices for ``Inventory.allocator``: none if no pod of the manifests needs any, or it is unknown."""
    return allocator_for(asking_pods(scenario), scenario)


def allocator_for(pods: Sequence[Pod], scenario: Scenario) -> tuple[Devices, ...]:
    """Return the same for these pods, all of which need devices."""
    return (_known(scenario),) if pods and not any(_unknown(pods, scenario)) else ()


@once_per_scenario
def devices_unknown(scenario: Scenario) -> str:
    """Return the first unknown fact that the allocator needs for the pods of the manifests; empty if there is none.

    Pods of one set share the devices, so a fact about one is missing for all.
    """
    return next(_unknown(asking_pods(scenario), scenario), "") if asking_pods(scenario) else ""


def lacks_devices(pod: Pod, scenario: Scenario) -> bool:
    """Return whether it is unknown which nodes have the devices that a pod needs."""
    return needs_devices(pod, scenario) and bool(devices_unknown(scenario))


def knows_devices(scenario: Scenario) -> bool:
    """Return whether the cluster file says which devices the nodes have; there may be none.

    A slice in the manifests adds to them.
    """
    cluster = scenario.cluster
    return cluster is not None and (bool(cluster.inventory.resource_slices) or cluster.has("ResourceSlice"))


def _known(scenario: Scenario) -> Devices:
    return (devices_of(scenario) or Devices()).announced_on(scenario.index.nodes)


def _unknown(pods: Sequence[Pod], scenario: Scenario) -> Iterator[str]:
    version, devices = scenario.premises.kubernetes_version, _known(scenario)
    if not has(version, DYNAMIC_RESOURCES):
        yield f"whether the gate DynamicResourceAllocation is on, which is no default in {version}"
    if silent := _pools_in_doubt(scenario):
        yield f"which devices new nodes of {pools_in_words(silent)} have"
    if not knows_devices(scenario):
        yield "which devices the nodes have: the cluster's file holds no ResourceSlice"
        return
    if scenario.index.unknown_resources:
        for name in sorted({name for pod in pods for name in _by_devices(pod, scenario)}):
            yield f"which nodes offer {name} by a device plugin, and which by devices of a DeviceClass"
    for pod in pods:
        yield from filter(None, [unserved(pod, devices, version)])
        yield from _unread(pod, devices, scenario)
    yield from _unmodelled(devices, pods)
    yield from _undecidable(devices, pods)


def _pools_in_doubt(scenario: Scenario) -> tuple[NodePool, ...]:
    """Return the pools that do not state their devices and could add a node for pods that need some."""
    usable = EMPTY
    for workload in scenario.manifests.workloads:
        if needs_devices(workload.pod, scenario):
            usable |= scenario.member(workload).usable
    return pools_without_devices(usable, scenario)


def _unread(pod: Pod, devices: Devices, scenario: Scenario) -> Iterator[str]:
    """Yield the objects that a pod names and that may exist beside what is known."""
    for reference in pod.resource_claims:
        kind, name = "ResourceClaim", reference.claim
        known = (pod.namespace, name) in devices.claims
        if reference.template:
            kind, name = "ResourceClaimTemplate", reference.template
            known = (pod.namespace, name) in devices.templates
        if not known and not scenario.cluster_has(kind):
            yield f"whether {kind} {pod.namespace}/{name} exists"
        claim = None if reference.template else devices.claims.get((pod.namespace, name))
        if claim is not None and claim.allocation is not None and not claim.reserved_for:
            yield f"when the scheduler frees ResourceClaim {pod.namespace}/{name}: it has devices, and no pod uses them"
    named = [reference.claim for reference in pod.resource_claims if reference.claim]
    if len(set(named)) < len(named):
        yield "whether a pod ever starts that names one ResourceClaim twice: its binding fails"
    if not scenario.cluster_has("DeviceClass"):
        missing = (each.device_class for each in requests_of(pod, devices) if each.device_class not in devices.classes)
        yield from (f"whether DeviceClass {name} exists, and what it selects" for name in missing)


def unserved(pod: Pod, devices: Devices, version: str) -> str:
    """Return the fact that decides whether the API server keeps what a claim of the manifests asks for; else nothing.

    What the cluster's claims ask for was kept.
    """
    if has(version, CONSUMABLE_CAPACITY):
        return ""
    for claim in _claims_of(pod, devices):
        parts = [each for request in claim.requests for each in request.alternatives or (request,)]
        if claim.source is not None and (
            any(each.capacity for each in parts) or any(c.distinct_attribute for c in claim.constraints)
        ):
            return f"whether the gate DRAConsumableCapacity is on, which is no default in {version}"
    return ""


def _claims_of(pod: Pod, devices: Devices) -> Iterator[DeviceClaim | DeviceClaimTemplate]:
    """Yield the claims and templates that a pod refers to and that are known."""
    for reference in pod.resource_claims:
        key = pod.namespace, reference.template or reference.claim
        claim = devices.templates.get(key) if reference.template else devices.claims.get(key)
        if claim is not None:
            yield claim


def requests_of(pod: Pod, devices: Devices) -> Iterator[DeviceRequest]:
    """Yield what a pod requests of each class: alternatives one by one, and extended resources that a class serves.

    None of a claim or template that is missing.
    """
    for claim in _claims_of(pod, devices):
        for request in claim.requests:
            yield from request.alternatives or (request,)
    for name in sorted(devices.class_of_resource.keys() & pod.requests.keys()):
        yield DeviceRequest(name, devices.class_of_resource[name].name, resource=name)


def _unmodelled(devices: Devices, pods: Sequence[Pod]) -> Iterator[str]:
    """Yield what decides later about pods with a device, if one of these pods may get it or a running pod holds it."""
    from kubesched_lint.engine.scheduler.devices.life import never_evicts, requests_by_name

    evicting = {device: taints for device, taints in devices.evicting_taints.items() if taints}
    if not evicting:
        return
    held = [
        (taint, names.get(device.request))
        for claim in devices.claims.values()
        if claim.allocation is not None
        for names in [requests_by_name(claim)]
        for device in claim.allocation.devices
        for taint in evicting.get(device.id, ())
    ]
    leaving = (
        (taint, request)
        for each in devices.slices
        for device in each.devices
        for taint in evicting.get((each.driver, each.pool, device.name), ())
        for request in _requests_of_all(pods, devices)
        if _may_get(request, each.driver, device, devices)
    )
    if any(request is None or not never_evicts(taint, request) for taint, request in (*held, *leaving)):
        yield "which pods leave devices with a NoExecute taint"


def may_wait_for_devices(pod: Pod, devices: Devices) -> bool:
    """Return whether a pod may get a device with binding conditions, which the scheduler waits for before it binds."""
    waiting = ((each, device) for each in devices.slices for device in each.devices if device.has_binding_conditions)
    requests = list(requests_of(pod, devices))
    return any(_may_get(request, each.driver, device, devices) for each, device in waiting for request in requests)


def _requests_of_all(pods: Sequence[Pod], devices: Devices) -> Sequence[DeviceRequest]:
    return list(dict.fromkeys(request for pod in pods for request in requests_of(pod, devices)))


def _may_get(request: DeviceRequest, driver: str, device: Device, devices: Devices) -> bool:
    """Return whether the scheduler may give a device to a request, as far as taints and selectors tell."""
    from kubesched_lint.engine.scheduler.devices.allocator import prevents
    from kubesched_lint.engine.scheduler.devices.answers import selectors_of

    if any(prevents(taint, request) for taint in device.taints):
        return False
    try:
        return all(selectors_of(devices).matches(text, driver, device) for text in _selectors_of(request, devices))
    except (SelectorError, UndecidedError):
        return True


def _undecidable(devices: Devices, pods: Sequence[Pod]) -> Iterator[str]:
    """Yield why selectors cannot be evaluated here, each tried on every device."""
    from kubesched_lint.engine.scheduler.devices.answers import selectors_of

    selectors = selectors_of(devices)
    for expression in dict.fromkeys(_selectors(devices, pods)):
        for each in devices.slices:
            for device in each.devices:
                try:
                    selectors.matches(expression, each.driver, device)
                except SelectorError:
                    continue
                except UndecidedError as error:
                    yield f"which devices are meant: {error}"


def _selectors(devices: Devices, pods: Sequence[Pod]) -> Iterator[str]:
    for pod in pods:
        for request in requests_of(pod, devices):
            yield from _selectors_of(request, devices)


def _selectors_of(request: DeviceRequest, devices: Devices) -> Iterator[str]:
    """Yield the expressions of a request and of its class, if that is known."""
    device_class: DeviceClass | None = devices.classes.get(request.device_class)
    yield from filter(None, (*(device_class.selectors if device_class else ()), *request.selectors))
