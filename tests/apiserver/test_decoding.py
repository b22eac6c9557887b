"""Strict decoding in the words of sigs.k8s.io/json: types that decode themselves, wrong types, then unknown fields."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.engine.apiserver.values.decoding import conforms, decode
from kubesched_lint.engine.apiserver.values.schema import fields, go_type
from kubesched_lint.engine.base.releases import MODELLED


def deployment(**spec):
    container = {"name": "c", "image": "i"}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}}
    whole = {"selector": {"matchLabels": {"app": "a"}}, "template": template} | spec
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": whole}


def pod(**spec):
    whole = {"containers": [{"name": "c", "image": "i"}]} | spec
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": whole}


def refusal(value):
    verdict = validate(value)
    assert verdict.code == 400
    return verdict


def test_an_unknown_field_is_named_with_its_place_and_the_field_that_was_meant():
    verdict = refusal(pod(topologySpreadConstraint=[]))
    assert verdict.message == (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '
        'unknown field "spec.topologySpreadConstraint"'
    )
    (cause,) = verdict.causes
    assert cause.field == "spec.topologySpreadConstraint"
    assert cause.path == ("spec", "topologySpreadConstraint")
    assert cause.suggestion == "topologySpreadConstraints"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("nodeselector", "nodeSelector"),
        ("Tolerations", "tolerations"),
        ("affinty", "affinity"),
        ("priorityClass", "priorityClassName"),
        ("bananas", ""),
        ("container", ""),  # containers is there already
    ],
)
def test_did_you_mean(written, meant):
    assert refusal(pod(**{written: 1})).causes[0].suggestion == meant


def test_all_unknown_fields_are_listed_in_the_order_of_the_document():
    spec = {"zeta": 1, "containers": [{"name": "c", "image": "i", "imagee": 1}], "alpha": 2}
    names = [cause.field for cause in refusal(pod() | {"spec": spec}).causes]
    assert names == ["spec.zeta", "spec.containers[0].imagee", "spec.alpha"]


def test_only_the_first_wrong_type_is_told_and_unknown_fields_are_not():
    verdict = refusal(pod(nope=1, hostNetwork="yes", hostname=5))
    (cause,) = verdict.causes
    assert cause.message == "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool"
    assert cause.path == ("spec", "hostNetwork")


def test_a_quantity_that_does_not_parse_wins_over_everything_before_it():
    resources = {"requests": {"memory": "64mi"}}
    verdict = refusal(pod(hostNetwork="yes", containers=[{"name": "c", "image": "i", "resources": resources}]))
    assert verdict.message.endswith("cannot be handled as a Pod: unable to parse quantity's suffix")
    assert verdict.causes[0].path == ("spec", "containers", 0, "resources", "requests", "memory")
    assert verdict.causes[0].field == ""


@pytest.mark.parametrize(
    ("value", "found", "field"),
    [
        (deployment(replicas="3"), "string", "DeploymentSpec.spec.replicas of type int32"),
        (deployment(replicas=2.5), "number 2.5", "DeploymentSpec.spec.replicas of type int32"),
        (deployment(replicas=2**31), "number 2147483648", "DeploymentSpec.spec.replicas of type int32"),
        (deployment(template=[]), "array", "DeploymentSpec.spec.template of type v1.PodTemplateSpec"),
        (pod(tolerations={}), "object", "PodSpec.spec.tolerations of type []v1.Toleration"),
        (pod(tolerations=["x"]), "string", "PodSpec.spec.tolerations of type v1.Toleration"),
        (pod(nodeSelector=["a"]), "array", "PodSpec.spec.nodeSelector of type map[string]string"),
        (pod(nodeSelector={"a": True}), "bool", "PodSpec.spec.nodeSelector of type string"),
        (pod(restartPolicy=1), "number", "PodSpec.spec.restartPolicy of type v1.RestartPolicy"),
        (
            pod(tolerations=[{"operator": 1}]),
            "number",
            "Toleration.spec.tolerations.operator of type v1.TolerationOperator",
        ),
        (pod(overhead=[]), "array", "PodSpec.spec.overhead of type v1.ResourceList"),
        (
            deployment(strategy={"rollingUpdate": {"maxSurge": True}}),
            "bool",
            "RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
        (
            deployment(strategy={"rollingUpdate": {"maxSurge": 1.5}}),
            "number 1.5",
            "RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
    ],
)
def test_a_wrong_type_is_told_with_the_go_field_and_type(value, found, field):
    message = f"json: cannot unmarshal {found} into Go struct field {field}"
    assert refusal(value).causes[0].message == message


def test_a_whole_float_is_an_integer_as_kubectl_sends_it():
    assert validate(deployment(replicas=3.0)).accepted
    assert decode(deployment(replicas=3.0), "1.36", "v1.Deployment")[0]["spec"]["replicas"] == 3


def test_a_number_as_a_key_becomes_text():
    value = pod()
    value["metadata"]["labels"] = {1: "one"}
    assert decode(value, "1.36", "v1.Pod")[0]["metadata"]["labels"] == {"1": "one"}


def test_null_is_nothing_to_a_field_empty_text_to_a_label_and_an_empty_struct_in_a_list():
    value = pod(affinity=None, tolerations=[None], nodeSelector={"a": None})
    decoded, causes, _ = decode(value, "1.36", "v1.Pod")
    assert causes == ()
    assert "affinity" not in decoded["spec"]
    assert decoded["spec"]["tolerations"] == [{}]
    assert decoded["spec"]["nodeSelector"] == {"a": ""}


def test_a_clean_value_is_seen_as_such_without_copying():
    check = conforms("1.36", "v1.Pod")
    assert check(pod())
    assert check(pod() | {"metadata": {"name": "a", "creationTimestamp": None}})
    assert not check(pod(affinity=None))
    assert not check(pod(nope=1))
    assert not check(pod(priority=True))


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("2006-01-02T15:04:05Z", True),
        ("2006-01-02T15:04:05.123+02:00", True),
        ("2006-01-02", False),
        ("yesterday", False),
        ("", False),
    ],
)
def test_times_are_rfc_3339(text, fine):
    value = pod()
    value["metadata"]["creationTimestamp"] = text
    assert validate(value).accepted is fine


def test_managed_fields_may_hold_anything():
    value = pod()
    value["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": {"f:spec": {"k:{}": {}}}}]
    assert validate(value).accepted


def test_every_version_has_tables_and_newer_ones_know_more():
    assert all("containers" in fields(version, "v1.PodSpec") for version in MODELLED)
    assert "schedulingGroup" not in fields("1.30", "v1.PodSpec")
    assert "schedulingGroup" in fields("1.36", "v1.PodSpec")
    assert "evictionResponders" not in fields("1.36", "v1.PodSpec")
    assert "evictionResponders" in fields("1.37", "v1.PodSpec")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("s", "string"),
        ("[s:v1.Capability", "[]v1.Capability"),
        ("{s", "map[string]string"),
        ("{q:v1.ResourceList", "v1.ResourceList"),
        ("[*v1.Container", "[]v1.Container"),
        ("*v1.Affinity", "v1.Affinity"),
    ],
)
def test_codes_read_as_go_types(code, text):
    assert go_type(code) == text
