"""All devices that an allocator might give a pod are those of a naive, exhaustive allocator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, assume, settings
from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.model.devices.devices import ALL, DeviceClaim
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import Pod, PodClaim
from kubesched_lint.engine.scheduler.devices.choices import every_choice, own_choice
from tests.devices.inventories import claim_of, devices_with, slice_of
from tests.devices.naive import every
from tests.devices.test_naive_allocator import alternatives_of, claims_of_a_pod, devices_of_a_node, evaluated
from tests.drawn import given

SOME = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
INDEX = NodeIndex([Node("n0")])
Kinds = frozenset[tuple[str, frozenset[tuple[str, int]]]]
"""For each claim of a pod, its name and how many devices of each kind it has."""


def pod_with(claims: Iterable[DeviceClaim]) -> Pod:
    return Pod("default", {}, resource_claims=tuple(PodClaim(claim.name, claim=claim.name) for claim in claims))


def ours(slices: list[Any], claims: list[DeviceClaim]) -> set[Kinds]:
    known = {each.name: each for one in slices for each in one.devices}
    found = every_choice(pod_with(claims), devices_with(slices, claims), INDEX, 0)
    held = ({c.name: [known[d.device] for d in c.allocation.devices] for c in g if c.allocation} for g in found)
    return set(map(kinds, held))


def kinds(held: dict[str, list[Any]]) -> Kinds:
    counts = {name: Counter(repr(replace(device, name="")) for device in devices) for name, devices in held.items()}
    return frozenset((name, frozenset(count.items())) for name, count in counts.items())


@SOME
@given(devices_of_a_node(counters=False), claims_of_a_pod(constraints=False))
def test_all_choices_are_found_without_constraints(slices: list[Any], claims: list[Any]) -> None:
    assert ours(slices, evaluated(claims)) == set(map(kinds, every(slices, claims)))


@SOME
@given(devices_of_a_node(counters=False), claims_of_a_pod(constraints=True))
def test_all_choices_are_found_with_constraints(slices: list[Any], claims: list[Any]) -> None:
    asked = (each for claim in claims for request in claim.requests for each in alternatives_of(request))
    assume(all(each.mode != ALL for each in asked))
    assert ours(slices, evaluated(claims)) == set(map(kinds, every(slices, claims)))


def test_the_own_choice_is_the_first_free_device() -> None:
    slices = [slice_of([{"name": "a", "attributes": {"model": {"string": "x"}}}, {"name": "b"}])]
    wanted = claim_of({"name": "r", "exactly": {"deviceClassName": "gpu", "count": 1}})
    devices = devices_with(slices, [wanted])
    (own,) = own_choice(pod_with([wanted]), devices, INDEX, 0)
    assert [one.device for claim in own if claim.allocation for one in claim.allocation.devices] == ["a"]
    assert len(list(every_choice(pod_with([wanted]), devices, INDEX, 0))) == 2
