"""``why`` names the devices that a pod would get on each node, or what is in the way of each request."""

from __future__ import annotations

import json

import pytest

from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.commands.why.explain import Explanation
from kubesched_lint.engine.scheduler.devices import allocator
from kubesched_lint.report.findings.explanation import as_json, as_text
from tests.devices.sets import GPU_CLASS, Value, claim, cluster_of, devices_on, manifests_of, node, template, using
from tests.devices.test_trials_with_devices import by_resource, running

NODES = (node("n0"), node("n1"), GPU_CLASS)
MODEL = 'device.attributes["gpu.example.com"].model == "a"'


def why(name: str, *objects: Value, cluster: tuple[Value, ...], replica: int = 1) -> Explanation:
    return answer(Question(name, replica=replica), manifests_of(*objects).inventory, cluster_of(*NODES, *cluster))


def details(found: Explanation) -> list[str]:
    return [obstacle.detail for node in found.nodes for obstacle in node.obstacles]


def test_it_names_the_devices_of_each_node() -> None:
    found = why("train", template(count=2), using(1), cluster=(devices_on("n0", 3), devices_on("n1", 1)))
    held = {"gpu": [["gpu", "gpu.example.com", "n0", "gpu-0"], ["gpu", "gpu.example.com", "n0", "gpu-1"]]}
    assert [dict(node.devices) for node in found.nodes] == [held, {}]
    assert "Devices that it would get:\n  n0: gpu-0 of pool n0 (gpu), gpu-1 of pool n0 (gpu)" in as_text(found)
    assert json.loads(as_json(found))["nodes"][0]["devices"] == held
    assert details(found) == ["request gpu asks for 2 devices of class gpu: the node has 1 device, 1 left"]


def test_earlier_replicas_and_running_pods_hold_devices() -> None:
    cluster = (devices_on("n0", 2), devices_on("n1", 1), *running("old", "n1"))
    found = why("train", template(), using(3), cluster=cluster, replica=3)
    assert found.message.startswith("0/2 nodes are available: 2 cannot allocate all claims. still not schedulable")
    assert details(found) == [
        "request gpu asks for 1 device of class gpu: the node has 2 devices, 2 allocated, 0 left",
        "request gpu asks for 1 device of class gpu: the node has 1 device, 1 allocated, 0 left",
    ]


def test_it_names_what_removes_devices() -> None:
    picky = template(selectors=[{"cel": {"expression": MODEL}}])
    model = {"attributes": {"model": {"string": "b"}}}
    taint = {"attributes": {"model": {"string": "a"}}, "taints": [{"key": "k", "effect": "NoSchedule"}]}
    found = why("train", picky, using(1), cluster=(devices_on("n0", 2, **model), devices_on("n1", 1, **taint)))
    assert [text.partition("has ")[2] for text in details(found)] == [
        f"2 devices, 2 not selected by {MODEL}, 0 left",
        "1 device, 1 tainted, 0 left",
    ]


def test_it_names_what_a_request_for_all_devices_lacks() -> None:
    tainted = devices_on("n0", 2)
    tainted["spec"]["devices"][0]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    found = why("train", template(allocationMode="All", count=None), using(1), cluster=(tainted,))
    assert details(found)[0].endswith("the node has 2 devices, 1 tainted, 1 left")


def test_it_names_the_attribute_of_a_constraint_and_a_pool_that_does_not_count() -> None:
    alike = template(count=2)
    alike["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": "gpu.example.com/numa"}]
    updated = devices_on("n1", 2)
    updated["spec"]["pool"]["resourceSliceCount"] = 2
    found = why("train", alike, using(1), cluster=(devices_on("n0", 2), updated))
    assert details(found)[0].endswith("the node has 2 devices, 2 without gpu.example.com/numa, 0 left")
    assert details(found)[1].endswith("the node has none; the pool gpu.example.com/n1 is incomplete")


def test_it_counts_the_devices_that_share_an_attribute() -> None:
    alike = template(count=2)
    alike["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": "gpu.example.com/numa"}]
    apart = devices_on("n0", 2)
    for number, device in enumerate(apart["spec"]["devices"]):
        device["attributes"] = {"numa": {"int": number}}
    found = why("train", alike, using(1), cluster=(apart, devices_on("n1", 0)))
    assert details(found)[0].endswith("2 devices, 2 left, at most 1 with the same gpu.example.com/numa")


