"""GKE Autopilot makes the machines that a nodeSelector asks for: Arm, accelerators, compute classes, machine families.

https://cloud.google.com/kubernetes-engine/docs/how-to/autopilot-arm-workloads and …/autopilot-gpus.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubesched_lint.findings import Finding

AUTOPILOT = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: other, zones: [europe-west1-b], labels: {kubernetes.io/arch: amd64}, allocatable: {cpu: "2", memory: 8Gi}}
pools: [{name: autopilot, autoscaler: gke-autopilot, zones: [europe-west1-b, europe-west1-c]}]
"""
GPU = "}, limits: {nvidia.com/gpu: 1}}}"

Findings = Callable[..., dict[str, Finding]]
Writer = Callable[..., str]


@pytest.mark.parametrize(
    ("selector", "cpu", "devices"),
    [
        ("kubernetes.io/arch: arm64", "1", ""),
        ("cloud.google.com/gke-accelerator: nvidia-l4", "1", GPU),
        ("cloud.google.com/compute-class: Performance", "100", ""),
        ("cloud.google.com/machine-family: c4a", "60", ""),
    ],
)
def test_a_selector_alone_asks_for_machines(
    findings_of: Findings, deployment: Writer, selector: str, cpu: str, devices: str
) -> None:
    manifests = deployment(cpu=cpu, pod=f"nodeSelector: {{{selector}}}").replace("}}}", devices or "}}}")
    assert findings_of(manifests, AUTOPILOT) == {}


@pytest.mark.parametrize(
    ("pod", "cpu", "devices", "rule"),
    [
        ("nodeSelector: {kubernetes.io/arch: s390x}", "1", "", "pool-cannot-provide-label"),
        ("nodeSelector: {group: a}", "1", "", "pool-cannot-provide-label"),
        ("", "100", "", "resource-exceeds-any-node"),
        ("", "1", GPU, "extended-resource-missing"),
    ],
)
def test_machines_for_general_purposes_have_bounds(
    findings_of: Findings, deployment: Writer, pod: str, cpu: str, devices: str, rule: str
) -> None:
    manifests = deployment(cpu=cpu, pod=pod).replace("}}}", devices or "}}}")
    assert findings_of(manifests, AUTOPILOT)[rule].severity.word == "error"
