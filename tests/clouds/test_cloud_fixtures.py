"""The node lists are what the description says, and show on each platform what only that platform shows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CLOUDS = ROOT / "fixtures" / "clouds"

TELLS = {
    "aks": "kubernetes.azure.com/agentpool",
    "eks": "eks.amazonaws.com/nodegroup",
    "eks-auto": "eks.amazonaws.com/compute-type",
    "gke": "cloud.google.com/gke-nodepool",
    "gke-autopilot": "cloud.google.com/gke-nodepool",
    "karpenter": "karpenter.sh/nodepool",
    "karpenter-nodepools": "karpenter.sh/nodepool",
    "kops": "kops.k8s.io/instancegroup",
    "kubeadm": "pool",
    "openshift": "node.openshift.io/os_id",
}


def nodes_of(cloud: str) -> list[dict[str, Any]]:
    listed = json.loads((CLOUDS / cloud / "nodes.json").read_text(encoding="utf-8"))
    return [item for item in listed["items"] if item["kind"] == "Node"]


def test_the_script_writes_the_node_lists() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/cloud_fixtures.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("cloud", TELLS)
def test_nodes_are_few_named_once_in_three_zones(cloud: str) -> None:
    nodes = nodes_of(cloud)
    assert 6 <= len(nodes) <= 12
    assert len({node["metadata"]["name"] for node in nodes}) == len(nodes)
    assert len({node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes}) == 3
    workers = [node for node in nodes if "node-role.kubernetes.io/control-plane" not in node["metadata"]["labels"]]
    assert all(TELLS[cloud] in node["metadata"]["labels"] for node in workers)
