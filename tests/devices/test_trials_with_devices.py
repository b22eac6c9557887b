"""A pod with claims fits where the allocator finds devices, and holds them until it is gone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.placing.attempts import Drawing, is_modelled, pods_left
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.scenario.devices.devices import devices_unknown
from kubesched_lint.engine.scenario.others.running import lasting_state
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scheduler.binding import bind
from kubesched_lint.engine.scheduler.framework import diagnose
from kubesched_lint.engine.scheduler.preemption.preemption import preempt
from kubesched_lint.explaining.crowding.waiting import waiting_everywhere
from kubesched_lint.sources.clusters.read import cluster_from
from tests.devices.inventories import DRIVER
from tests.devices.sets import (
    GPU_CLASS,
    Value,
    claim,
    cluster_of,
    devices_on,
    node,
    scenario_of,
    template,
    using,
)
from tests.events.simulated import other, workload

NODES = (node("n0"), node("n1"), GPU_CLASS)


def waiting(scenario: Scenario) -> list[tuple[str, int, str]]:
    return [(found.workload.name, found.fewest, found.message) for found in waiting_everywhere(scenario)]


def feasible(scenario: Scenario, state: ClusterState) -> list[str]:
    return state.index.names_of(diagnose(scenario.member(scenario.manifests.workloads[0]).pod, state).feasible)


def test_replicas_beyond_the_devices_wait() -> None:
    scenario = scenario_of(cluster_of(*NODES, devices_on("n0", 2), devices_on("n1", 1)), template(), using(4))
    ((name, fewest, message),) = waiting(scenario)
    assert (name, fewest) == ("train", 1)
    assert message.startswith("0/2 nodes are available: 2 cannot allocate all claims.")
    assert not waiting(scenario_of(cluster_of(*NODES, devices_on("n0", 3)), template(), using(3)))


def test_devices_are_held_until_the_pod_is_gone() -> None:
    scenario = scenario_of(cluster_of(*NODES, devices_on("n0", 1)), template(), using(2))
    state, pod = lasting_state(scenario), scenario.member(scenario.manifests.workloads[0]).pod
    mark = state.mark()
    assert feasible(scenario, state) == ["n0"]
    placed = bind(pod, 0, state)
    assert feasible(scenario, state) == []
    state.remove(placed)
    assert feasible(scenario, state) == ["n0"]
    bind(pod, 0, state)
    state.undo(mark)
    assert feasible(scenario, state) == ["n0"]


def test_on_trial_the_claims_of_victims_keep_their_devices() -> None:
    scenario = scenario_of(cluster_of(*NODES, devices_on("n0", 1)), template(), using(1))
    state, pod = lasting_state(scenario), scenario.member(scenario.manifests.workloads[0]).pod
    placed = bind(pod, 0, state)
    state.set_aside(placed)
    assert feasible(scenario, state) == []
    state.restore(placed)
    state.remove(placed)
    assert feasible(scenario, state) == ["n0"]


@pytest.mark.parametrize("fails", [False, True])
def test_an_error_ends_the_attempt_before_preemption(fails: bool) -> None:
    """n1 is full of a pod of lower priority; on n0 the selector finds a device that lacks what it reads."""
    large = {"cel": {"expression": f'device.attributes["{DRIVER}"].size > 1'}}
    small = {} if fails else {"attributes": {"size": {"int": 1}}}
    objects = (devices_on("n0", 1, **small), devices_on("n1", 1, attributes={"size": {"int": 2}}))
    scenario = scenario_of(cluster_of(*NODES, *objects), template(selectors=[large]), using(1, cpu="3"))
    state, pod = lasting_state(scenario), replace(scenario.member(scenario.manifests.workloads[0]).pod, priority=10)
    bind(replace(pod, resource_claims=(), priority=0), 1, state)
    found = diagnose(pod, state)
    assert (not found.feasible, bool(found.error)) == (True, fails)
    assert (preempt(pod, found, state).chosen is None) is fails


def test_the_claims_of_running_pods_take_their_devices() -> None:
    objects = (*NODES, devices_on("n0", 1), *running("old", "n0"))
    assert waiting(scenario_of(cluster_of(*objects), template(), using(1)))[0][:2] == ("train", 1)


def test_a_shared_claim_pins_its_pods_to_the_node_of_the_first() -> None:
    shared = {"resourceClaimName": "gpu"}
    small = (node("n0", "1"), node("n1", "1"), GPU_CLASS, devices_on("n0", 1), devices_on("n1", 1))
    assert not waiting(scenario_of(cluster_of(*small), claim(), using(2, cpu="400m", **shared)))
    ((_, fewest, message),) = waiting(scenario_of(cluster_of(*small), claim(), using(2, cpu="600m", **shared)))
    assert fewest == 1
    assert "resourceclaim not available on the node" in message
    assert not waiting(scenario_of(cluster_of(*small), template(), using(2, cpu="600m")))


def test_a_missing_template_keeps_its_pods_from_every_node() -> None:
    ((name, fewest, _),) = waiting(scenario_of(cluster_of(*NODES, devices_on("n0", 1)), using(1)))
    assert (name, fewest) == ("train", 1)


def test_runs_that_try_to_beat_a_proof_count_devices() -> None:
    scenario = scenario_of(cluster_of(*NODES, devices_on("n0", 2)), template(), using(3))
    (workload,) = scenario.manifests.workloads
    assert is_modelled(scenario.member(workload))
    assert pods_left(scenario, [workload], Drawing(0).any_fit) == {workload: 1}
    unknown = scenario_of(cluster_of(node("n0"), kinds=("Node", "Pod")), template(), using(3))
    assert not is_modelled(unknown.member(unknown.manifests.workloads[0]))


def by_resource(replicas: int, amount: int = 1) -> Value:
    """A workload that requests an extended resource."""
    spec = {"containers": [{"name": "c", "resources": {"limits": {"example.com/gpu": str(amount)}}}]}
    return workload("Deployment", "train", replicas, spec)


def serving(**more: Any) -> Value:
    return {**GPU_CLASS, "spec": {**GPU_CLASS["spec"], "extendedResourceName": "example.com/gpu", **more}}


def test_a_class_serves_an_extended_resource() -> None:
    cluster = cluster_of(node("n0"), node("n1"), serving(), devices_on("n0", 2), devices_on("n1", 1))
    assert not waiting(scenario_of(cluster, by_resource(3)))
    assert [found[:2] for found in waiting(scenario_of(cluster, by_resource(4)))] == [("train", 1)]
    assert [found[:2] for found in waiting(scenario_of(cluster, by_resource(2, amount=2)))] == [("train", 1)]


def plugged(name: str, count: int) -> Value:
    """A node whose device plugin offers the extended resource."""
    found = node(name)
    found["status"]["allocatable"]["example.com/gpu"] = str(count)
    return found


def test_on_each_node_its_device_plugin_comes_before_the_class() -> None:
    """n2 has devices too, but its plugin offers the resource, so that they serve claims only."""
    objects = (node("n0"), plugged("n2", 2), serving(), devices_on("n0", 2), devices_on("n2", 5))
    scenario = scenario_of(cluster_of(*objects), by_resource(4))
    assert not devices_unknown(scenario)
    assert not waiting(scenario)
    ((_, fewest, message),) = waiting(scenario_of(cluster_of(*objects), by_resource(5)))
    assert fewest == 1
    assert message.startswith("0/2 nodes are available: 1 Insufficient example.com/gpu, 1 cannot allocate all claims.")
    assert not waiting(scenario_of(cluster_of(*objects), by_resource(4), template(), using(5, "serve")))


def test_no_devices_need_to_be_known_where_all_nodes_have_the_plugin() -> None:
    cluster = cluster_of(plugged("n0", 2), serving(), kinds=("Node", "Pod", "DeviceClass"))
    assert not devices_unknown(scenario_of(cluster, by_resource(2)))
    assert [found[:2] for found in waiting(scenario_of(cluster, by_resource(3)))] == [("train", 1)]


def test_where_a_sketch_leaves_resources_out_it_is_unknown_who_serves_one() -> None:
    bare = {**node("n0"), "status": {}}
    scenario = scenario_of(cluster_of(bare, serving(), devices_on("n0", 2)), by_resource(3))
    assert devices_unknown(scenario).startswith("which nodes offer example.com/gpu by a device plugin")
    assert not waiting(scenario)


def running(name: str, on: str) -> tuple[Value, Value]:
    """A running pod of somebody, and its claim, which has the first device of the node."""
    pod = other("Pod", name, spec={"nodeName": on, "containers": [{"name": "c"}]})
    found = claim(f"{name}-gpu-x")
    found["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": name, "controller": True}]
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": on, "device": "gpu-0"}
    reserved = [{"resource": "pods", "name": name, "uid": name}]
    return pod, {**found, "status": {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved}}


POOL = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- name: big
  count: 1
  allocatable: {cpu: 16, memory: 64Gi}
  devices: [{class: gpu, driver: gpu.example.com, count: 4}]
pools:
- name: more
  shapes: [{name: s, capacity: {cpu: 16, memory: 64Gi}}]
"""
STATED = POOL + "  devices: [{class: gpu, driver: gpu.example.com, count: 4}]\n"


@pytest.mark.parametrize(("text", "grown"), [(POOL, []), (STATED, [1])])
def test_nodes_of_pools_have_devices_only_if_somebody_says_so(text: str, grown: list[int]) -> None:
    scenario = scenario_of(cluster_from([("c.yaml", text.encode())], "c.yaml"), template(count=2), using(3))
    assert bool(devices_unknown(scenario)) is not bool(grown)
    assert [verdict.grown for verdict in growth_plan(scenario).verdicts] == grown
