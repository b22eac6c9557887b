"""What the API server refuses of ResourceSlices, in each version of resource.k8s.io."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.apiserver.validate import validate

AT = "spec.devices[0]"
TERM = {"matchExpressions": [{"key": "gen", "operator": "In", "values": ["3"]}]}
ONE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def device_slice(*devices: dict[str, Any], version: str = "v1", **spec: Any) -> dict[str, Any]:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    whole = {"driver": "gpu.acme.com", "pool": pool, "nodeName": "n1", "devices": list(devices), **spec}
    whole = {key: value for key, value in whole.items() if value is not None}
    meta = {"name": "s"}
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceSlice", "metadata": meta, "spec": whole}


def gpu(name: str = "g", **fields: Any) -> dict[str, Any]:
    return {"name": name, **fields}


TAINT = {"key": "k", "effect": "NoSchedule"}
BODY = {
    "attributes": {"model": {"string": "a100"}, "acme.com/numa": {"int": 0}, "v": {"version": "1.2.3-rc.1+b"}},
    "capacity": {"memory": {"value": "80Gi"}},
    "taints": [TAINT],
    "consumesCounters": [{"counterSet": "s", "counters": {"slots": {"value": "1"}}}],
    "bindingConditions": ["acme.com/Ready"],
    "bindingFailureConditions": ["acme.com/Broken"],
}
SETS = [{"name": "s", "counters": {"slots": {"value": "8"}}}]


@pytest.mark.parametrize(
    "value",
    [
        device_slice(gpu(**BODY)),
        device_slice(gpu(**BODY), version="v1beta2"),
        device_slice(gpu(basic=BODY), version="v1beta1"),
        device_slice(nodeName=None, allNodes=True, devices=None, sharedCounters=SETS),
        device_slice(nodeName=None, nodeSelector={"nodeSelectorTerms": [TERM]}),
        device_slice(gpu(nodeName="n2"), nodeName=None, perDeviceNodeSelection=True),
    ],
)
def test_what_is_right_is_accepted(value: dict[str, Any]) -> None:
    assert validate(value).accepted, validate(value).message


REFUSED = [
    (device_slice(driver=None), "spec.driver: Required value"),
    (device_slice(pool={}), "spec.pool.name: Required value"),
    (device_slice(pool={"name": "n"}), "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"),
    (device_slice(nodeName=None), f"spec: Required value: {ONE}"),
    (
        device_slice(allNodes=True),
        f'spec: Invalid value: "{{`nodeName`, `allNodes`}}": {ONE}, but multiple fields are set',
    ),
    (device_slice(allNodes=False), "spec.allNodes: Invalid value: false: must be either unset or set to true"),
    (
        device_slice(nodeName=None, nodeSelector={"nodeSelectorTerms": [TERM, TERM]}),
        "spec.nodeSelector.nodeSelectorTerms: Invalid value: "
        + str([{"MatchExpressions": [{"Key": "gen", "Operator": "In", "Values": ["3"]}], "MatchFields": None}] * 2)
        .replace("'", '"')
        .replace(" ", "")
        .replace("None", "null")
        + ": must have exactly one node selector term",
    ),
    (
        device_slice(gpu(), sharedCounters=SETS),
        'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
    ),
    (device_slice(gpu(), gpu()), 'spec.devices[1]: Duplicate value: "g"'),
    (device_slice(*(gpu(f"g{i}") for i in range(129))), "spec.devices: Too many: 129: must have at most 128 items"),
    (
        device_slice(*(gpu(f"g{i}", taints=[TAINT]) for i in range(65))),
        "spec.devices: Too many: 65: must have at most 64 items",
    ),
    (device_slice(gpu("G")), f'{AT}.name: Invalid value: "G": {LABEL}'),
    (
        device_slice(gpu(attributes={f"a{i}": {"int": i} for i in range(33)})),
        f"{AT}: Invalid value: 33: the total number of attributes and capacities must not exceed 32",
    ),
    (
        device_slice(gpu(attributes={"a": {}})),
        f'{AT}.attributes[a]: Invalid value: "": exactly one value must be specified',
    ),
    (
        device_slice(gpu(attributes={"a": {"string": "x", "int": 1}})),
        f'{AT}.attributes[a]: Invalid value: {{"int":1,"string":"x"}}: exactly one value must be specified',
    ),
    (
        device_slice(gpu(attributes={"a": {"version": "1.2"}})),
        f'{AT}.attributes[a].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0',
    ),
    (
        device_slice(gpu(attributes={"a": {"string": "x" * 65}})),
        f"{AT}.attributes[a].string: Too long: may not be more than 64 bytes",
    ),
    (
        device_slice(gpu(attributes={"/a": {"int": 1}})),
        f'{AT}.attributes: Invalid value: "": the domain must not be empty',
    ),
    (
        device_slice(gpu(capacity={"m": {"value": "1", "requestPolicy": {"default": "1"}}})),
        f"{AT}.capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true",
    ),
    (device_slice(gpu(taints=[{"key": "k"}])), f"{AT}.taints[0].effect: Required value"),
    (
        device_slice(gpu(taints=[{"key": "k", "effect": "PreferNoSchedule"}])),
        f'{AT}.taints[0].effect: Unsupported value: "PreferNoSchedule": supported values: '
        '"NoExecute", "NoSchedule", "None"',
    ),
    (device_slice(gpu(consumesCounters=[{"counterSet": "s"}])), f"{AT}.consumesCounters[0].counters: Required value"),
    (
        device_slice(gpu(allNodes=True)),
        f"{AT}: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if "
        "`perDeviceNodeSelection` is set to true in the ResourceSlice spec",
    ),
    (
        device_slice(gpu(bindingConditions=["R"])),
        f"{AT}.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use "
        "bindingConditions",
    ),
    (device_slice(devices=None, sharedCounters=[{"name": "s"}]), "spec.sharedCounters[0].counters: Required value"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=lambda found: str(found)[:60])
def test_a_refusal_has_the_words_of_the_server(value: dict[str, Any], message: str) -> None:
    verdict = validate(value)
    assert verdict.code == 422
    assert message in [str(cause) for cause in verdict.causes]


def test_a_device_of_v1beta1_is_judged_as_one_of_v1_at_its_own_place() -> None:
    for value, message in REFUSED:
        devices = [
            {"name": d["name"], "basic": {k: v for k, v in d.items() if k != "name"}}
            for d in value["spec"].get("devices", ())
        ]
        spec = {**value["spec"], "devices": devices} if "devices" in value["spec"] else value["spec"]
        old = {**value, "apiVersion": "resource.k8s.io/v1beta1", "spec": spec}
        causes = {str(cause): cause for cause in validate(old).causes}
        assert message in causes
        if ".attributes" in message:
            assert causes[message].path[:5] == ("spec", "devices", 0, "basic", "attributes")
