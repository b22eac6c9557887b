"""What is known of the devices of a scenario, and what has to be known before the allocator is asked."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.base import extras
from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.scenario.devices.devices import allocator_of, devices_of, devices_unknown
from kubesched_lint.engine.scenario.premises.device_premises import pod_premises
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.engine.scheduler.devices.selectors import selectors
from kubesched_lint.explaining.devices.requests import must_know_devices
from tests.devices.sets import (
    GPU_CLASS,
    KINDS,
    Value,
    claim,
    cluster_of,
    devices_on,
    manifests_of,
    node,
    scenario_of,
    template,
    using,
    wanting,
)
from tests.events.simulated import other

NODES = (node("n0"), node("n1"))
ALLOCATION = {
    "devices": {"results": [{"request": "gpu", "driver": "gpu.example.com", "pool": "n0", "device": "gpu-0"}]}
}


def held(name: str, *pods: str, owner: str = "") -> Value:
    """A claim of the cluster that has the first device of n0."""
    found = claim(name)
    found["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": owner, "controller": True}] if owner else []
    reserved = [{"resource": "pods", "name": pod, "uid": pod} for pod in pods]
    return {**found, "status": {"allocation": ALLOCATION, "reservedFor": reserved}}


def test_a_scenario_has_the_objects_of_manifests_and_cluster() -> None:
    scenario = scenario_of(cluster_of(*NODES, GPU_CLASS, devices_on("n0", 2)), template(), claim("shared"), using(1))
    found = devices_of(scenario)
    assert found is not None
    assert (list(found.classes), [s.name for s in found.slices]) == (["gpu"], ["n0-gpus"])
    assert (list(found.templates), list(found.claims)) == ([("default", "gpu")], [("default", "shared")])
    assert not devices_unknown(scenario)


def test_a_scenario_without_devices_has_none() -> None:
    scenario = scenario_of(cluster_of(*NODES), {**using(1), "kind": "ReplicaSet"})
    assert devices_of(scenario) is None
    assert devices_of(scenario_of(cluster_of(*NODES, GPU_CLASS, devices_on("n0", 1)))) is not None
    assert not allocator_of(scenario_of(cluster_of(*NODES, GPU_CLASS, devices_on("n0", 1))))


def test_a_manifest_does_not_take_the_allocation_of_the_clusters_claim() -> None:
    scenario = scenario_of(cluster_of(*NODES, held("shared", "p")), claim("shared"))
    found = devices_of(scenario)
    assert found is not None
    assert found.claims["default", "shared"].allocation is not None


def test_only_pods_that_are_there_hold_devices() -> None:
    objects = (*NODES, GPU_CLASS, held("shared", "a", "b"), held("own", "a", owner="a"), held("idle"))
    scenario = scenario_of(cluster_of(*objects, devices_on("n0", 1)), template(), using(1))
    known = devices_of(scenario)
    assert known is not None
    both = known.held_by([("default", "a"), ("default", "b")])
    assert both is known
    one = known.held_by([("default", "b")])
    assert one.claims["default", "shared"].reserved_for == ("b",)
    assert one.claims["default", "shared"].allocation is not None
    assert ("default", "own") not in one.claims
    none = known.held_by([("other", "a")])
    assert none.claims["default", "shared"].allocation is None
    assert none.claims["default", "idle"].allocation is not None


@pytest.mark.parametrize(
    ("kinds", "objects", "says"),
    [
        (KINDS, (GPU_CLASS, devices_on("n0", 1)), ""),
        (KINDS[:-3], (GPU_CLASS,), "which devices the nodes have: the cluster's file holds no ResourceSlice"),
        ((*KINDS[:-3], "ResourceSlice"), (GPU_CLASS,), ""),
        (tuple(k for k in KINDS if k != "DeviceClass"), (devices_on("n0", 1),), "whether DeviceClass gpu exists"),
    ],
)
def test_what_the_allocator_would_have_to_know(kinds: tuple[str, ...], objects: tuple[Value, ...], says: str) -> None:
    found = devices_unknown(scenario_of(cluster_of(*NODES, *objects, kinds=kinds), template(), using(1)))
    assert says in found if says else not found


@pytest.mark.parametrize(
    ("version", "more", "is_unknown"),
    [
        ("1.35", {"capacity": {"requests": {"memory": "1Gi"}}}, True),
        ("1.36", {"capacity": {"requests": {"memory": "1Gi"}}}, False),
        ("1.35", {}, False),
    ],
)
def test_an_older_server_may_drop_what_a_claim_asks_for(version: str, more: Value, is_unknown: bool) -> None:
    cluster = cluster_of(*NODES, GPU_CLASS, devices_on("n0", 1, capacity={"memory": {"value": "1Gi"}}))
    premises = Premises(kubernetes_version=version)
    scenario = Scenario(manifests_of(template(**more), using(1)).inventory, cluster, premises)
    gate = f"whether the gate DRAConsumableCapacity is on, which is no default in {version}"
    assert devices_unknown(scenario) == (gate if is_unknown else "")
    stored = Scenario(manifests_of(using(1)).inventory, cluster_of(*NODES, GPU_CLASS, template(**more)), premises)
    assert "gate" not in devices_unknown(stored), "the server kept what it has stored"


FOREVER = {"operator": "Exists", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("tolerations", "is_unknown"),
    [
        ([], False),  # the scheduler passes the device over
        ([FOREVER], False),
        ([{"operator": "Exists"}], True),  # the scheduler gives the device, and the pod is evicted at once
        ([{**FOREVER, "tolerationSeconds": 60}], True),
    ],
)
def test_noexecute_taints_matter_only_to_pods_that_may_be_evicted(tolerations: list[Value], is_unknown: bool) -> None:
    cluster = cluster_of(*NODES, GPU_CLASS, devices_on("n0", 1, taints=[{"key": "k", "effect": "NoExecute"}]))
    found = devices_unknown(scenario_of(cluster, template(tolerations=tolerations), using(1)))
    assert found == ("which pods leave devices with a NoExecute taint" if is_unknown else "")


def test_a_running_pod_with_a_device_of_a_noexecute_taint_may_leave_it() -> None:
    tainted = devices_on("n0", 1, taints=[{"key": "k", "effect": "NoExecute"}])
    cluster = cluster_of(*NODES, GPU_CLASS, tainted, held("old", "pod"))
    assert (
        devices_unknown(scenario_of(cluster, template(), using(1))) == "which pods leave devices with a NoExecute taint"
    )


@pytest.mark.parametrize("effect", ["NoExecute", "", "NoSchedule"])
def test_a_running_pod_stays_only_if_its_request_tolerates_the_taint(effect: str) -> None:
    tainted = devices_on("n0", 1, taints=[{"key": "k", "effect": "NoExecute"}])
    running = held("old", "pod")
    toleration = {"operator": "Exists", "effect": effect} if effect else {"operator": "Exists"}
    running["spec"] = {"devices": wanting(tolerations=[toleration])}
    found = devices_unknown(scenario_of(cluster_of(*NODES, GPU_CLASS, tainted, running), template(), using(1)))
    assert bool(found) is (effect != "NoExecute")


def test_binding_conditions_are_assumed_for_pods_that_may_get_the_device() -> None:
    slow = devices_on("n0", 1, bindingConditions=["ready"])
    other_class = {**GPU_CLASS, "spec": {"selectors": [{"cel": {"expression": 'device.driver == "nic"'}}]}}

    def premises(device_class: Value) -> list[str]:
        scenario = scenario_of(cluster_of(*NODES, device_class, slow), template(), using(1))
        assert not devices_unknown(scenario)
        return list(pod_premises(scenario.member(scenario.manifests.workloads[0])))

    assert premises(GPU_CLASS) == ["drivers make devices with binding conditions ready in time"]
    assert premises(other_class) == []


def test_rules_of_the_manifests_taint_devices_on_an_assumption() -> None:
    """Their gate is off by default; a rule that the cluster has shows that it is on."""
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    rule = other("DeviceTaintRule", "broken", "resource.k8s.io/v1beta2", spec={"deviceSelector": {}, "taint": taint})

    def premises(*live: Value) -> str:
        scenario = scenario_of(cluster_of(*NODES, GPU_CLASS, devices_on("n0", 1), *live), template(), rule, using(1))
        return " ".join(pod_premises(scenario.member(scenario.manifests.workloads[0])))

    assert "DRADeviceTaintRules" in premises()
    assert "DRADeviceTaintRules" not in premises(rule)


def test_a_slice_of_the_manifests_does_not_tell_what_the_cluster_has() -> None:
    cluster = cluster_of(*NODES, GPU_CLASS, kinds=tuple(kind for kind in KINDS if kind != "ResourceSlice"))
    scenario = scenario_of(cluster, template(), devices_on("n0", 1), using(2))
    assert devices_unknown(scenario) == "which devices the nodes have: the cluster's file holds no ResourceSlice"
    with pytest.raises(UncheckedError, match="needs devices"):
        must_know_devices(scenario.member(scenario.manifests.workloads[0]))


def test_a_template_that_may_exist_is_unknown_and_a_missing_one_is_known() -> None:
    known = scenario_of(cluster_of(*NODES, GPU_CLASS, devices_on("n0", 1)), using(1))
    assert not devices_unknown(known)
    open_ = scenario_of(cluster_of(*NODES, GPU_CLASS, devices_on("n0", 1), kinds=KINDS[:-1]), using(1))
    assert devices_unknown(open_) == "whether ResourceClaimTemplate default/gpu exists"


def test_one_claim_named_twice_is_never_satisfied() -> None:
    twice = using(1)
    references = [{"name": name, "resourceClaimName": "shared"} for name in ("a", "b")]
    twice["spec"]["template"]["spec"]["resourceClaims"] = references
    scenario = scenario_of(cluster_of(*NODES, GPU_CLASS, devices_on("n0", 2)), claim("shared"), twice)
    assert (
        devices_unknown(scenario) == "whether a pod ever starts that names one ResourceClaim twice: its binding fails"
    )


def test_a_claim_whose_devices_no_pod_uses_may_be_freed() -> None:
    """A pod that cannot use them makes the scheduler free them; its next attempt allocates others."""
    cluster = cluster_of(*NODES, GPU_CLASS, devices_on("n0", 2), held("shared"))
    using_it = using(1, resourceClaimName="shared")
    assert devices_unknown(scenario_of(cluster, using_it)).startswith(
        "when the scheduler frees ResourceClaim default/shared"
    )
    used = cluster_of(*NODES, GPU_CLASS, devices_on("n0", 2), held("shared", "other"))
    assert not devices_unknown(scenario_of(used, using_it))


def test_before_1_34_the_gate_decides() -> None:
    cluster = cluster_of(*NODES, GPU_CLASS, devices_on("n0", 1))
    scenario = scenario_of(cluster, template(), using(1))
    old = Scenario(scenario.manifests, cluster, Premises(kubernetes_version="1.33"))
    assert "DynamicResourceAllocation" in devices_unknown(old)


def test_a_selector_that_cannot_be_evaluated_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    picky = template(selectors=[{"cel": {"expression": 'device.attributes["gpu.example.com"].model == "a"'}}])
    assert not devices_unknown(scenario_of(cluster_of(*NODES, GPU_CLASS, devices_on("n0", 1)), picky, using(1)))
    monkeypatch.setattr(selectors, "has_cel", lambda: False)
    found = devices_unknown(scenario_of(cluster_of(*NODES, GPU_CLASS, devices_on("n0", 1)), picky, using(1)))
    assert found.startswith("which devices are meant: ")
    assert extras.CEL_NEEDED in found
