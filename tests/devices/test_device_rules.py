"""The rules about devices as they will be once they are stable: their proofs are errors, and no run refutes one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import BAD, FINE, UNKNOWN
from kubesched_lint.engine.placing import attempts
from kubesched_lint.explaining.devices.words import guarded
from kubesched_lint.findings import Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.examples import Example, examples, rules_for
from kubesched_lint.rulebook.library import Rule, Rulebook
from tests.devices.inventories import DRIVER
from tests.devices.sets import (
    API,
    GPU_CLASS,
    KINDS,
    claim,
    cluster_of,
    devices_on,
    manifests_of,
    node,
    template,
    using,
    wanting,
)
from tests.events.simulated import Value, cell, other, report_of, workload

BOOK = Rulebook.shipped()
PROVING = [rule for rule in BOOK if rule.family == "devices" and "proof" in rule.evidence]
DEVICES = [rule for rule in BOOK if rule.family == "devices"]
SHOWN = [e for rule in PROVING for e in examples(BOOK.card(rule.slug)) if e.has("finding")]


def stable(rule: Rule) -> Rule:
    return replace(rule, preview=False, severity=Severity.ERROR) if rule in PROVING else rule


@pytest.mark.parametrize("example", SHOWN, ids=str)
def test_proofs_are_errors_that_no_run_refutes(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "raising", True)
    rules = [stable(rule) for rule in rules_for(example, BOOK)]
    own = [f for f in lint_example(example, rules, BOOK).findings if f.rule == example.slug]
    proven = {f.message for f in own if f.evidence.kind == "proof"}
    assert own
    assert {f.message for f in own if f.severity is Severity.ERROR} == proven


def test_every_rule_shows_a_proof() -> None:
    def proven(example: Example) -> set[str]:
        report: Any = lint_example(example, rules_for(example, BOOK), BOOK)
        return {f.rule for f in report.findings if f.evidence.kind == "proof"}

    assert {rule.slug for rule in PROVING} <= set().union(*map(proven, SHOWN))


def messages(rule: str, cluster: Cluster, *objects: Value, **options: Any) -> list[str]:
    report, _ = lint(manifests_of(*objects), cluster, Options(**options), [BOOK.get(rule)])
    return [finding.message for finding in report.findings] + [skip.reason for skip in report.skipped]


THREE = [node(f"n{i}") for i in range(3)]
SHARED = using(2, resourceClaimName="gpu")


def test_a_claim_that_has_its_devices_pins_pods_to_their_node() -> None:
    there = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
    allocated = {**claim(), "status": {"allocation": {"devices": {"results": []}, "nodeSelector": there}}}
    (found,) = messages("shared-claim-pins-pods", cluster_of(*THREE, GPU_CLASS, allocated), SHARED)
    assert "run on one node (n1)" in found


def test_devices_of_all_nodes_pin_no_pod() -> None:
    network = other(
        "ResourceSlice", "net", API, spec={**devices_on("n0", 1)["spec"], "nodeName": None, "allNodes": True}
    )
    assert not messages("shared-claim-pins-pods", cluster_of(*THREE, GPU_CLASS, network), claim(), SHARED)


def test_devices_of_all_nodes_suffice_for_so_many_replicas_in_all() -> None:
    network = other(
        "ResourceSlice", "net", API, spec={**devices_on("n0", 2)["spec"], "nodeName": None, "allNodes": True}
    )
    (found,) = messages("devices-too-few", cluster_of(*THREE, GPU_CLASS, network), template(), using(3))
    assert found.startswith("only 2 of 3 pods of Deployment default/train can have devices: each takes 1 ")


def test_requests_of_one_pod_for_the_same_devices_are_counted_together() -> None:
    twice = other("ResourceClaimTemplate", "gpu", API, spec={"spec": {"devices": both(wanting())}})
    (found,) = messages("devices-too-few", cluster_of(*THREE, GPU_CLASS, devices_on("n0", 1)), twice, using(1))
    assert "together with the other requests for them, needs 2 devices" in found


def both(wanted: Value) -> Value:
    (request,) = wanted["requests"]
    return {"requests": [request, {**request, "name": "more"}]}


@pytest.mark.parametrize(("names", "kind"), [(["a"], "proof"), (["a", "b"], "witness")])
def test_a_selector_that_fails_everywhere_is_proven_if_nobody_else_takes_the_device(
    names: list[str], kind: str
) -> None:
    reading = [{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "a"'}}]
    cluster = cluster_of(*THREE, GPU_CLASS, devices_on("n0", 1))
    manifests = manifests_of(template(selectors=reading), *(using(1, name) for name in names))
    report, _ = lint(manifests, cluster, Options(), [BOOK.get("device-selector-error")])
    assert {finding.evidence.kind for finding in report.findings} == {kind}
    assert "no such key: model" in report.findings[0].evidence.text


def test_devices_whose_lists_overlap_match() -> None:
    """No list equals another, and each two have a common value; all three have none."""
    apart = devices_on("n1", 3)
    for device, numbers in zip(apart["spec"]["devices"], ([0, 1], [1, 2], [2, 0]), strict=True):
        device["attributes"] = {"numa": {"ints": numbers}}
    cluster = cluster_of(*THREE, GPU_CLASS, apart)

    def waiting(count: int) -> list[str]:
        alike = template(count=count)
        alike["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": f"{DRIVER}/numa"}]
        return [
            m for rule in ("devices-too-few", "deploy-leaves-pending") for m in messages(rule, cluster, alike, using(1))
        ]

    assert waiting(2) == []
    (trial,) = waiting(3)
    assert trial.endswith("it did in every simulated order (3 cannot allocate all claims)")


@pytest.mark.parametrize("rule", [rule.slug for rule in DEVICES])
def test_before_the_feature_gate_is_on_by_default_every_rule_is_skipped(rule: str) -> None:
    cluster = cluster_of(*THREE, GPU_CLASS, devices_on("n0", 1))
    found = messages(rule, cluster, template(count=9), using(9), kubernetes_version="1.33")
    assert found == ["the feature gate DynamicResourceAllocation is off by default in 1.33"]


@pytest.mark.parametrize("count", [-1, 0, 10**12])
def test_counts_that_the_api_server_refuses_break_no_rule(count: int) -> None:
    twice = other("ResourceClaimTemplate", "gpu", API, spec={"spec": {"devices": both(wanting(count))}})
    twice["spec"]["spec"]["devices"]["requests"][1]["exactly"] = {"deviceClassName": "gpu"}
    report, _ = lint(
        manifests_of(twice, using(2)), cluster_of(*THREE, GPU_CLASS, devices_on("n0", 1)), Options(), DEVICES
    )
    assert not report.errors


@pytest.mark.parametrize(("expression", "better"), [
    ('device.attributes["d"].a == 1', 'has(device.attributes["d"].a) && device.attributes["d"].a == 1'),
    ('true || device.capacity["d"].a', 'has(device.capacity["d"].a) && (true || device.capacity["d"].a)'),
    ('device.attributes["d"]["a"] == 1', ""),
    ('device.attributes["d"].a == device.attributes["e"].a', ""),
    ('device.attributes["d"].b == 1', ""),
])  # fmt: skip
def test_a_selector_asks_first_for_what_it_reads(expression: str, better: str) -> None:
    assert guarded(expression, "a") == better


# --- extended resources that a class serves ---------------------------------------------------------------------------

SERVING = {**GPU_CLASS, "spec": {**GPU_CLASS["spec"], "extendedResourceName": "example.com/gpu"}}


def plugged(count: int) -> Value:
    """A node whose device plugin offers the extended resource."""
    found = node("n3")
    found["status"]["allocatable"]["example.com/gpu"] = str(count)
    return found


PLUGGED = plugged(4)


def by_resource(replicas: int, amount: int = 1, name: str = "example.com/gpu") -> Value:
    spec = {"containers": [{"name": "c", "resources": {"limits": {name: str(amount)}}}]}
    return workload("Deployment", "train", replicas, spec)


@pytest.mark.parametrize(
    ("rule", "slices", "pods", "says"),
    [
        ("devices-too-few", (devices_on("n0", 2), devices_on("n1", 1)), by_resource(4), "only 3 of 4 pods"),
        (
            "devices-too-few",
            (devices_on("n0", 2),),
            by_resource(1, 3),
            "the claim for example.com/gpu needs 3 devices, and no node has more than 2",
        ),
        ("devices-too-few", (devices_on("n0", 2),), by_resource(2, 1, "deviceclass.resource.kubernetes.io/gpu"), ""),
        ("devices-do-not-match", (), by_resource(1), "there is no device on 3 nodes that it may use"),
        (
            "devices-tainted",
            (devices_on("n0", 1, taints=[{"key": "k", "effect": "NoSchedule"}]),),
            by_resource(1),
            "1 of 1 device for the claim for example.com/gpu on 3 nodes has the taint k:NoSchedule",
        ),
    ],
)
def test_rules_judge_extended_resources_like_claims(
    rule: str, slices: tuple[Value, ...], pods: Value, says: str
) -> None:
    found = messages(rule, cluster_of(*THREE, SERVING, *slices), pods)
    assert len(found) == bool(says)
    assert all(says in message for message in found)


def test_they_are_silent_about_resources_of_device_plugins() -> None:
    cluster = cluster_of(*THREE, PLUGGED, GPU_CLASS, devices_on("n0", 1))
    assert [messages(rule.slug, cluster, by_resource(9)) for rule in DEVICES] == [[] for _ in DEVICES]


def test_they_count_resources_of_device_plugins_beside_devices() -> None:
    cluster = cluster_of(*THREE, PLUGGED, SERVING, devices_on("n0", 1))
    assert [messages(rule.slug, cluster, by_resource(5)) for rule in DEVICES] == [[] for _ in DEVICES]
    (found,) = messages("devices-too-few", cluster, by_resource(9))
    assert "only 5 of 9 pods of Deployment default/train can have devices" in found
    assert "there are 5 on 4 nodes" in found
    assert not messages("devices-too-few", cluster, by_resource(1, 3))
    assert not messages("devices-do-not-match", cluster_of(*THREE, PLUGGED, SERVING), by_resource(1, 3))
    assert not messages("devices-too-few", cluster_of(plugged(40), SERVING), by_resource(1, 40))


def test_a_node_whose_plugin_offers_too_little_is_named_beside_nodes_with_devices() -> None:
    daemon = by_resource(0, 5)
    daemon["kind"] = "DaemonSet"
    del daemon["spec"]["replicas"]
    cluster = cluster_of(*THREE, PLUGGED, SERVING, devices_on("n0", 5))
    (found,) = messages("resource-exceeds-any-node", cluster, daemon)
    assert "requests example.com/gpu 5" in found
    assert "n3" in found


def test_that_no_class_serves_a_resource_is_an_assumption_where_it_is_not_known() -> None:
    own = by_resource(1, 1, "deviceclass.resource.kubernetes.io/gpu")
    for kinds, assumed in ((KINDS, False), ([k for k in KINDS if k != "DeviceClass"], True)):
        for pods, rule in ((by_resource(1), "extended-resource-missing"), (own, "resource-exceeds-any-node")):
            cluster = cluster_of(*THREE, kinds=kinds)
            report, _ = lint(manifests_of(pods), cluster, Options(), [BOOK.get(rule)])
            assert any("no DeviceClass offers" in one for one in report.findings[0].evidence.assumes) == assumed
            found = cell(report_of(cluster, pods, events=("deploy",)), "train", "deploy")
            # Under the prefix of Kubernetes only device allocation serves a resource, and nobody tells of its drivers.
            is_open = assumed and pods is own
            assert (found.verdict, found.proven) == ((UNKNOWN, False) if is_open else (BAD, True))
            assert (report.findings[0].severity.word == "warning") is is_open
            assert any("no DeviceClass offers" in premise for premise in found.assumes) == assumed


@pytest.mark.parametrize(("labels", "verdict", "says"), [
    (None, FINE, "namespace default has the label"),
    ({"resource.kubernetes.io/admin-access": "true"}, FINE, ""),
    ({}, UNKNOWN, "who sets the label"),
])  # fmt: skip
def test_admin_access_needs_a_label_of_the_namespace(labels: Value | None, verdict: str, says: str) -> None:
    objects = [] if labels is None else [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}]
    for found in objects:
        found["metadata"]["labels"] = labels
    cluster = cluster_of(*THREE, GPU_CLASS, devices_on("n0", 1))
    report = report_of(cluster, *objects, template(adminAccess=True), using(2), events=("deploy",))
    found = cell(report, "train", "deploy")
    assert found.verdict == verdict
    assert any("resource.kubernetes.io/admin-access" in text for text in (*found.assumes, *found.missing)) == bool(says)
    assert all(says in text for text in (*found.assumes, *found.missing) if "admin-access" in text)
