"""The node lists are what the description says, and show on each platform what only that platform shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

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


@pytest.mark.parametrize(
    ("cloud", "key"),
    [
        ("karpenter", "karpenter.k8s.aws"),
        ("karpenter-nodepools", "karpenter.k8s.aws"),
        ("eks-auto", "eks.amazonaws.com"),
    ],
)
def test_karpenter_labels_a_machine_with_the_memory_that_aws_sells(cloud: str, key: str) -> None:
    sold = {"m6i.xlarge": "16384", "r6i.2xlarge": "65536", "c6i.xlarge": "8192"}
    labels = [node["metadata"]["labels"] for node in nodes_of(cloud)]
    labelled = {(each["node.kubernetes.io/instance-type"], each[f"{key}/instance-memory"]) for each in labels}
    assert len(labelled) > 1
    assert labelled <= sold.items()


SCALED = ("aks", "eks", "gke", "kops", "openshift")


@pytest.mark.parametrize("cloud", SCALED)
def test_the_status_of_cluster_autoscaler_names_a_group_at_zero(cloud: str) -> None:
    status = yaml.safe_load((CLOUDS / "cluster-autoscaler" / f"{cloud}.yaml").read_text(encoding="utf-8"))
    groups = yaml.safe_load(status["data"]["status"])["nodeGroups"]
    ready = {group["name"]: group["health"]["nodeCounts"]["registered"]["ready"] for group in groups}
    assert [name for name, count in ready.items() if not count] == [next(name for name in ready if "gpu" in name)]
    old = (CLOUDS / "cluster-autoscaler" / f"{cloud}-before-1.30.yaml").read_text(encoding="utf-8")
    text = yaml.safe_load(old)["data"]["status"]
    assert re.findall(r"Name: +(\S+)", text) == list(ready)
