"""A DaemonSet and a Deployment of one name in two files are two ways to run one program."""

from __future__ import annotations

import pytest

from kubesched_lint import lint, load_cluster

NODES = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodeGroups: complete
nodes: [{name: a, count: 2, allocatable: {cpu: "4", memory: 16Gi}}]
"""
ENVOY = """
apiVersion: apps/v1
kind: %s
metadata: {name: %s, namespace: ingress}
spec:
  selector: {matchLabels: {app: envoy}}
  template:
    metadata: {labels: {app: envoy}}
    spec:
      containers: [{name: envoy, image: x, ports: [{containerPort: 80, hostPort: 80}]}]
"""


@pytest.mark.parametrize(
    ("paths", "name", "is_found"),
    [
        (("daemonset/envoy.yaml", "deployment/envoy.yaml"), "envoy", False),
        (("envoy.yaml", "envoy.yaml"), "envoy", True),
        (("daemonset/envoy.yaml", "deployment/envoy.yaml"), "edge", True),
    ],
)
def test_alternatives_take_the_port_once(paths: tuple[str, str], name: str, is_found: bool) -> None:
    texts: dict[str, str] = {}
    for path, text in zip(paths, (ENVOY % ("DaemonSet", "envoy"), ENVOY % ("Deployment", name)), strict=True):
        texts[path] = f"{texts.get(path, '')}---{text}"
    found = lint(text=texts, cluster=load_cluster(text=NODES), select=["hostport-cross-workload"]).findings
    assert bool(found) == is_found
