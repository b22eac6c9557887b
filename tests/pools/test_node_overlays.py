"""NodeOverlays: extended resources that Karpenter expects of machines, although no table lists them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubesched_lint.findings import Finding

Findings = Callable[..., dict[str, Finding]]
NODES = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{name: now, zones: [eu-west-1a], labels: {karpenter.sh/nodepool: general}, allocatable: {cpu: 4, memory: 8Gi}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large]}]
"""
PODS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, resources: {limits: {example.com/fuse: "2"}}}]}
"""


def overlay(requirement: str, amount: int) -> str:
    return (
        "---\napiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: fuse}\n"
        f"spec: {{requirements: [{requirement}], capacity: {{example.com/fuse: {amount}}}}}\n"
    )


@pytest.mark.parametrize("where", ["cluster", "manifests"])
@pytest.mark.parametrize(
    ("requirement", "amount", "fits"),
    [
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large]}", 2, True),
        ("{key: karpenter.sh/nodepool, operator: In, values: [general]}", 2, True),
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [m6i.xlarge]}", 2, False),
        ("{key: kubernetes.io/os, operator: Exists}", 1, False),
    ],
)
def test_a_device_of_an_overlay_counts_where_it_applies(
    findings_of: Findings, where: str, requirement: str, amount: int, fits: bool
) -> None:
    added = overlay(requirement, amount)
    nodes, manifests = (NODES + added, PODS) if where == "cluster" else (NODES, PODS + added)
    errors = [f.rule for f in findings_of(manifests, nodes).values() if f.severity.word == "error"]
    assert (not errors) == fits
