"""Small inventories of devices, written short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.model.decode.devices import decode_device_claim, decode_resource_slice
from kubesched_lint.engine.model.devices.devices import DeviceClaim, DeviceClass, ResourceSlice
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import Pod, PodClaim
from kubesched_lint.engine.scheduler.devices.attempt import Attempt

DRIVER = "gpu.example.com"
Value = dict[str, Any]
GPU = DeviceClass("gpu", selectors=(f'device.driver == "{DRIVER}"',))


def slice_of(devices: Sequence[Value], name: str = "s", **spec: Any) -> ResourceSlice:
    """A slice of the pool ``p`` on node n0, unless ``spec`` says otherwise."""
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1, **spec.pop("pool", {})}
    place = (
        {} if {"allNodes", "nodeSelector", "perDeviceNodeSelection", "nodeName"} & spec.keys() else {"nodeName": "n0"}
    )
    full = {"driver": DRIVER, "pool": pool, "devices": list(devices), **place, **spec}
    return decode_resource_slice({"metadata": {"name": name}, "spec": full}, "default", None)


def claim_of(*requests: Value, name: str = "c", status: Value | None = None, **devices: Any) -> DeviceClaim:
    spec = {"devices": {"requests": list(requests), **devices}}
    return decode_device_claim({"metadata": {"name": name}, "spec": spec, "status": status or {}}, "default", None)


def ask(name: str = "r", count: int = 1, **more: Any) -> Value:
    return {"name": name, "exactly": {"deviceClassName": "gpu", "count": count, **more}}


def devices_with(
    slices: Sequence[ResourceSlice], claims: Sequence[DeviceClaim], classes: Sequence[DeviceClass] = (GPU,)
) -> Devices:
    by_name = {(c.namespace, c.name): c for c in claims}
    return Devices({c.name: c for c in classes}, tuple(slices), claims=by_name)


def attempt_for(devices: Devices, *names: str, nodes: int = 1) -> Attempt:
    """The attempt of a pod with the claims of these names, on nodes n0, n1, …"""
    index = NodeIndex([Node(f"n{i}", labels={"zone": f"z{i}"}) for i in range(nodes)])
    references = tuple(PodClaim(f"x{i}", claim=name) for i, name in enumerate(names or ("c",)))
    return Attempt(Pod("default", {}, resource_claims=references), devices, index)


def given(devices: Devices, *names: str, on: int = 0, nodes: int = 1) -> list[str] | str:
    """The devices that a node gives, or why it gives none."""
    found = attempt_for(devices, *names, nodes=nodes).on(on)
    if found.reason:
        return found.reason
    return [one.device for claim in found.claims if claim.allocation for one in claim.allocation.devices]
