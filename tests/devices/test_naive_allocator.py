"""On small inventories a naive, exhaustive allocator finds devices where ours does, and accepts what ours gives.

Two exceptions are upstream's, and the last tests show them. A device refused for a taint or a constraint keeps its
counters, so with both something possible may not be found. Of a request for several devices distinctAttribute sees only
the last one, so what it gives may violate the constraint.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from msgspec.structs import replace

from kubesched_lint.engine.model.devices.devices import ALL, DeviceRequest
from kubesched_lint.engine.scheduler.devices.answers import NOT_ALL
from tests import drawn as st
from tests.devices import inventories as made
from tests.devices.inventories import DRIVER, Value, ask, claim_of, devices_with, slice_of
from tests.devices.naive import is_possible, is_valid
from tests.drawn import given

MODELS = ("a", "b")


@st.composite
def devices_of_a_node(draw: st.DrawFn, counters: bool, taints: bool = False) -> list[Any]:
    """One pool of at most five devices; with ``counters`` they share one counter of 4."""
    count = draw(st.integers(1, 5))
    slices: list[Value] = []
    for i in range(count):
        device: Value = {"name": f"d{i}", "attributes": {"model": {"string": draw(st.sampled_from(MODELS))}}}
        if draw(st.booleans()):
            device["attributes"]["numa"] = {"int": draw(st.integers(0, 1))}
        if counters:
            units = {"units": {"value": str(draw(st.integers(1, 4)))}}
            device["consumesCounters"] = [{"counterSet": "set", "counters": units}]
        if (taints or not counters) and draw(st.integers(0, 3)) == 0:
            device["taints"] = [{"key": "k", "effect": "NoSchedule"}]
        slices.append(device)
    if not counters:
        return [slice_of(slices)]
    pool = {"resourceSliceCount": 2}
    sets = [{"name": "set", "counters": {"units": {"value": "4"}}}]
    return [slice_of(slices, "a", pool=pool), slice_of([], "b", pool=pool, sharedCounters=sets)]


@st.composite
def shared_devices(draw: st.DrawFn) -> list[Any]:
    """At most four devices; most have bandwidth that several claims may share."""
    devices: list[Value] = []
    for i in range(draw(st.integers(1, 4))):
        device: Value = {"name": f"d{i}", "attributes": {"model": {"string": draw(st.sampled_from(MODELS))}}}
        if draw(st.integers(0, 4)):
            device["capacity"] = {"bw": {"value": str(draw(st.integers(1, 4)))}}
            device["allowMultipleAllocations"] = draw(st.booleans())
        devices.append(device)
    return [slice_of(devices)]


@st.composite
def requests(draw: st.DrawFn, name: str, most: int, capacity: bool = False) -> Value:
    more: Value = {}
    if capacity and draw(st.booleans()):
        more["capacity"] = {"requests": {"bw": str(draw(st.integers(1, 3)))}}
    if draw(st.booleans()):
        more["selectors"] = [{"cel": {"expression": f"model:{draw(st.sampled_from(MODELS))}"}}]
    if draw(st.booleans()):
        more["tolerations"] = [{"key": "k", "operator": "Exists"}]
    if draw(st.integers(0, 4)) == 0:
        return ask(name, allocationMode="All", **more)
    return ask(name, count=draw(st.integers(1, most)), **more)


@st.composite
def claims_of_a_pod(draw: st.DrawFn, constraints: bool, capacity: bool = False) -> list[Any]:
    claims = []
    for c in range(draw(st.integers(1, 2))):
        distinct = constraints and draw(st.booleans())
        wanted = [draw(requests(f"r{r}", 1 if distinct else 2, capacity)) for r in range(draw(st.integers(1, 2)))]
        if draw(st.booleans()):
            names = [draw(requests(f"s{s}", 1 if distinct else 2, capacity)) for s in range(2)]
            wanted.append(
                {"name": "f", "firstAvailable": [{**each["exactly"], "name": each["name"]} for each in names]}
            )
        rules = [{"distinctAttribute" if distinct else "matchAttribute": f"{DRIVER}/numa"}] if constraints else []
        if distinct:
            wanted = [each for each in wanted if "All" not in str(each)] or [ask()]
        claims.append(claim_of(*wanted, name=f"c{c}", constraints=rules))
    return claims


def alternatives_of(request: DeviceRequest) -> tuple[DeviceRequest, ...]:
    return request.alternatives or (request,)


def evaluated(claims: list[Any]) -> list[Any]:
    """The claims with selectors in CEL."""
    expressions = {f"model:{model}": f'device.attributes["{DRIVER}"].model == "{model}"' for model in MODELS}

    def real(request: Any) -> Any:
        chosen = tuple(expressions[each] for each in request.selectors)
        return replace(request, selectors=chosen, alternatives=tuple(real(each) for each in request.alternatives))

    return [replace(claim, requests=tuple(map(real, claim.requests))) for claim in claims]


def allocated(slices: list[Any], claims: list[Any]) -> tuple[Any, ...]:
    """The claims with what our search gives; a constraint that prevents "all devices" is an error, so a failure."""
    asked = evaluated(claims)
    found = made.attempt_for(devices_with(slices, asked), *(claim.name for claim in claims)).on(0)
    assert found.reason in ("", NOT_ALL) or "constraint would not be satisfied" in found.reason
    return found.claims


def ours(slices: list[Any], claims: list[Any]) -> bool:
    given = allocated(slices, claims)
    assert not given or is_valid(slices, claims, given)
    return bool(given)


SMALL = settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@SMALL
@given(devices_of_a_node(counters=False), claims_of_a_pod(constraints=False))
def test_without_constraints_both_agree(slices: list[Any], claims: list[Any]) -> None:
    assert ours(slices, claims) == is_possible(slices, claims)


@SMALL
@given(devices_of_a_node(counters=True), claims_of_a_pod(constraints=False))
def test_with_counters_both_agree(slices: list[Any], claims: list[Any]) -> None:
    assert ours(slices, claims) == is_possible(slices, claims)


@SMALL
@given(shared_devices(), claims_of_a_pod(constraints=False, capacity=True))
def test_with_capacity_both_agree(slices: list[Any], claims: list[Any]) -> None:
    assert ours(slices, claims) == is_possible(slices, claims)


@SMALL
@given(devices_of_a_node(counters=False), claims_of_a_pod(constraints=True))
def test_with_constraints_both_agree_but_for_errors(slices: list[Any], claims: list[Any]) -> None:
    possible = is_possible(slices, claims)
    if any(each.mode == ALL for claim in claims for request in claim.requests for each in alternatives_of(request)):
        assert not ours(slices, claims) or possible  # an error ends the search before other alternatives
    else:
        assert ours(slices, claims) == possible


@SMALL
@given(devices_of_a_node(counters=True, taints=True), claims_of_a_pod(constraints=True))
def test_with_everything_ours_finds_nothing_that_is_impossible(slices: list[Any], claims: list[Any]) -> None:
    """Upstream loses counters on the way, so it may find nothing where something is possible."""
    assert not ours(slices, claims) or is_possible(slices, claims)


def test_a_refused_device_keeps_its_counters() -> None:
    """allocateDevice books the counters before it looks at taints, and does not give them back."""
    pool = {"resourceSliceCount": 2}
    used = [{"counterSet": "set", "counters": {"units": {"value": "3"}}}]
    both = [
        {"name": "a", "consumesCounters": used, "taints": [{"key": "k", "effect": "NoSchedule"}]},
        {"name": "b", "consumesCounters": used},
    ]
    sets = [{"name": "set", "counters": {"units": {"value": "4"}}}]
    slices = [slice_of(both, "a", pool=pool), slice_of([], "b", pool=pool, sharedCounters=sets)]
    assert not ours(slices, [claim_of(ask())])
    assert is_possible(slices, [claim_of(ask())])


def test_distinct_attribute_sees_only_the_last_device_of_a_request() -> None:
    """distinctAttributeConstraint keeps one value per request."""
    numas = [{"name": f"d{i}", "attributes": {"numa": {"int": i % 2}}} for i in range(3)]
    claim = claim_of(ask(count=3), constraints=[{"distinctAttribute": f"{DRIVER}/numa"}])
    given = allocated([slice_of(numas)], [claim])
    assert given
    assert not is_valid([slice_of(numas)], [claim], given)
    assert not is_possible([slice_of(numas)], [claim])
