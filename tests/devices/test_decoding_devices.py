"""Objects of resource.k8s.io in all served versions, and values that no API server stores."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.model.decode.fields import DecodeError
from kubesched_lint.engine.model.decode.objects import decode_object, is_read

EXACT = {"deviceClassName": "gpu", "count": 2, "selectors": [{"cel": {"expression": "true"}}]}
DEVICE = {"attributes": {"model": {"string": "a"}}, "capacity": {"mem": {"value": "40Gi"}}}


def decoded(kind: str, spec: dict[str, Any], version: str = "v1", **more: Any) -> Any:
    value = {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": {"name": "x"}, "spec": spec, **more}
    assert is_read(value["apiVersion"], kind)
    return decode_object(value, "default")[1]


def test_all_versions_of_a_claim_say_the_same() -> None:
    new = {"devices": {"requests": [{"name": "r", "exactly": EXACT}]}}
    old = {"devices": {"requests": [{"name": "r", **EXACT}]}}
    claim = decoded("ResourceClaim", new)
    assert same_values(claim, decoded("ResourceClaim", new, "v1beta2"))
    assert same_values(claim, decoded("ResourceClaim", old, "v1beta1"))
    assert (claim.requests[0].count, claim.requests[0].selectors) == (2, ("true",))
    template = decoded("ResourceClaimTemplate", {"spec": new})
    assert same_values(template, decoded("ResourceClaimTemplate", {"spec": old}, "v1beta1"))
    assert same_values(template.requests, claim.requests)


def test_all_versions_of_a_slice_say_the_same() -> None:
    rest = {"driver": "d", "pool": {"name": "p", "generation": 3, "resourceSliceCount": 1}, "nodeName": "n"}
    new = decoded("ResourceSlice", {**rest, "devices": [{"name": "a", **DEVICE}]})
    assert same_values(new, decoded("ResourceSlice", {**rest, "devices": [{"name": "a", "basic": DEVICE}]}, "v1beta1"))
    assert new.devices[0].capacity["mem"].value == 40 << 30
    assert (new.generation, new.access.node_name) == (3, "n")


def test_defaults_are_those_of_the_api_server() -> None:
    claim = decoded("ResourceClaim", {"devices": {"requests": [{"name": "r", "exactly": {"tolerations": [{}]}}]}})
    (request,) = claim.requests
    assert (request.mode, request.count, request.tolerations[0].operator) == ("ExactCount", 1, "Equal")


SLICE: dict[str, Any] = {"driver": "d", "pool": {"name": "p"}}
REQUEST = "spec.devices.requests[0]"


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("DeviceClass", {"selectors": "x"}, "spec.selectors: expected a list, found the string 'x'"),
        (
            "DeviceClass",
            {"selectors": [{"cel": {"expression": 1}}]},
            "spec.selectors[0].cel.expression: expected",
        ),
        ("ResourceSlice", {"pool": []}, "spec.pool: expected a mapping, found a list"),
        ("ResourceSlice", {**SLICE, "pool": {"generation": "1"}}, "spec.pool.generation: expected an integer"),
        (
            "ResourceSlice",
            {**SLICE, "devices": [{"attributes": {"a": 1}}]},
            "spec.devices[0].attributes.a: expected",
        ),
        (
            "ResourceSlice",
            {**SLICE, "devices": [{"attributes": {1: {}}}]},
            "spec.devices[0].attributes.1: expected",
        ),
        (
            "ResourceSlice",
            {**SLICE, "devices": [{"capacity": {"a": {"value": "1" * 2000}}}]},
            "spec.devices[0].capacity.a.value: ",
        ),
        (
            "ResourceSlice",
            {**SLICE, "devices": [{"capacity": {"a": {"requestPolicy": {"validValues": ["1", {}]}}}}]},
            "spec.devices[0].capacity.a.requestPolicy.validValues[1]: expected a quantity",
        ),
        (
            "ResourceSlice",
            {**SLICE, "sharedCounters": [{"counters": {"a": {"value": True}}}]},
            "spec.sharedCounters[0]",
        ),
        ("ResourceClaim", {"devices": {"requests": [{"exactly": 3}]}}, f"{REQUEST}.exactly: expected a mapping"),
        (
            "ResourceClaim",
            {"devices": {"requests": [{"firstAvailable": {"a": 1}}]}},
            f"{REQUEST}.firstAvailable: ",
        ),
        (
            "ResourceClaim",
            {"devices": {"constraints": [{"requests": [1]}]}},
            "spec.devices.constraints[0].requests",
        ),
        ("ResourceClaimTemplate", {"spec": {"devices": [1]}}, "spec.spec.devices: expected a mapping, found a list"),
    ],
)
def test_a_wrong_type_is_one_error_with_its_path(kind: str, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as error:
        decoded(kind, spec)
    assert str(error.value).startswith(message)


def test_a_wrong_allocation_is_an_error_too() -> None:
    with pytest.raises(DecodeError, match=r"status.allocation.devices.results\[0\].device: expected a string"):
        decoded("ResourceClaim", {}, status={"allocation": {"devices": {"results": [{"device": 1}]}}})
