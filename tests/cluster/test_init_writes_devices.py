"""`init` writes the devices of a cluster so that claims get the same ones, or says why it leaves them out."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.devices.devices import ResourceSlice
from kubesched_lint.engine.scheduler.devices.failures import UndecidedError
from kubesched_lint.engine.scheduler.devices.selectors.selectors import Selectors
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.sketches.sketching import Style, sketch_of

D = "gpu.acme.com"
V1 = {"apiVersion": "resource.k8s.io/v1"}


def gpu(node: str, i: int, **more: Any) -> dict[str, Any]:
    attributes = {
        "model": {"string": "a100"},
        "index": {"int": i},
        "uuid": {"string": f"GPU-{node}-{i}"},
        "firmware": {"version": "1.2.3"},
        "healthy": {"bool": True},
    }
    return {"name": f"gpu-{i}", "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}, **more}


def device_slice(node: str, devices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    pool = {"name": node, "generation": 7, "resourceSliceCount": 1}
    spec = {"driver": D, "pool": pool, "nodeName": node, "devices": devices, **more}
    spec = {key: value for key, value in spec.items() if value is not None}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"s-{node}"},
        "spec": spec,
    }


def device_class(name: str, expression: str, **spec: Any) -> dict[str, Any]:
    selectors = [{"cel": {"expression": expression}}]
    meta = {"name": name}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": meta,
        "spec": {"selectors": selectors, **spec},
    }


def cluster(*objects: dict[str, Any]) -> Cluster:
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": "8"}}}
        for name in ("n1", "n2", "n3")
    ]
    return cluster_from([("c.json", json.dumps({"kind": "List", "items": [*nodes, *objects]}).encode())], "c.json")


def again(text: str) -> Cluster:
    return cluster_from([("s.yaml", text.encode())], "s.yaml")


def offers(found: Cluster) -> list[Any]:
    """Return what decides about claims: drivers and devices of each node, but for names."""

    def of(each: ResourceSlice) -> Any:
        return each.driver, [(d.attributes, d.capacity, d.taints, d.is_shared) for d in each.devices]

    return sorted((of(each) for each in found.inventory.resource_slices), key=repr)


FLEET = (
    *(device_slice(node, [gpu(node, i) for i in range(4)]) for node in ("n1", "n2")),
    device_class(D, f"device.driver == '{D}'"),
    device_class("big", 'device.capacity["gpu.acme.com"].memory.compareTo(quantity("40Gi")) >= 0'),
)


def test_equal_nodes_with_equal_devices_are_one_entry_of_one_line() -> None:
    text = sketch_of(cluster(*FLEET))
    (line,) = [line for line in text.splitlines() if line.startswith("  - {")]
    attributes = 'model: a100, index: [0, 1, 2, 3], uuid: {own: true}, firmware: {version: "1.2.3"}, healthy: true'
    head, tail = f"{{class: {D}, name: gpu, count: 4, attributes: ", "capacity: {memory: 80Gi}}"
    assert line == f"  - {head}{{{attributes}}}, {tail}"
    sketch = yaml.safe_load(text)
    assert [entry.get("count", 1) for entry in sketch["nodes"]] == [2, 1]
    assert [item["metadata"]["name"] for item in sketch["objects"]] == ["big"]


def test_an_exact_sketch_has_the_very_devices() -> None:
    found = cluster(*FLEET)
    made = again(sketch_of(found, Style(exact=True)))
    assert offers(made) == offers(found)
    assert {c.name for c in made.inventory.device_classes} == {D, "big"}
    assert again(sketch_of(made, Style(exact=True))).inventory.device_classes == made.inventory.device_classes


def test_what_a_short_sketch_does_not_state_is_unknown() -> None:
    made = again(sketch_of(cluster(*FLEET)))
    (one, _) = made.inventory.resource_slices
    with pytest.raises(UndecidedError, match="uuid, whose value the sketch does not state"):
        Selectors().matches(f'device.attributes["{D}"].uuid == "GPU-n1-0"', D, one.devices[0])
    with pytest.raises(UndecidedError):
        Selectors().matches(f'device.attributes["{D}"].exists(key, key == "x")', D, one.devices[0])
    assert Selectors().matches(f'device.driver == "{D}"', D, one.devices[0])
    assert len({device.attributes["uuid"] for device in one.devices}) == 4, "they differ"


def test_a_class_of_an_extended_resource_is_written_whole() -> None:
    found = cluster(device_class("gpu", "true", extendedResourceName="acme.com/gpu"))
    (made,) = again(sketch_of(found)).inventory.device_classes
    assert (made.name, made.selectors, made.extended_resource) == ("gpu", ("true",), "acme.com/gpu")


def test_taints_and_sharing_are_written() -> None:
    taint = [{"key": "k", "value": "v", "effect": "NoExecute"}]
    found = cluster(device_slice("n1", [gpu("n1", 0, taints=taint, allowMultipleAllocations=True), gpu("n1", 1)]))
    assert offers(again(sketch_of(found, Style(exact=True)))) == offers(found)


COUNTERS = [{"name": "s", "counters": {"slots": {"value": "4"}}}]
POLICY = {"memory": {"value": "80Gi", "requestPolicy": {"default": "1Gi", "validValues": ["1Gi"]}}}


@pytest.mark.parametrize(
    ("rich", "reason"),
    [
        (device_slice("n1", [], sharedCounters=COUNTERS), "partitions with shared counters"),
        (device_slice("n1", [gpu("n1", 0)], nodeName=None, allNodes=True), "is not for one node"),
        (device_slice("n1", [gpu("n1", 0)], pool={"name": "n1", "resourceSliceCount": 2}), "is incomplete"),
        (device_slice("n1", [gpu("n1", 0, capacity=POLICY)]), "request policy"),
        (device_slice("n1", [gpu("n1", 0, bindingConditions=["Ready"])]), "binding conditions"),
        (device_slice("n1", [gpu("n1", 0, attributes={"x": {"ints": [1]}})]), "attributes that are lists"),
    ],
)
def test_devices_that_no_line_can_say_are_left_out_with_the_reason(rich: dict[str, Any], reason: str) -> None:
    text = sketch_of(cluster(rich, device_slice("n2", [gpu("n2", 0)])))
    assert reason in text
    assert "left out" in text
    made = again(text)
    assert not made.inventory.resource_slices
    assert not made.has("ResourceSlice"), "unknown, not none"
