"""Counts of devices are upper bounds: what they refuse a plain, exhaustive allocator cannot allocate either.

Where a claim has one request without constraints and counters, the counts are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import settings
from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.model.devices.devices import DeviceClaim, DeviceClaimTemplate, ResourceSlice
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.devices.room import UNLIMITED, DeviceRoom, room_of, shortcoming
from tests import drawn as st
from tests.devices.inventories import DRIVER, GPU, claim_of, slice_of
from tests.devices.naive import is_possible
from tests.devices.sets import cluster_of, node, scenario_of, using
from tests.devices.test_naive_allocator import MODELS, SMALL, claims_of_a_pod, devices_of_a_node, requests
from tests.drawn import given
from tests.events.simulated import asking, workload

EXPRESSIONS = {f"model:{model}": f'device.attributes["{DRIVER}"].model == "{model}"' for model in MODELS}

FEW = settings(SMALL, max_examples=40)


def in_cel(request: Any) -> Any:
    """The request with real selectors in place of those that the plain allocator reads."""
    chosen = tuple(EXPRESSIONS[each] for each in request.selectors)
    return replace(request, selectors=chosen, alternatives=tuple(map(in_cel, request.alternatives)))


def scenario_with(
    slices: Sequence[ResourceSlice], claims: Sequence[DeviceClaim], *manifests: Any, nodes: int = 1
) -> Scenario:
    """The claims are templates, too, of the same names."""
    found = cluster_of(*(node(f"n{i}") for i in range(nodes)))
    asked = [replace(claim, requests=tuple(map(in_cel, claim.requests))) for claim in claims]
    templates = tuple(DeviceClaimTemplate(c.namespace, c.name, c.requests, c.constraints) for c in asked)
    devices = {
        "device_classes": (GPU,),
        "resource_slices": tuple(slices),
        "device_claims": tuple(asked),
        "device_claim_templates": templates,
    }
    return scenario_of(replace(found, inventory=replace(found.inventory, **devices)), *manifests)


def room_with(scenario: Scenario) -> DeviceRoom:
    room = room_of(scenario.member(scenario.manifests.workloads[0]))
    assert room is not None
    return room


def refused(slices: Sequence[ResourceSlice], claims: Sequence[DeviceClaim]) -> list[str]:
    """Why the counts refuse a pod with these claims on n0, for each request that they refuse."""
    references = [{"name": claim.name, "resourceClaimName": claim.name} for claim in claims]
    pod = workload("Deployment", "train", 1, asking("100m", resourceClaims=references))
    room = room_with(scenario_with(slices, claims, pod))
    return [why for request in room.requests if (why := shortcoming(request, room))]


@FEW
@given(devices_of_a_node(counters=False), claims_of_a_pod(constraints=False))
def test_what_is_refused_is_impossible(slices: list[Any], claims: list[Any]) -> None:
    assert not (refused(slices, claims) and is_possible(slices, claims))


@FEW
@given(devices_of_a_node(counters=True), claims_of_a_pod(constraints=False))
def test_what_is_refused_is_impossible_with_counters(slices: list[Any], claims: list[Any]) -> None:
    assert not (refused(slices, claims) and is_possible(slices, claims))


@FEW
@given(devices_of_a_node(counters=False), claims_of_a_pod(constraints=True))
def test_what_is_refused_is_impossible_with_constraints(slices: list[Any], claims: list[Any]) -> None:
    assert not (refused(slices, claims) and is_possible(slices, claims))


@FEW
@given(devices_of_a_node(counters=False), requests("r", 3))
def test_one_request_is_counted_exactly(slices: list[Any], wanted: Any) -> None:
    claims = [claim_of(wanted)]
    assert bool(refused(slices, claims)) != is_possible(slices, claims)


@FEW
@given(st.lists(devices_of_a_node(counters=False), min_size=2, max_size=2), claims_of_a_pod(constraints=True))
def test_no_more_pods_get_devices_than_counted(nodes: list[list[Any]], claims: list[Any]) -> None:
    """Each pod has its own claim; the plain allocator tries up to two pods on each of two nodes."""
    slices = [
        replace(each, name=f"s{i}", pool=f"p{i}", access=replace(each.access, node_name=f"n{i}"))
        for i, (each,) in enumerate(nodes)
    ]
    claim = claims[0]
    pods = using(4, resourceClaimTemplateName=claim.name)
    room = room_with(scenario_with(slices, [claim], pods, nodes=2))
    most = min(room.pods(request) for request in room.requests)
    copies = [replace(claim, name=f"c{i}") for i in range(2)]
    found = [max(k for k in range(3) if is_possible([each], copies[:k])) for each in slices]
    assert sum(found) <= most
    for position in positions(room.among):
        assert found[position] <= min(room.pods_on(request, position) for request in room.requests)


def test_devices_of_all_nodes_are_counted_once() -> None:
    slices = [slice_of([{"name": f"d{i}"} for i in range(3)], allNodes=True)]
    room = room_with(scenario_with(slices, [claim_of(ask_two())], using(4, resourceClaimTemplateName="c"), nodes=3))
    assert [room.pods(request) for request in room.requests] == [1]
    assert all(room.pods_on(request, position) == 1 for request in room.requests for position in range(3))


def ask_two() -> dict[str, Any]:
    return {"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}


def test_devices_that_several_claims_may_have_bound_no_replicas() -> None:
    slices = [slice_of([{"name": "d0", "allowMultipleAllocations": True}, {"name": "d1"}])]
    room = room_with(scenario_with(slices, [claim_of(ask_two())], using(4, resourceClaimTemplateName="c")))
    assert [room.pods(request) for request in room.requests] == [UNLIMITED]
