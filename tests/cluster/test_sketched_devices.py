"""A sketch says in one line what devices each node has, and its mistakes have a line and a column."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.model.devices.devices import Device, ResourceSlice
from kubesched_lint.sources.clusters.read import cluster_from

HEAD = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n"


def read(text: str) -> Cluster:
    return cluster_from([("c.yaml", (HEAD + text).encode())], "c.yaml")


def entry(lines: str) -> Cluster:
    return read(f"nodes:\n- {{name: x, devices: {lines}}}\n")


def slices(cluster: Cluster) -> dict[str, ResourceSlice]:
    return {each.name: each for each in cluster.inventory.resource_slices}


def devices(lines: str) -> list[Device]:
    return [device for each in entry(lines).inventory.resource_slices for device in each.devices]


def test_each_node_of_an_entry_has_a_slice_of_its_own() -> None:
    found = slices(read("nodes:\n- {name: x, count: 2, zones: [a], devices: [{driver: d, count: 3}]}\n- {name: w}\n"))
    assert list(found) == ["x-a-1-d", "x-a-2-d"]
    one = found["x-a-1-d"]
    assert (one.driver, one.pool, one.access.node_name, one.generation, one.slice_count) == (
        "d",
        "x-a-1",
        "x-a-1",
        1,
        1,
    )
    assert [d.name for d in one.devices] == ["device-0", "device-1", "device-2"]


def test_a_line_says_all_that_selectors_read() -> None:
    (device,) = devices(
        "[{driver: d, name: g, attributes: {model: A100, index: 0, ok: true, v: {version: 1.2.3}, x.io/numa: 1}, "
        'capacity: {memory: 80Gi}, taints: ["k=v:None"], allowMultipleAllocations: true}]'
    )
    assert device.name == "g"
    assert device.attributes == {
        "model": ("string", "A100"),
        "index": ("int", 0),
        "ok": ("bool", True),
        "v": ("version", "1.2.3"),
        "x.io/numa": ("int", 1),
    }
    assert device.capacity["memory"].value == 80 << 30
    assert [(t.key, t.value, t.effect) for t in device.taints] == [("k", "v", "None")]
    assert device.is_shared


def test_lines_of_one_driver_share_a_slice_and_go_on_counting() -> None:
    cluster = entry("[{driver: d, count: 2}, {driver: e, name: nic}, {driver: d, attributes: {model: x}}]")
    found = slices(cluster)
    assert [d.name for d in found["x-d"].devices] == ["device-0", "device-1", "device-2"]
    assert [d.name for d in found["x-e"].devices] == ["nic"]


def test_a_class_implies_its_driver_and_selector() -> None:
    cluster = entry("[{class: gpu.acme.com}, {class: slow, driver: gpu.acme.com}]")
    assert [each.driver for each in cluster.inventory.resource_slices] == ["gpu.acme.com"]
    assert {c.name: c.selectors for c in cluster.inventory.device_classes} == dict.fromkeys(
        ("gpu.acme.com", "slow"), ('device.driver == "gpu.acme.com"',)
    )
    assert not cluster.has("DeviceClass"), "there may be others"


def test_a_class_among_the_objects_is_worth_more() -> None:
    objects = (
        "objects:\n- {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: c}, "
        'spec: {selectors: [{cel: {expression: "true"}}]}}\n'
    )
    cluster = read(f"nodes:\n- {{name: x, devices: [{{class: c}}]}}\n{objects}")
    assert [c.selectors for c in cluster.inventory.device_classes] == [("true",)]


def test_without_any_devices_they_are_unknown_and_with_some_they_are_all() -> None:
    assert not read("nodes:\n- {name: x}\n").has("ResourceSlice")
    assert entry("[]").has("ResourceSlice")
    assert entry("[]").inventory.resource_slices == ()


def test_the_nodes_that_a_pool_always_has_have_its_devices() -> None:
    machines = "min: 1, zones: [a], shapes: [m5.large]"
    cluster = read(f"pools:\n- {{name: p, {machines}, devices: [{{class: c, count: 2}}]}}\n- {{name: q}}\n")
    (pool, silent) = cluster.inventory.node_pools
    assert pool.devices is not None
    assert silent.devices is None, "unknown, not none"
    assert [len(each.devices) for each in cluster.inventory.resource_slices] == [2]


@pytest.mark.parametrize(
    ("lines", "column", "message"),
    [
        ("[{count: 2}]", 23, "Equal devices of a driver: its name, or a class of the same name, is required"),
        ("[{driver: d, cont: 2}]", 35, "unknown field: did you mean count?"),
        ("[{driver: d, count: 9999}]", 42, "Devices on each node, 0 to 1,024"),
        ("[{driver: d, attributes: {a: 1.5}}]", 51, "expected a"),
        ("[{driver: d, attributes: {a: {version: latest}}}]", 61, "A version such as 1.2.3 (semver.org)"),
        ("[{driver: d, capacity: {memory: lots}}]", 54, "lots"),
        ('[{driver: d, taints: ["k:PreferNoSchedule"]}]', 44, "effects are NoSchedule, NoExecute and None"),
        ("[{class: c, driver: d}, {class: c, driver: e}]", 46, "class c is of driver e here and of d in"),
        ("[{driver: d, name: g}, {driver: d, name: g}]", 63, "another device of this driver has the name g"),
    ],
)
def test_a_mistake_has_its_place(lines: str, column: int, message: str) -> None:
    with pytest.raises(ClusterError) as error:
        entry(lines)
    assert message in error.value.message
    assert (error.value.line, error.value.column) == (4, column)
