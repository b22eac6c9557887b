"""The assumptions of proofs about devices, as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kubesched_lint.engine.base.quirks import EXTENDED_RESOURCES_OF_DEVICES, has
from kubesched_lint.engine.model.resources import may_be_devices
from kubesched_lint.engine.scenario.devices.devices import devices_of, may_wait_for_devices, needs_devices, requests_of
from kubesched_lint.engine.scenario.nodes.new_nodes import pools_in_words
from kubesched_lint.engine.scenario.premises.premises import node_premise
from kubesched_lint.engine.scenario.scenario import Member, Scenario

if TYPE_CHECKING:
    from kubesched_lint.engine.model.pod import Pod

ADMIN_LABEL = "resource.kubernetes.io/admin-access"


def device_premise(scenario: Scenario) -> str:
    """Return the assumption about devices in every proof that counts devices."""
    premise = "drivers announce no other devices than those of the snapshot"
    return ", and ".join(filter(None, (premise, stated_devices(scenario), _rules_count(scenario))))


def _rules_count(scenario: Scenario) -> str:
    """Return what is assumed about DeviceTaintRules if only manifests have some; their gate is beta, and off."""
    if not scenario.manifests.device_taint_rules or (
        scenario.cluster and scenario.cluster.inventory.device_taint_rules
    ):
        return ""
    return "DeviceTaintRules count (the gate DRADeviceTaintRules, off by default, is on)"


def stated_devices(scenario: Scenario) -> str:
    """Return what is assumed about the devices of nodes that pools could add; empty if no pool states any."""
    stating = pools_in_words([pool for pool in scenario.pools if pool.devices is not None])
    return f"new nodes of {stating} have the devices that the cluster file states" if stating else ""


def pod_premises(it: Member) -> Iterator[str]:
    """Yield the assumptions about devices behind what becomes of a workload's pods."""
    scenario = it.scenario
    if needs_devices(it.workload.pod, scenario):
        yield from filter(None, (stated_devices(scenario), _rules_count(scenario)))
        devices = devices_of(scenario)
        if devices is not None and may_wait_for_devices(it.workload.pod, devices):
            yield "drivers make devices with binding conditions ready in time"
        if devices is not None and any(device.has_lists for each in devices.slices for device in each.devices):
            yield "kube-scheduler has the gate DRAListTypeAttributes, without which the API server keeps no lists"
    if asks_for_admin_access(it) and it.workload.namespace not in scenario.namespaces.labels:
        yield f"namespace {it.workload.namespace} has the label {ADMIN_LABEL}, which adminAccess needs"
    for name, amount in it.pod.requests.items():
        if amount > 0 and may_be_devices(name) and not scenario.index.all & ~scenario.index.short_of(name, 1):
            yield from class_premises(name, scenario)


def class_premises(resource: str, scenario: Scenario) -> tuple[str, ...]:
    """Return the assumption of a proof that no node offers an extended resource."""
    if scenario.cluster_has("DeviceClass") or not has(
        scenario.premises.kubernetes_version, EXTENDED_RESOURCES_OF_DEVICES
    ):
        return ()
    return (f"no DeviceClass offers {resource} (DRAExtendedResource)",)


def asks_for_admin_access(it: Member) -> bool:
    """Return whether a claim of the pods asks for adminAccess; the API server takes it in namespaces with a label."""
    devices = devices_of(it.scenario) if it.workload.pod.resource_claims else None
    return devices is not None and any(request.admin_access for request in requests_of(it.workload.pod, devices))


def set_premises(pods: Iterable[Pod], scenario: Scenario) -> tuple[str, ...]:
    """Return the assumptions of a proof that counts nodes, and devices if any of these pods as written needs some."""
    needy = any(needs_devices(pod, scenario) for pod in pods)
    return (node_premise(scenario), device_premise(scenario)) if needy else (node_premise(scenario),)
