"""What the API server refuses of PodGroups, Workloads and the schedulingGroup of pods."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.library import lint

GANG = {"schedulingPolicy": {"gang": {"minCount": 2}}}
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def group(version: str = "v1alpha2", **spec: Any) -> dict[str, Any]:
    meta = {"name": "g", "namespace": "shop"}
    return {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "PodGroup", "metadata": meta, "spec": GANG | spec}


def workload(*templates: dict[str, Any], version: str = "v1alpha2", **spec: Any) -> dict[str, Any]:
    return group(version) | {"kind": "Workload", "spec": {"podGroupTemplates": list(templates)} | spec}


def template(name: str = "a", **spec: Any) -> dict[str, Any]:
    return {"name": name} | GANG | spec


def gang(count: int) -> dict[str, Any]:
    return {"gang": {"minCount": count}}


REFUSED = [
    (group(schedulingPolicy=gang(0)), "spec.schedulingPolicy.gang.minCount: Required value"),
    (
        group(schedulingPolicy=gang(-1)),
        "spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",
    ),
    (
        group(schedulingPolicy={}),
        'spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`',
    ),
    (
        group(schedulingPolicy=gang(1) | {"basic": {}}),
        'spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`',
    ),
    (
        group(schedulingConstraints={"topology": [{"key": "a"}, {"key": "b"}]}),
        "spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item",
    ),
    (
        group(schedulingConstraints={"topology": [{}]}),
        "spec.schedulingConstraints.topology[0].key: Required value",
    ),
    (
        group(schedulingConstraints={"topology": [{"key": "/rack"}]}),
        'spec.schedulingConstraints.topology[0].key: Invalid value: "/rack": prefix part must be non-empty',
    ),
    (
        group(podGroupTemplateRef={}),
        'spec.podGroupTemplateRef: Invalid value: "": must specify one of: `workload`',
    ),
    (
        group(podGroupTemplateRef={"workload": {"workloadName": "w"}}),
        "spec.podGroupTemplateRef.workload.podGroupTemplateName: Required value",
    ),
    (
        group(podGroupTemplateRef={"workload": {"workloadName": "w", "podGroupTemplateName": "A"}}),
        f'spec.podGroupTemplateRef.workload.podGroupTemplateName: Invalid value: "A": {LABEL}',
    ),
    (
        group(disruptionMode="All"),
        'spec.disruptionMode: Unsupported value: "All": supported values: "Pod", "PodGroup"',
    ),
    (
        group(priority=1_000_000_001),
        "spec.priority: Invalid value: 1000000001: must be less than or equal to 1000000000",
    ),
    (
        group(resourceClaims=[{"name": "c"}]),
        'spec.resourceClaims[0]: Invalid value: "": must specify one of: '
        "`resourceClaimName`, `resourceClaimTemplateName`",
    ),
    (workload(), "spec.podGroupTemplates: Required value"),
    (workload(template("")), "spec.podGroupTemplates[0].name: Required value"),
    (
        workload(template("a"), template("a")),
        'spec.podGroupTemplates[1]: Duplicate value: {"name":"a","schedulingPolicy":{"gang":{"minCount":2}}}',
    ),
    (
        workload(*(template(f"t{i}") for i in range(9))),
        "spec.podGroupTemplates: Too many: 9: must have at most 8 items",
    ),
    (workload(template(), controllerRef={"kind": "Job"}), "spec.controllerRef.name: Required value"),
    (
        workload(template(), controllerRef={"kind": "a/b", "name": "j"}),
        "spec.controllerRef.kind: Invalid value: \"a/b\": may not contain '/'",
    ),
]


@pytest.mark.parametrize(("value", "cause"), REFUSED)
def test_the_api_server_refuses_in_its_words(value: dict[str, Any], cause: str) -> None:
    assert [str(found) for found in validate(value).causes] == [cause]


@pytest.mark.parametrize(
    ("value", "version"),
    [
        (group(), "1.36"),
        (group(schedulingPolicy={"basic": {}}), "1.36"),
        (group(schedulingConstraints={"topology": [{"key": "example.com/rack"}]}), "1.36"),
        (workload(template(), controllerRef={"apiGroup": "batch", "kind": "Job", "name": "j"}), "1.36"),
        (group("v1beta1", workloadRef={"workloadName": "w", "templateName": "t"}), "1.37"),
        (group("v1beta1", disruptionMode={"all": {}}, priority=-5), "1.37"),
        (workload(template(), version="v1alpha3"), "1.37"),
        (group("v1beta1"), "1.36"),  # a version that is not served yet is not judged
    ],
)
def test_the_api_server_accepts(value: dict[str, Any], version: str) -> None:
    assert validate(value, version=version).accepted


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        (group("v1beta1", schedulingPolicy=gang(0)), "spec.schedulingPolicy.gang.minCount: Required value"),
        (
            group("v1beta1", disruptionMode={}),
            'spec.disruptionMode: Invalid value: "": must specify one of: `single`, `all`',
        ),
        (group("v1beta1", workloadRef={"workloadName": "w"}), "spec.workloadRef.templateName: Required value"),
        (
            group("v1beta1") | {"kind": "Workload", "spec": {}},
            'spec: Invalid value: "": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`',
        ),
    ],
)
def test_the_next_version_has_its_own_fields(value: dict[str, Any], cause: str) -> None:
    assert [str(found) for found in validate(value, version="1.37").causes] == [cause]


def test_unknown_fields_and_removed_versions_are_refused() -> None:
    [cause] = validate(group(minCount=2)).causes
    assert cause.message == 'unknown field "spec.minCount"'
    assert validate(group(), version="1.37").code == 404


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop}
spec:
  schedulingGroup: {podGroupName: "Not a name"}
  containers: [{name: c, image: "registry.example.com/i:1"}]
"""
RACKS = """\
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: g, namespace: shop}
spec:
  schedulingPolicy: {basic: {}}
  schedulingConstraints: {topology: [{key: a}, {key: b}]}
"""


@pytest.mark.parametrize(
    ("text", "line", "gates", "severity"),
    [
        (POD, 5, "GenericWorkload=true", "error"),
        (POD, 5, "", "warning"),
        (POD, 5, "GenericWorkload=false", None),
        (RACKS, 6, "GenericWorkload=true,TopologyAwareWorkloadScheduling=true", "error"),
        (RACKS, 6, "GenericWorkload=true", "warning"),
        (RACKS, 6, "GenericWorkload=true,TopologyAwareWorkloadScheduling=false", None),
    ],
)
def test_a_field_behind_a_feature_gate_is_dropped_without_it(
    text: str, line: int, gates: str, severity: str | None
) -> None:
    found = lint(text=text, feature_gates=gates, select=["api-would-reject"]).findings
    assert [(f.location.span.line, f.severity.name.lower()) for f in found] == ([(line, severity)] if severity else [])
    if severity == "warning":
        assert any("is on; else the field is dropped" in premise for premise in found[0].evidence.assumes)
