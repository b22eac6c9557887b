"""Devices and claims are captured whole in each version, and what is not captured is known to be unknown."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import yaml

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.model.decode.objects import decode_object, gather
from kubesched_lint.sources.capture import capture, connect
from kubesched_lint.sources.capture.resources import RESOURCES
from kubesched_lint.sources.clusters.read import cluster_from
from tests.capture.stand_in import ApiServer, status

BY_KIND = {resource.kind: resource for resource in RESOURCES if resource.group == "resource.k8s.io"}
NOW = "2026-11-23T19:00:00Z"
SECRET = [{"opaque": {"driver": "gpu.acme.com", "parameters": {"password": "hunter2"}}}]
TERMS = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gen", "operator": "In", "values": ["3"]}]}]}
TOLERATION = {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule", "tolerationSeconds": 9}
WANTS = {
    "deviceClassName": "gpu",
    "selectors": [{"cel": {"expression": "device.driver == 'gpu.acme.com'"}}],
    "allocationMode": "ExactCount",
    "count": 2,
    "tolerations": [TOLERATION],
    "capacity": {"requests": {"memory": "10Gi"}},
}
CONSTRAINTS = [{"requests": ["a"], "matchAttribute": "acme.com/numa"}, {"distinctAttribute": "acme.com/slot"}]
LISTED = {"name": "b", "firstAvailable": [{"name": "c", **WANTS}, {"name": "d", "deviceClassName": "small"}]}
BODY = {
    "attributes": {
        "model": {"string": "a100"},
        "acme.com/index": {"int": 0},
        "healthy": {"bool": False},
        "firmware": {"version": "1.2.3-rc.1"},
        "links": {"strings": ["x"]},
    },
    "capacity": {
        "memory": {"value": "80Gi"},
        "cores": {"value": 9, "requestPolicy": {"default": "1", "validValues": ["1", "2"]}},
        "rate": {"value": "9", "requestPolicy": {"default": "1", "validRange": {"min": "1", "max": "9", "step": "2"}}},
    },
    "consumesCounters": [{"counterSet": "s", "counters": {"slots": {"value": "1"}}}],
    "nodeName": "n1",
    "nodeSelector": TERMS,
    "allNodes": True,
    "taints": [{"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": NOW}],
    "bindsToNode": True,
    "bindingConditions": ["Ready"],
    "bindingFailureConditions": ["Broken"],
    "allowMultipleAllocations": True,
}
META: dict[str, Any] = {
    "name": "x",
    "creationTimestamp": NOW,
    "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu", "note": "hunter2"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}],
    "deletionTimestamp": NOW,
    "managedFields": [{"manager": "hunter2"}],
}
ALLOCATION = {
    "devices": {
        "results": [
            {
                "request": "b/c",
                "driver": "gpu.acme.com",
                "pool": "n1",
                "device": "g0",
                "adminAccess": True,
                "shareID": "u-9",
                "consumedCapacity": {"memory": "1Gi"},
            }
        ],
        "config": SECRET,
    },
    "nodeSelector": TERMS,
}


def objects(version: str) -> dict[str, dict[str, Any]]:
    """Return one object of each kind with everything in it, in the shape of a version."""
    flat = version == "v1beta1"
    request = {"name": "a", **WANTS, "adminAccess": True}
    exact = request if flat else {"name": "a", "exactly": {k: v for k, v in request.items() if k != "name"}}
    spec = {"devices": {"requests": [exact, LISTED], "constraints": CONSTRAINTS, "config": SECRET}}
    state = {
        "allocation": ALLOCATION,
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
        "devices": [{"driver": "gpu.acme.com", "pool": "n1", "device": "g0", "data": "hunter2"}],
    }
    return {
        "DeviceClass": {
            "spec": {"extendedResourceName": "acme.com/gpu", "selectors": WANTS["selectors"], "config": SECRET}
        },
        "ResourceClaim": {"spec": spec, "status": state},
        "ResourceClaimTemplate": {"spec": {"metadata": {"annotations": {"a": "hunter2"}}, "spec": spec}},
        "ResourceSlice": {
            "spec": {
                "driver": "gpu.acme.com",
                "pool": {"name": "n1", "generation": 4, "resourceSliceCount": 2},
                "nodeName": "n1",
                "nodeSelector": TERMS,
                "allNodes": True,
                "perDeviceNodeSelection": True,
                "devices": [{"name": "g0", "basic": BODY} if flat else {"name": "g0", **BODY}],
                "sharedCounters": [{"name": "s", "counters": {"slots": {"value": "8"}}}],
            }
        },
    }


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_an_object_with_everything_is_the_same_object(version: str) -> None:
    for kind, parts in objects(version).items():
        resource = BY_KIND[kind]
        assert version in resource.versions
        whole = {"apiVersion": resource.api_version(version), "kind": kind, "metadata": META, **parts}
        text = msgspec.json.encode(msgspec.json.decode(json.dumps(whole).encode(), type=resource.part))
        assert b"hunter2" not in text
        read = {**META, "annotations": {k: v for k, v in META["annotations"].items() if k != "note"}}
        assert same_values(
            decode_object({**whole, **json.loads(text)}, ""), decode_object({**whole, "metadata": read}, "")
        ), kind


def test_a_taint_rule_taints_the_devices_that_it_names() -> None:
    device_slice = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}}
    device_slice |= {
        "spec": {"driver": "d", "pool": {"name": "p"}, "devices": [{"name": "g0"}, {"name": "g1"}], "allNodes": True}
    }
    rule = {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule", "metadata": {"name": "r"}}
    for selector, tainted in (
        ({}, ["g0", "g1"]),
        ({"device": "g1"}, ["g1"]),
        ({"driver": "d", "pool": "p", "device": "g0"}, ["g0"]),
        ({"driver": "other"}, []),
        ({"pool": "other"}, []),
    ):
        spec = {"deviceSelector": selector, "taint": {"key": "k", "effect": "NoSchedule"}}
        devices = Devices.of(gather(decode_object(value, "") for value in (device_slice, {**rule, "spec": spec})))
        assert [d.name for d in devices.slices[0].devices if d.taints] == tainted


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_what_kubectl_prints_as_yaml_holds_the_same(version: str) -> None:
    head = {"apiVersion": f"resource.k8s.io/{version}"}
    items = [{**head, "kind": kind, "metadata": META, **parts} for kind, parts in objects(version).items()]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [node, *items]})
    cluster = cluster_from([("c.yaml", text.encode())], "c.yaml")
    assert {"ResourceSlice", "ResourceClaim", "ResourceClaimTemplate", "DeviceClass"} <= cluster.kinds
    (device,) = cluster.inventory.resource_slices[0].devices
    assert (device.name, device.attributes["model"]) == ("g0", ("string", "a100"))
    assert cluster.inventory.device_claims[0].requests[0].count == 2


# --- which version is listed, and what a missing list means ----------------------------------------------------------


def serve(api: ApiServer, *versions: str, but: tuple[str, ...] = ()) -> None:
    groups = [{"name": "resource.k8s.io", "versions": [{"version": version} for version in versions]}]
    api.extra["/apis"] = (200, {"groups": groups})
    for version in versions:
        for kind, parts in objects(version).items():
            meta = {**META, "namespace": "n"} if BY_KIND[kind].namespaced else META
            answer = (200, {"items": [{"metadata": meta, **parts}]}) if kind not in but else (403, {})
            api.extra[BY_KIND[kind].path(version, None)] = answer


@pytest.mark.usefixtures("kubeconfig")
@pytest.mark.parametrize(
    ("versions", "best"),
    [(["v1beta1", "v1", "v1beta2"], "v1"), (["v1beta1", "v1beta2"], "v1beta2"), (["v1beta1"],) * 2],
)
def test_the_best_served_version_is_listed(api: ApiServer, versions: list[str], best: Any) -> None:
    best = best if isinstance(best, str) else best[0]
    serve(api, *versions)
    found = capture(connect(), NOW)
    for kind in objects(best):
        asked = [path for path in api.requests if path.partition("?")[0].endswith(f"/{BY_KIND[kind].plural}")]
        assert [path.split("/")[3] for path in asked] == [best], kind
        assert found.counts[kind] == 1
    inventory = found.cluster("c").inventory
    assert [d.name for d in inventory.resource_slices[0].devices] == ["g0"]
    assert inventory.device_claims[0].allocation is not None
    assert not [gap for gap in found.gaps if "resource" in gap]


@pytest.mark.usefixtures("kubeconfig")
def test_without_permission_the_devices_are_a_gap_and_not_absent(api: ApiServer) -> None:
    serve(api, "v1", but=("ResourceSlice",))
    found = capture(connect(), NOW)
    assert "resourceslices.resource.k8s.io: forbidden (403)" in found.gaps
    assert not found.failures, "the file is written all the same"
    cluster = found.cluster("c")
    assert not cluster.has("ResourceSlice")
    assert cluster.has("ResourceClaim")


@pytest.mark.usefixtures("kubeconfig")
def test_versions_that_are_too_old_are_a_gap(api: ApiServer) -> None:
    api.extra["/apis"] = (200, {"groups": [{"name": "resource.k8s.io", "versions": [{"version": "v1alpha3"}]}]})
    found = capture(connect(), NOW)
    old = "not served as resource.k8s.io/v1 or resource.k8s.io/v1beta2 or resource.k8s.io/v1beta1, only as v1alpha3"
    assert f"resourceslices.resource.k8s.io: {old}" in found.gaps
    assert not found.cluster("c").has("ResourceSlice")


@pytest.mark.usefixtures("kubeconfig")
def test_taint_rules_are_listed_where_they_are_served(api: ApiServer) -> None:
    serve(api, "v1", "v1beta2")
    rule = {"metadata": {"name": "r"}, "spec": {"taint": {"key": "k", "effect": "NoExecute"}}}
    api.extra[BY_KIND["DeviceTaintRule"].path("v1beta2", None)] = (200, {"items": [rule]})
    assert [r.taint.key for r in capture(connect(), NOW).cluster("c").inventory.device_taint_rules] == ["k"]
    serve(api, "v1")
    found = capture(connect(), NOW)
    assert found.cluster("c").has("DeviceTaintRule"), "no server of v1 alone has any"


@pytest.mark.usefixtures("kubeconfig")
def test_a_server_that_fails_is_a_failure(api: ApiServer) -> None:
    serve(api, "v1")
    api.fails(BY_KIND["ResourceSlice"].path("v1", None), *[status(503)] * 4)
    connection = connect()
    connection.sleep = lambda _: None
    assert any("resourceslices" in gap for gap in capture(connection, NOW).failures)
