"""Labels of node-feature-discovery and its like are unknown, not absent, unless some node has one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  nodeSelector: {LABEL: "true"}
  containers: [{name: web, image: "web:1", resources: {requests: {cpu: 100m}}}]
"""
SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{name: worker, count: 3, labels: {LABELS}, allocatable: {cpu: "4", memory: 16Gi, pods: 20}}]
"""
NFD = "feature.node.kubernetes.io/"


@pytest.mark.parametrize(
    ("label", "labels", "severity", "daemon"),
    [
        (f"{NFD}pci-10de.present", "", "warning", "node-feature-discovery does not make"),
        (f"vendor.{NFD}x", "", "warning", "node-feature-discovery does not make"),
        ("nvidia.com/gpu.present", "", "warning", "gpu-feature-discovery does not make"),
        (f"{NFD}pci-10de.present", f"{NFD}cpu: x", "error", ""),
        ("notnvidia.com/gpu.present", "", "error", ""),
        ("disk", "", "error", ""),
    ],
)
def test_labels_of_daemons_are_unknown_until_a_node_has_one(
    tmp_path: Path, label: str, labels: str, severity: str, daemon: str
) -> None:
    (tmp_path / "web.yaml").write_text(POD.replace("LABEL", label))
    (tmp_path / "cluster.yaml").write_text(SKETCH.replace("LABELS", labels))
    request = Request((str(tmp_path / "web.yaml"),), str(tmp_path / "cluster.yaml"))
    findings = check(request, Options(), Rulebook.shipped()).findings
    (finding,) = (one for one in findings if one.rule == "nodeselector-matches-nothing")
    assert finding.severity.word == severity
    assert any(daemon in premise for premise in finding.evidence.assumes) or not daemon
