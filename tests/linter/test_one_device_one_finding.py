"""A mistake about devices is one finding: of the rules about devices, or of the verdict, which lists theirs.

``pods-stay-pending`` is stable and they are in preview: they yield to it.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kubesched_lint.findings import Finding, Severity
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.report.causes import causes
from kubesched_lint.report.findings.footer import counts
from kubesched_lint.rulebook.examples import Example, ExampleOptions
from kubesched_lint.rulebook.library import Rulebook

CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- name: gpu
  count: 2
  allocatable: {cpu: "8", memory: 32Gi}
  devices: [{class: gpu.example.com, count: 2, attributes: {model: A100}}]
- {name: worker, count: 2, allocatable: {cpu: "8", memory: 32Gi}}
"""
MANIFEST = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: training-gpus}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.example.com
          count: 2
          selectors: [{cel: {expression: 'device.attributes["gpu.example.com"].model == "A100"'}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: train}
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      resourceClaims: [{name: gpu, resourceClaimTemplateName: training-gpus}]
      containers:
      - name: train
        image: "registry.example.com/ml/train:1.0"
        resources: {requests: {cpu: "1", memory: 1Gi}, claims: [{name: gpu}]}
"""


def findings(manifest: str, cluster: str = CLUSTER, without: str = "") -> tuple[Finding, ...]:
    """``without``: what the rules that do not run are about."""
    book = Rulebook.shipped()
    example = Example("none", "none.md", 1, manifest, cluster=cluster, setting=ExampleOptions(profile="ci"))
    return lint_example(example, [rule for rule in book.select("ci") if rule.about != without], book).findings


def finding(manifest: str, cluster: str = CLUSTER) -> Finding:
    """Return the finding about devices: the only one, or beside the verdict that stands for it."""
    (found,) = findings(manifest, cluster)
    if found.rule != "pods-stay-pending":
        return found
    assert found.severity is Severity.ERROR
    (about_devices,) = (part for part in found.also if part.rule != "deploy-leaves-pending")
    assert about_devices.preview
    return about_devices


def test_without_a_mistake_there_is_none() -> None:
    assert findings(MANIFEST) == ()


@pytest.mark.parametrize(
    ("right", "wrong", "rule", "line"),
    [
        ("deviceClassName: gpu.example.com", "deviceClassName: gpus.example.com", "device-class-missing", 10),
        ("TemplateName: training-gpus", "TemplateName: trainin-gpus", "device-claim-missing", 24),
        ('model == "A100"', 'model == "H100"', "devices-do-not-match", 12),
        ("].model", "].modle", "device-selector-error", 12),
        ("count: 2\n          sel", "count: 3\n          sel", "devices-too-few", 11),
        ("replicas: 2", "replicas: 3", "devices-too-few", 18),
    ],
)
def test_a_mistake_is_one_finding_at_its_line(right: str, wrong: str, rule: str, line: int) -> None:
    assert right in MANIFEST
    found = finding(MANIFEST.replace(right, wrong))
    assert (found.rule, found.location.span.line) == (rule, line)
    assert found.help


def test_tainted_devices_are_one_finding() -> None:
    cluster = CLUSTER.replace("attributes: {model: A100}", "attributes: {model: A100}, taints: [broken=yes:NoSchedule]")
    assert finding(MANIFEST, cluster).rule == "devices-tainted"


def test_the_verdict_stays_for_who_ignores_rules_in_preview() -> None:
    (verdict,) = findings(MANIFEST.replace("replicas: 2", "replicas: 3"))
    assert (verdict.rule, verdict.severity, verdict.preview) == ("pods-stay-pending", Severity.ERROR, False)
    assert {part.rule for part in verdict.also} == {"deploy-leaves-pending", "devices-too-few"}


def test_the_finding_of_a_stable_rule_stays_for_who_ignores_rules_in_preview() -> None:
    stable, new = findings(MANIFEST.replace("replicas: 2", "replicas: 3"), without="verdict")
    assert (new.rule, new.preview, new.also, new.told_by) == ("devices-too-few", True, (), "")
    assert (stable.rule, stable.preview, stable.told_by) == ("deploy-leaves-pending", False, "devices-too-few")
    assert [group.others for group in causes([stable])] == [()], "without the other finding it is shown in full"


def test_two_findings_of_one_cause_are_counted_once() -> None:
    stable, new = findings(MANIFEST.replace("replicas: 2", "replicas: 3"), without="verdict")
    assert counts([stable, new])[Severity.WARNING] == counts([stable])[Severity.WARNING] == 1
    assert counts([stable, replace(new, severity=Severity.NOTE)]) == {
        Severity.ERROR: 0,
        Severity.WARNING: 1,
        Severity.NOTE: 1,
    }, "a less severe finding stands for no other"
