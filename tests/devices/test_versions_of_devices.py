"""v1beta1 and v1beta2 decode to what the API server converts them to: pkg/apis/resource/v1beta1/conversion.go."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.model.decode.objects import decode_object

TERMS = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gen", "operator": "In", "values": ["3"]}]}]}
OF_DEVICE: dict[str, Any] = {
    "attributes": {"a": {"string": "x"}, "b": {"int": 3}, "c": {"bool": True}, "d": {"version": "1.2.3"}},
    "capacity": {"m": {"value": "9", "requestPolicy": {"default": "1", "validRange": {"min": "1", "step": "1"}}}},
    "consumesCounters": [{"counterSet": "s", "counters": {"slots": {"value": "2"}}}],
    "nodeName": "n1",
    "nodeSelector": TERMS,
    "allNodes": True,
    "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
    "bindsToNode": True,
    "bindingConditions": ["Ready"],
    "allowMultipleAllocations": True,
}
OF_REQUEST: dict[str, Any] = {
    "deviceClassName": "gpu",
    "selectors": [{"cel": {"expression": "true"}}],
    "allocationMode": "All",
    "count": 4,
    "adminAccess": True,
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
    "capacity": {"requests": {"m": "2Gi"}},
}


def decoded(kind: str, version: str, spec: dict[str, Any], **more: Any) -> Any:
    value = {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": {"name": "x"}, "spec": spec, **more}
    return decode_object(value, "default")[1]


def device(version: str, fields: dict[str, Any]) -> Any:
    held = {"name": "g", "basic": fields} if version == "v1beta1" else {"name": "g", **fields}
    spec = {"driver": "d", "pool": {"name": "p"}, "devices": [held]}
    return decoded("ResourceSlice", version, spec).devices[0]


def request(version: str, fields: dict[str, Any]) -> Any:
    held = {"name": "a", **fields} if version == "v1beta1" else {"name": "a", "exactly": fields}
    (found,) = decoded("ResourceClaim", version, {"devices": {"requests": [held]}}).requests
    template = decoded("ResourceClaimTemplate", version, {"spec": {"devices": {"requests": [held]}}})
    assert same_values(template.requests, (found,))
    return found


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize("field", OF_DEVICE)
def test_a_field_of_a_device_means_the_same_in_each_version(version: str, field: str) -> None:
    fields = {field: OF_DEVICE[field]}
    assert same_values(device(version, fields), device("v1", fields))
    assert not same_values(device("v1", fields), device("v1", {}))


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize("field", OF_REQUEST)
def test_a_field_of_a_request_means_the_same_in_each_version(version: str, field: str) -> None:
    fields = {"deviceClassName": "other", field: OF_REQUEST[field]}
    assert same_values(request(version, fields), request("v1", fields))
    assert not same_values(request("v1", fields), request("v1", {"deviceClassName": "other"}))


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1beta2"])
def test_what_no_version_moves_is_the_same(version: str) -> None:
    """Alternatives, constraints, classes and allocations have one shape."""
    alternatives = [{"name": "b", **OF_REQUEST, "adminAccess": None}]
    devices = {"requests": [{"name": "a", "firstAvailable": alternatives}], "constraints": [{"matchAttribute": "d/x"}]}
    results = [{"request": "a/b", "driver": "d", "pool": "p", "device": "g", "consumedCapacity": {"m": "1Gi"}}]
    status = {"allocation": {"devices": {"results": results}, "nodeSelector": TERMS}, "reservedFor": [{"name": "p"}]}
    found = decoded("ResourceClaim", version, {"devices": devices}, status=status)
    assert same_values(found, decoded("ResourceClaim", "v1", {"devices": devices}, status=status))
    assert found.requests[0].alternatives[0].device_class == "gpu"
    assert found.allocation.devices[0].id == ("d", "p", "g")


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1beta2"])
def test_every_version_has_the_same_defaults(version: str) -> None:
    found = request(version, {"deviceClassName": "gpu", "tolerations": [{"key": "k", "value": "v"}]})
    assert (found.mode, found.count, found.tolerations[0].operator) == ("ExactCount", 1, "Equal")
