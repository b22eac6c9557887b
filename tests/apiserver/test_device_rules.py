"""What the API server refuses of device classes, claims and claim templates, in each version of resource.k8s.io."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.library import lint

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
AT = "spec.devices.requests[0]"
BOTH = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"


def claim(*requests: dict[str, Any], version: str = "v1", **devices: Any) -> dict[str, Any]:
    meta = {"name": "c", "namespace": "shop"}
    spec = {"devices": {"requests": list(requests)} | devices}
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceClaim", "metadata": meta, "spec": spec}


def exactly(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "gpu"} | fields}


def listed(*names: str, **fields: Any) -> dict[str, Any]:
    return {"name": "a", "firstAvailable": [{"name": name, "deviceClassName": "gpu"} | fields for name in names]}


def device_class(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": spec}


def cel(expression: str) -> dict[str, Any]:
    return {"cel": {"expression": expression}}


OPAQUE = {"opaque": {"driver": "gpu.acme.com", "parameters": {"kind": "x"}}}
ACCEPTED = [
    claim(exactly()),
    claim(exactly(allocationMode="All")),
    claim(exactly(count=3, selectors=[cel("true")], tolerations=[{"key": "k", "value": "v"}, {"operator": "Exists"}])),
    claim(listed("x", "y"), constraints=[{"requests": ["a", "a/x"], "matchAttribute": "acme.com/numa"}]),
    claim(exactly(), config=[{"requests": ["a"], **OPAQUE}]),
    claim({"name": "a", "deviceClassName": "gpu", "count": 2}, version="v1beta1"),
    claim(listed("x"), version="v1beta1"),
    claim(exactly(), version="v1beta2"),
    device_class(selectors=[cel("true")], config=[OPAQUE], extendedResourceName="acme.com/gpu"),
]


@pytest.mark.parametrize("value", ACCEPTED)
def test_what_is_right_is_accepted(value: dict[str, Any]) -> None:
    assert validate(value).accepted, validate(value).message


REFUSED = [
    (claim(exactly("A")), f'{AT}.name: Invalid value: "A": {LABEL}'),
    (claim({"name": "a"}), f"{AT}: Required value: exactly one of `exactly` or `firstAvailable` is required"),
    (
        claim(exactly() | listed("x")),
        f"{AT}: Invalid value: null: {BOTH}",
    ),
    (claim({"name": "a", "exactly": {}}), f"{AT}.exactly.deviceClassName: Required value"),
    (claim(exactly(), exactly()), 'spec.devices.requests[1]: Duplicate value: "a"'),
    (claim(*(exactly(f"r{i}") for i in range(33))), "spec.devices.requests: Too many: 33: must have at most 32 items"),
    (
        claim(exactly(allocationMode="All", count=2)),
        f"{AT}.exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
    ),
    (claim(exactly(count=-1)), f"{AT}.exactly.count: Invalid value: -1: must be greater than zero"),
    (
        claim(exactly(allocationMode="Some")),
        f'{AT}.exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"',
    ),
    (claim(exactly(selectors=[{}])), f"{AT}.exactly.selectors[0].cel: Required value"),
    (
        claim(exactly(selectors=[cel("x" * 10241)])),
        f"{AT}.exactly.selectors[0].cel.expression: Too long: may not be more than 10240 bytes",
    ),
    (
        claim(exactly(tolerations=[{"operator": "Exists", "value": "v"}])),
        f'{AT}.exactly.tolerations[0].value: Invalid value: "v": must be empty for operator `Exists`',
    ),
    (
        claim(exactly(tolerations=[{"operator": "In"}])),
        f'{AT}.exactly.tolerations[0].operator: Unsupported value: "In": supported values: "Equal", "Exists"',
    ),
    (
        claim(exactly(tolerations=[{"effect": "PreferNoSchedule"}])),
        f'{AT}.exactly.tolerations[0].effect: Unsupported value: "PreferNoSchedule": '
        'supported values: "NoExecute", "NoSchedule", "None"',
    ),
    (
        claim(listed(*(f"s{i}" for i in range(9)))),
        f"{AT}.firstAvailable: Too many: 9: must have at most 8 items",
    ),
    (claim(listed("x", "x")), f'{AT}.firstAvailable[1]: Duplicate value: "x"'),
    (
        claim(exactly(), constraints=[{"requests": ["b"], "matchAttribute": "acme.com/numa"}]),
        f'spec.devices.constraints[0].requests[0]: Invalid value: "b": {REFERENCE}',
    ),
    (
        claim(listed("x"), constraints=[{"requests": ["a/y"], "matchAttribute": "acme.com/numa"}]),
        f'spec.devices.constraints[0].requests[0]: Invalid value: "a/y": {REFERENCE}',
    ),
    (
        claim(exactly(), constraints=[{}]),
        'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is '
        "required, but multiple fields are set",
    ),
    (
        claim(exactly(), constraints=[{"matchAttribute": "numa"}]),
        'spec.devices.constraints[0].matchAttribute: Invalid value: "numa": a fully qualified name must be a domain '
        "and a name separated by a slash",
    ),
    (
        claim(exactly(), constraints=[{"distinctAttribute": "acme.com/nu-ma"}]),
        f'spec.devices.constraints[0].distinctAttribute: Invalid value: "nu-ma": {IDENTIFIER}',
    ),
    (claim(exactly(), config=[{}]), "spec.devices.config[0].opaque: Required value"),
    (
        claim(exactly(), config=[{"opaque": {"driver": "d", "parameters": "x"}}]),
        'spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
    ),
    (
        device_class(extendedResourceName="cpu"),
        'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name',
    ),
    # v1beta1 is judged in the shape of v1.
    (
        claim({"name": "a", "deviceClassName": "gpu", "count": -2}, version="v1beta1"),
        f"{AT}.exactly.count: Invalid value: -2: must be greater than zero",
    ),
    (
        claim({"name": "a", "count": 2}, version="v1beta1"),
        f"{AT}.exactly.deviceClassName: Required value",
    ),
    (
        claim({"deviceClassName": "gpu"} | listed("x"), version="v1beta1"),
        f"{AT}: Invalid value: null: {BOTH}",
    ),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=lambda found: str(found)[:60])
def test_a_refusal_has_the_words_of_the_server(value: dict[str, Any], message: str) -> None:
    verdict = validate(value)
    assert verdict.code == 422
    assert message in [str(cause) for cause in verdict.causes]


def test_a_template_is_judged_like_its_claim() -> None:
    for value, message in REFUSED:
        if value["kind"] == "ResourceClaim":
            spec = {"spec": value["spec"], "metadata": {"name": "x"}}
            template = value | {"kind": "ResourceClaimTemplate", "spec": spec}
            found = [str(cause) for cause in validate(template).causes]
            assert found[0] == "spec.metadata.name: Forbidden: cannot be set"
            assert message.replace("spec.devices", "spec.spec.devices", 1) in found


def test_fields_of_another_version_are_unknown() -> None:
    flat = claim({"name": "a", "deviceClassName": "gpu"})
    assert 'unknown field "spec.devices.requests[0].deviceClassName"' in validate(flat).message
    assert 'unknown field "spec.devices.requests[0].exactly"' in validate(claim(exactly(), version="v1beta1")).message


@pytest.mark.parametrize(
    ("version", "wanted", "line"),
    [
        ("v1", "exactly: {deviceClassName: gpu,\n                count: -1}", 9),
        ("v1beta1", "deviceClassName: gpu\n      count: -1", 9),
    ],
)
def test_the_finding_is_at_the_line_of_each_version(version: str, wanted: str, line: int) -> None:
    head = f"apiVersion: resource.k8s.io/{version}\nkind: ResourceClaim\nmetadata: {{name: c}}\n"
    text = f"{head}spec:\n  devices:\n    requests:\n    - name: a\n      {wanted}\n"
    (found,) = lint(text=text, select=["api-would-reject"]).findings
    assert found.location.span.line == line
    assert "exactly.count" in found.message
