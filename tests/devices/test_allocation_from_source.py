"""What the recordings lack or hardly have, retold from the sources of v1.36."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.model.devices.devices import DeviceClass
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.scheduler.devices import allocator
from kubesched_lint.engine.scheduler.devices.answers import NOT_ALL
from kubesched_lint.engine.scheduler.devices.attempt import NOT_HERE
from kubesched_lint.engine.scheduler.devices.failures import UndecidedError
from tests.devices.inventories import DRIVER, GPU, ask, attempt_for, claim_of, devices_with, given, slice_of

HELD = {
    "allocation": {
        "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "p", "device": "a"}]},
        "nodeSelector": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}]
        },
    },
    "reservedFor": [{"resource": "pods", "name": "other"}],
}

EVERY = claim_of(ask(allocationMode="All", count=None))


def named(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, **more} for name in names]


def test_a_device_is_given_once() -> None:
    devices = devices_with([slice_of(named("a", "b"))], [claim_of(ask(count=2)), claim_of(ask(), name="d")])
    assert given(devices, "c") == ["a", "b"]
    assert given(devices, "c", "d") == NOT_ALL
    taken = devices.with_claims([claim_of(ask(), name="other", status=HELD)])
    assert given(taken, "d") == ["b"]


def test_admin_access_shares_a_device_and_holds_nothing() -> None:
    """allocateDevice: a device may be in use by others, but is given to a claim once."""
    admin = claim_of(ask(adminAccess=True), name="w")
    busy = devices_with([slice_of(named("a"))], [claim_of(ask(), name="other", status=HELD), admin, claim_of(ask())])
    assert given(busy, "w") == ["a"]
    assert given(busy, "c") == NOT_ALL
    watched = attempt_for(busy, "w").on(0).claims
    free = devices_with([slice_of(named("a"))], [*watched, claim_of(ask())])
    assert given(free, "c") == ["a"]
    assert given(devices_with([slice_of(named("a"))], [claim_of(ask(count=2, adminAccess=True))])) == NOT_ALL


def test_a_pinned_claim_is_usable_where_its_devices_are() -> None:
    devices = devices_with([slice_of(named("a"))], [claim_of(ask(), status=HELD)])
    assert given(devices, on=0, nodes=2) == []
    assert given(devices, on=1, nodes=2) == NOT_HERE


def test_each_device_may_have_its_own_nodes() -> None:
    own = [{"name": "a", "nodeName": "n0"}, {"name": "b", "nodeName": "n1"}, {"name": "c", "allNodes": True}]
    devices = devices_with([slice_of(own, perDeviceNodeSelection=True)], [EVERY])
    assert given(devices, on=0, nodes=3) == ["a", "c"]
    assert given(devices, on=1, nodes=3) == ["b", "c"]
    assert given(devices, on=2, nodes=3) == ["c"]


def test_network_attached_devices_pin_the_claim_to_their_nodes() -> None:
    zone = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}]}
    devices = devices_with([slice_of(named("a"), nodeSelector=zone)], [claim_of(ask())])
    assert given(devices, on=0, nodes=2) == NOT_ALL
    (claim,) = attempt_for(devices, nodes=2).on(1).claims
    assert claim.allocation is not None
    (term,) = claim.allocation.terms or ()
    assert [(r.key, r.values) for r in term.expressions] == [("zone", ("z1",))]


@pytest.mark.parametrize(
    ("slices", "reason"),
    [
        ([slice_of(named("a", "a"))], "invalid resource pools were encountered"),
        ([slice_of(named("a", consumesCounters=[{"counterSet": "x", "counters": {}}]))], "invalid resource pools were"),
        ([slice_of(named("a"), pool={"resourceSliceCount": 2})], NOT_ALL),
        ([slice_of([], "new", pool={"generation": 2}), slice_of(named("a"))], NOT_ALL),
    ],
    ids=["same name twice", "no such counter set", "incomplete", "outdated"],
)
def test_a_pool_that_is_invalid_incomplete_or_outdated_gives_nothing(slices: list[Any], reason: str) -> None:
    assert str(given(devices_with(slices, [claim_of(ask())]))).startswith(reason)


def test_all_needs_whole_pools_and_at_least_one_device() -> None:
    assert given(devices_with([slice_of(named("a", "b"))], [EVERY])) == ["a", "b"]
    assert given(devices_with([slice_of([])], [EVERY])) == NOT_ALL
    half = slice_of(named("a"), pool={"resourceSliceCount": 2})
    found = attempt_for(devices_with([half], [EVERY])).on(0)
    assert found.is_error
    assert found.reason.endswith(
        f"request r: asks for all devices, but resource pool {DRIVER}/p is currently being updated"
    )


def test_a_claim_holds_at_most_32_devices() -> None:
    slices = [slice_of(named(*(f"d{i:02}" for i in range(40))))]
    assert len(given(devices_with(slices, [claim_of(ask(count=32))]))) == 32
    many = attempt_for(devices_with(slices, [claim_of(ask(count=33))])).on(0)
    assert many.is_error
    assert "number of requested devices 33 exceeds the claim limit of 32" in many.reason
    # An alternative that asks for fewer is tried next.
    first = {
        "name": "f",
        "firstAvailable": [{**ask("s", 20)["exactly"], "name": "s"}, {**ask("t", 2)["exactly"], "name": "t"}],
    }
    assert len(given(devices_with(slices, [claim_of(ask(count=20), first)]))) == 22


def test_shared_capacity_follows_its_policy() -> None:
    policy = {"default": "1", "validValues": ["1", "4", "8"]}
    nic = {"name": "a", "allowMultipleAllocations": True, "capacity": {"bw": {"value": "10", "requestPolicy": policy}}}
    wants = [claim_of(ask(capacity={"requests": {"bw": amount}}), name=f"c{amount}") for amount in ("2", "5", "9")]
    devices = devices_with([slice_of([nic])], [*wants, claim_of(ask(), name="c")])
    assert given(devices, "c9") == NOT_ALL  # no valid value reaches it
    assert given(devices, "c5", "c") == ["a", "a"]  # 8 + 1
    assert given(devices, "c5", "c2") == NOT_ALL  # 8 + 4
    held = devices.with_claims(attempt_for(devices, "c5").on(0).claims)
    assert given(held, "c") == ["a"]
    assert given(held, "c2") == NOT_ALL


def test_partitions_share_counters() -> None:
    sets = [{"name": "mem", "counters": {"gi": {"value": "40"}}}]
    parts = [
        {"name": name, "consumesCounters": [{"counterSet": "mem", "counters": {"gi": {"value": size}}}]}
        for name, size in (("whole", "40"), ("half-0", "20"), ("half-1", "20"))
    ]
    both = [
        slice_of(parts, "parts", pool={"resourceSliceCount": 2}),
        slice_of(
            [],
            "sets",
            pool={"resourceSliceCount": 2},
            sharedCounters=sets,
        ),
    ]
    assert given(devices_with(both, [claim_of(ask(count=2))])) == ["half-0", "half-1"]
    assert given(devices_with(both, [claim_of(ask(count=3))])) == NOT_ALL


def test_a_missing_class_refuses_the_pod() -> None:
    attempt = attempt_for(devices_with([], [claim_of({"name": "r", "exactly": {"deviceClassName": "none"}})]))
    assert attempt.refusal == "request r: device class none does not exist"


def test_a_pod_with_a_missing_claim_is_not_tried() -> None:
    devices = devices_with([slice_of(named("a"))], [claim_of(ask())])
    assert attempt_for(devices, "c").waits_for == ""
    assert attempt_for(devices, "c", "d").waits_for == "not tried: ResourceClaim d does not exist"


def test_a_taint_keeps_a_device_unless_tolerated() -> None:
    tainted = named("a", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    for toleration, expected in (
        ({"operator": "Exists"}, ["a"]),
        ({"key": "k", "value": "v"}, ["a"]),
        ({"key": "k", "value": "w"}, NOT_ALL),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, NOT_ALL),
    ):
        assert given(devices_with([slice_of(tainted)], [claim_of(ask(tolerations=[toleration]))])) == expected


def test_a_selector_that_fails_ends_the_attempt() -> None:
    strict = DeviceClass("gpu", selectors=(GPU.selectors[0], f'device.attributes["{DRIVER}"].model == "a"'))
    found = attempt_for(devices_with([slice_of(named("a"))], [claim_of(ask())], [strict])).on(0)
    assert found.is_error
    assert (
        found.reason
        == 'running "DynamicResources" filter plugin: class gpu: selector #1: CEL runtime error: no such key: model'
    )


def test_classes_serve_extended_resources_where_the_gate_is_on() -> None:
    """DRAExtendedResource is on since 1.36; of two classes the newer one serves, then the first by name."""
    classes = [
        DeviceClass("b", "example.com/gpu", created="2026-01-01T00:00:00Z"),
        DeviceClass("a", "example.com/gpu", created="2026-01-01T00:00:00Z"),
        DeviceClass("old", "example.com/gpu", created="2025-01-01T00:00:00Z"),
    ]
    objects = Inventory(device_classes=tuple(classes))
    served = Devices.of(objects, "1.36").class_of_resource
    assert served["example.com/gpu"].name == "a"
    assert served["deviceclass.resource.kubernetes.io/old"].name == "old"
    assert Devices.of(objects, "1.35").class_of_resource == {}


def numbered(*numas: int) -> list[dict[str, Any]]:
    return [{"name": f"d{i}", "attributes": {"numa": {"int": numa}}} for i, numa in enumerate(numas)]


def test_the_search_turns_back_over_a_constraint() -> None:
    """The first device has no partner: it goes back, and its value no longer counts."""
    match = [{"matchAttribute": f"{DRIVER}/numa"}]
    slices = [slice_of(numbered(0, 1, 2, 2))]
    assert given(devices_with(slices, [claim_of(ask(count=2), constraints=match)])) == ["d2", "d3"]
    two = claim_of(ask("a"), ask("b"), ask("free", count=2), constraints=[{**match[0], "requests": ["a", "b"]}])
    assert given(devices_with(slices, [two])) == ["d2", "d3", "d0", "d1"]


def test_the_next_alternative_is_tried() -> None:
    alternatives = [{**ask(count=count)["exactly"], "name": f"s{count}"} for count in (3, 2)]
    claim = claim_of({"name": "f", "firstAvailable": alternatives}, ask())
    found = attempt_for(devices_with([slice_of(named("a", "b", "c"))], [claim])).on(0)
    (allocated,) = found.claims
    assert allocated.allocation is not None
    assert [(one.request, one.device) for one in allocated.allocation.devices] == [
        ("f/s2", "a"),
        ("f/s2", "b"),
        ("r", "c"),
    ]


def test_a_search_without_end_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstream gives up after ten seconds."""
    monkeypatch.setattr(allocator, "MOST_TRIES", 5000)
    many = numbered(*range(30))
    claim = claim_of(ask(count=8), {**ask("s", selectors=[{"cel": {"expression": "device.driver == 'none'"}}])})
    with pytest.raises(UndecidedError, match="takes more than 5,000 tries"):
        given(devices_with([slice_of(many)], [claim]))


def test_a_deep_search_is_undecided_and_a_usual_one_is_not() -> None:
    slices = [slice_of(named(*(f"d{i}" for i in range(128))))]
    claims = [claim_of(*(ask(f"r{r}") for r in range(32)), name=f"c{c}") for c in range(5)]
    devices = devices_with(slices, claims)
    assert len(given(devices, *(f"c{c}" for c in range(4)))) == 128
    with pytest.raises(UndecidedError, match="its 5 claims ask for too many devices"):
        given(devices, *(f"c{c}" for c in range(5)))