def test_it_names_partitions_whose_counters_others_have_used_up() -> None:
    counters = devices_on("n0", 0)
    counters["metadata"]["name"] = "n0-counters"
    parts = devices_on("n0", 2, consumesCounters=[{"counterSet": "c", "counters": {"slots": {"value": "1"}}}])
    for each in (counters, parts):
        each["spec"]["pool"]["resourceSliceCount"] = 2
    counters["spec"]["sharedCounters"] = [{"name": "c", "counters": {"slots": {"value": "1"}}}]
    found = why("train", template(), using(2), cluster=(counters, parts), replica=2)
    assert details(found)[0].endswith("the node has 2 devices, 1 allocated, 1 without enough counters, 0 left")


def test_an_alternative_that_lacks_devices_is_no_reason_if_another_has_enough() -> None:
    many = {"name": "many", "deviceClassName": "gpu", "count": 3}
    one = {"name": "one", "deviceClassName": "gpu"}
    both = template(count=2)
    both["spec"]["spec"]["devices"]["requests"].append({"name": "any", "firstAvailable": [many, one]})
    found = why("train", both, using(1), cluster=(devices_on("n0", 2),))
    assert details(found)[0].startswith("each request alone finds devices")


def test_an_error_of_a_selector_is_the_one_reason_on_every_node() -> None:
    picky = template(selectors=[{"cel": {"expression": MODEL}}])
    found = why("train", picky, using(1), cluster=(devices_on("n0", 1),))
    assert found.message.endswith("selector #0: CEL runtime error: no such key: model")
    assert [len(node.obstacles) for node in found.nodes] == [1, 1]


def test_a_shared_claim_is_elsewhere() -> None:
    big = using(2, cpu="3", resourceClaimName="gpu")
    found = why("train", claim(), big, cluster=(devices_on("n0", 1), devices_on("n1", 1)), replica=2)
    assert sum(text == "the devices of claim gpu are elsewhere" for text in details(found)) == 1


def test_a_running_pod_with_claims_is_explained_without_its_own() -> None:
    pod, held = running("old", "n0")
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    stored = template()
    found = why("old", using(1), cluster=(devices_on("n0", 1), pod, held, stored))
    assert [node.fits for node in found.nodes] == [True, False]


def test_without_its_template_a_pod_is_not_tried() -> None:
    found = why("train", using(1), cluster=(devices_on("n0", 1),))
    assert found.message == "not tried: ResourceClaimTemplate gpu does not exist, so no claim is made of it"
    assert (found.refusal, found.is_negative) == ("DynamicResources", True)
    shared = why("train", using(1, resourceClaimName="gpu"), cluster=(devices_on("n0", 1),))
    assert shared.message == "not tried: ResourceClaim gpu does not exist"


def test_it_names_devices_that_are_too_small() -> None:
    wanted = template(capacity={"requests": {"memory": "16Gi"}})
    found = why("train", wanted, using(1), cluster=(devices_on("n0", 2, capacity={"memory": {"value": "8Gi"}}),))
    assert details(found)[0].endswith("the node has 2 devices, 2 short of capacity, 0 left")


def test_requests_that_suffice_alone_and_not_together() -> None:
    two = template()
    requests = two["spec"]["spec"]["devices"]["requests"]
    requests.append({**requests[0], "name": "other"})
    found = why("train", two, using(1), cluster=(devices_on("n0", 1),))
    assert details(found)[0].startswith("each request alone finds devices")


def test_it_explains_extended_resources() -> None:
    serving = {**GPU_CLASS, "spec": {**GPU_CLASS["spec"], "extendedResourceName": "example.com/gpu"}}
    found = why("train", by_resource(1, amount=3), cluster=(serving, devices_on("n0", 2), devices_on("n1", 4)))
    assert [node.fits for node in found.nodes] == [False, True]
    assert details(found) == [
        "request container-0-request-0 asks for 3 devices of class gpu: the node has 2 devices, 2 left"
    ]
    assert "<extended-resources>" in found.nodes[1].devices


def test_a_search_that_takes_too_long_leaves_devices_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator, "MOST_TRIES", 1_000)
    alike = template(count=25)
    alike["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": "gpu.example.com/numa"}]
    many = devices_on("n0", 48)
    for number, device in enumerate(many["spec"]["devices"]):
        device["attributes"] = {"numa": {"int": number % 2}}
    found = why("train", alike, using(1), cluster=(many,))
    limit = "the search for devices takes more than 1,000 tries"
    assert f"not known: which nodes have the devices: {limit}" in found.notes
    assert "fits on 2 of 2 nodes, as far as is known;" in as_text(found)
