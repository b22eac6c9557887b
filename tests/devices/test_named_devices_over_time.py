"""Devices over time, where it matters which of them a pod holds."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, UNKNOWN, Cell
from kubesched_lint.engine.events.states.device_holdings import Holdings
from kubesched_lint.engine.events.states.states import PodTypes, empty, with_bound
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.devices.devices import allocator_of
from tests.devices.inventories import DRIVER
from tests.devices.sets import (
    API,
    GPU_CLASS,
    Value,
    alternative,
    asking_for,
    cluster_of,
    devices_on,
    exactly,
    node,
    scenario_of,
    template,
    using,
    with_models,
)
from tests.devices.test_simulate_with_devices import deployed, short, simulated
from tests.events.simulated import cell, other

MATCH = [{"matchAttribute": f"{DRIVER}/model"}]
EITHER = asking_for({"name": "gpu", "firstAvailable": [alternative("a", 2), alternative("any")]})
AN_A = {**asking_for(exactly(selectors=alternative("a")["selectors"])), "metadata": {"name": "an-a"}}
ANY = {**template(), "metadata": {"name": "any"}}


def of_all_nodes(*models: str) -> Value:
    found = devices_on("far", len(models))
    del found["spec"]["nodeName"]
    for device, model in zip(found["spec"]["devices"], models, strict=True):
        device["attributes"] = {"model": {"string": model}}
    return {**found, "spec": {**found["spec"], "allNodes": True}}


def test_an_alternative_is_chosen_by_what_is_free() -> None:
    assert short(deployed(EITHER, using(2), cluster=with_models("aa", "b"))) == (FINE, True, 2, 2)
    found = deployed(EITHER, using(3), cluster=with_models("aa", "b"))
    assert short(found) == (BAD, False, 2, 2)  # another allocator might give each pod one device
    assert short(deployed(EITHER, using(4), cluster=with_models("aa", "b")))[:2] == (BAD, True)


def test_a_constraint_needs_two_free_devices_of_one_model() -> None:
    alike = asking_for(exactly(count=2), constraints=MATCH)
    serve = using(1, "serve", resourceClaimTemplateName="any")
    result = simulated(alike, ANY, using(1), serve, cluster=with_models("aab", ""), events=("deploy",))
    assert short(cell(result, "train", "deploy")) == (DEPENDS, False, 0, 1)
    result = simulated(alike, ANY, using(1), serve, cluster=with_models("aaab", ""), events=("deploy",))
    assert short(cell(result, "train", "deploy")) == (FINE, True, 1, 1)


def test_a_pod_may_take_the_device_that_only_another_could_use() -> None:
    serve = using(1, "serve", resourceClaimTemplateName="any")
    ordered = simulated(AN_A, ANY, using(1, resourceClaimTemplateName="an-a"), serve, cluster=with_models("ba", ""))
    found = cell(ordered, "train", "deploy")
    assert short(found) == (FINE, False, 1, 1)  # the allocator takes the b first; another need not
    assert "for the default scheduler" in found.why
    swapped = simulated(AN_A, ANY, using(1, resourceClaimTemplateName="an-a"), serve, cluster=with_models("ab", ""))
    assert short(cell(swapped, "train", "deploy")) == (DEPENDS, False, 0, 1)


def test_a_pod_that_goes_frees_its_own_devices() -> None:
    """After a rollout by Recreate nothing is held; with a surge it matters what old pods still hold."""
    alike = asking_for(exactly(count=2), constraints=MATCH)
    recreated = using(1)
    recreated["spec"]["strategy"] = {"type": "Recreate"}
    result = simulated(alike, recreated, cluster=with_models("aab", ""), events=("rollout",))
    assert short(cell(result, "train", "rollout"))[:2] == (FINE, True)
    surging = using(1)
    surging["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    stuck = cell(simulated(alike, surging, cluster=with_models("aab", ""), events=("rollout",)), "train", "rollout")
    assert (stuck.verdict, stuck.stuck) == (BAD, True)


def test_a_device_of_all_nodes_is_free_again_after_the_loss_of_a_node() -> None:
    result = simulated(template(), using(1), cluster=(of_all_nodes("a"),), events=("node-loss", "drain"))
    assert short(cell(result, "train", "node-loss").deleted) == (FINE, True, 1, 1)
    assert short(cell(result, "train", "drain")) == (FINE, True, 1, 1)
    assert short(deployed(template(), using(2), cluster=(of_all_nodes("a"),))) == (BAD, True, 1, 1)


def test_running_pods_hold_the_devices_of_the_snapshot() -> None:
    """Old pods of the workload hold an a; the surge finds the b."""
    claim = other("ResourceClaim", "old-gpu-x", API, spec={"devices": {"requests": [exactly()]}})
    claim["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "old", "controller": True}]
    result = {"request": "gpu", "driver": DRIVER, "pool": "n0"}
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]
    selector = {"nodeSelectorTerms": [{"matchFields": fields}]}
    pod = other("Pod", "old", spec={"nodeName": "n0", "containers": [{"name": "c"}], "resourceClaims": []})
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "any"}]
    pod["status"] = {"phase": "Running"}

    def told(device: str) -> Cell:
        allocation = {"devices": {"results": [{**result, "device": device}]}, "nodeSelector": selector}
        reserved = [{"resource": "pods", "name": "old", "uid": ""}]
        held = {**claim, "status": {"allocation": allocation, "reservedFor": reserved}}
        cluster = (*with_models("ab", ""), held, pod)
        wanted = using(1, resourceClaimTemplateName="an-a")
        return deployed(AN_A, ANY, using(1, "serve", resourceClaimTemplateName="any"), wanted, cluster=cluster)

    assert short(told("gpu-0")) == (BAD, True, 0, 0)
    assert told("gpu-1").verdict == DEPENDS


def partitions(*amounts: int, card: int = 4) -> tuple[Value, ...]:
    """Partitions of one card of n0, each with what it takes of the card."""
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 2}

    def units(amount: int) -> Value:
        return {"counters": {"memory": {"value": str(amount)}}}

    devices = [
        {"name": f"part-{i}", "consumesCounters": [{"counterSet": "card", **units(amount)}]}
        for i, amount in enumerate(amounts)
    ]
    spec = {"driver": DRIVER, "pool": pool, "nodeName": "n0"}
    counters = other(
        "ResourceSlice", "n0-card", API, spec={**spec, "sharedCounters": [{"name": "card", **units(card)}]}
    )
    return counters, other("ResourceSlice", "n0-parts", API, spec={**spec, "devices": devices})


def test_partitions_are_followed_as_the_allocator_takes_them() -> None:
    assert short(deployed(template(), using(2), cluster=partitions(2, 2, 1, 1))) == (FINE, False, 2, 2)
    assert short(deployed(template(), using(3), cluster=partitions(2, 2, 1, 1))) == (BAD, False, 2, 2)
    assert short(deployed(template(), using(3), cluster=partitions(1, 1, 2, 2))) == (FINE, False, 3, 3)


def test_shares_of_a_device_are_followed() -> None:
    shared = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "4"}}}
    half = asking_for(exactly(capacity={"requests": {"memory": "2"}}))
    assert short(deployed(half, using(2), cluster=(devices_on("n0", 1, **shared),))) == (FINE, False, 2, 2)
    assert deployed(half, using(3), cluster=(devices_on("n0", 1, **shared),)).bound.most == 2


def test_pods_keep_their_devices_when_other_ordinals_are_left() -> None:
    """Which of two pods went is unknown, so it is also unknown which device the other one has."""
    wanted = using(2, kind="StatefulSet", resourceClaimTemplateName="any")
    scenario = scenario_of(cluster_of(node("n0"), GPU_CLASS, *with_models("ab")), ANY, wanted, using(1, "serve"), AN_A)
    setting, pod_types = simulated_set_of(scenario), PodTypes()
    number = pod_types.join(setting.workloads[0], setting.pods[0], None)
    both, first = pod_types.pool(number, 0, (0, 1)), pod_types.slot(number, 0, 0)
    (devices,) = allocator_of(scenario)
    holdings = Holdings(pod_types, setting.index, devices, lambda _: setting.pods[0], every=False)
    (full,) = holdings.settled(with_bound(empty(1, names_devices=True), 0, both, 2))
    left = holdings.settled(with_bound(with_bound(full, 0, both, -2), 0, first, 1))
    kept = [holdings.devices(state).claims.values() for state in left]
    names = {one.device for claims in kept for claim in claims if claim.allocation for one in claim.allocation.devices}
    assert len(kept) == 2
    assert names == {"gpu-0", "gpu-1"}


def test_preemption_frees_devices_but_does_not_count_on_them() -> None:
    """On trial, the victim keeps its device, so the pod must find another one of its model beside it."""
    ranks = [
        other("PriorityClass", name, "scheduling.k8s.io/v1", value=value) for name, value in (("low", 1), ("high", 9))
    ]
    low = using(1, "serve", "3", resourceClaimTemplateName="any")
    high = using(1, cpu="3", resourceClaimTemplateName="an-a")
    low["spec"]["template"]["spec"]["priorityClassName"] = "low"
    high["spec"]["template"]["spec"]["priorityClassName"] = "high"

    def told(models: str, name: str) -> tuple[str, int, int]:
        result = simulated(AN_A, ANY, *ranks, low, high, cluster=with_models(models, ""), events=("deploy",))
        found = short(cell(result, name, "deploy"))
        return found[0], *found[2:]

    assert told("aab", "train") == (FINE, 1, 1)
    assert told("aab", "serve") == (BAD, 0, 0)
    assert told("ab", "train") == (DEPENDS, 0, 1)
    assert told("ab", "serve") == (DEPENDS, 0, 1)


# --- a selector that fails on a device --------------------------------------------------------------------------------


def picky() -> Value:
    return {**template("picky"), "spec": {"spec": {"devices": {"requests": [exactly(selectors=[LARGE])]}}}}


LARGE = {"cel": {"expression": f'device.attributes["{DRIVER}"].size > 1'}}
SIZED = devices_on("n0", 1, attributes={"size": {"int": 2}})


def test_a_selector_that_fails_on_a_free_device_keeps_its_pods_from_every_node() -> None:
    found = deployed(picky(), using(1, resourceClaimTemplateName="picky"), cluster=(SIZED, devices_on("n1", 1)))
    assert (found.verdict, found.bound.least, found.bound.most) == (BAD, 0, 0)
    assert "no such key: size" in found.message


def test_a_device_that_another_pod_holds_is_not_asked() -> None:
    other = using(1, "serve")
    other["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n1"}
    pods = picky(), template(), using(1, resourceClaimTemplateName="picky"), other
    assert deployed(*pods, cluster=(SIZED, devices_on("n1", 1))).verdict == FINE
    assert deployed(*pods, cluster=(SIZED, devices_on("n1", 2))).verdict == BAD


# --- what stays unknown -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objects", "cluster", "why"),
    [
        ((EITHER, using(1)), with_models("ab" * 33, ""), "66 are too many to follow each (most: 64)"),
        (
            (EITHER, using(1)),
            (*with_models("aa", ""), *(node(f"m{i}") for i in range(23))),
            "there are more than 24 nodes",
        ),
    ],
)
def test_what_is_not_followed_says_which_feature(objects: Any, cluster: Any, why: str) -> None:
    found = deployed(*objects, cluster=cluster)
    assert found.verdict == UNKNOWN
    assert any(each.startswith("which devices its pods hold over time: ") and why in each for each in found.missing)
