"""Machine configurations of Talos become a sketch: what they say of nodes, and nothing that they do not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.sketches.talos import talos_sketch
from tests.program import called

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
TALHELPER = """\
clusterName: home
endpoint: https://10.0.0.1:6443
MORE
nodes:
- {hostname: cp1, ipAddress: 10.0.0.2, controlPlane: true, nodeLabels: {topology.kubernetes.io/zone: a}}
- hostname: w1
  ipAddress: 10.0.0.3
  nodeLabels: {gpu: "true"}
  patches:
  - |-
    machine:
      kubelet: {extraArgs: {register-with-taints: "dedicated=gpu:NoSchedule,slow=:PreferNoSchedule"}}
worker:
  nodeLabels: {tier: edge, gpu: "false"}
"""


def sketched(*files: str, path: str = "") -> str:
    named = [(path or f"talos/node-{number}.yaml", text.encode()) for number, text in enumerate(files)]
    return talos_sketch(named, "talos")


def read(text: str) -> Cluster:
    return cluster_from([("sketch.yaml", text.encode())], "sketch.yaml")


def node(text: str, name: str) -> Node:
    (found,) = [one for one in read(text).inventory.nodes if one.name == name]
    return found


def taints(found: Node) -> list[str]:
    return [f"{one.key}={one.value}:{one.effect}" for one in found.taints]


def machine(kind: str, more: str = "", cluster: str = "", hostname: str = "n1") -> str:
    network = f"network: {{hostname: {hostname}}}, " if hostname else ""
    return f"version: v1alpha1\nmachine: {{{network}type: {kind}{more}}}\ncluster: {{{cluster}}}\n"


def test_labels_and_taints_of_talhelpers_nodes() -> None:
    text = sketched(TALHELPER.replace("MORE", ""))
    first, second = node(text, "cp1"), node(text, "w1")
    assert (first.labels[CONTROL_PLANE], first.labels["topology.kubernetes.io/zone"]) == ("", "a")
    assert taints(first) == [f"{CONTROL_PLANE}=:NoSchedule"]
    assert (second.labels["tier"], second.labels["gpu"]) == ("edge", "true")
    assert taints(second) == ["dedicated=gpu:NoSchedule", "slow=:PreferNoSchedule"]
    assert (first.allocatable, second.allocatable, second.elastic) == (None, None, False)
    open_to_all = sketched(TALHELPER.replace("MORE", "allowSchedulingOnControlPlanes: true"))
    assert taints(node(open_to_all, "cp1")) == []


@pytest.mark.parametrize(
    ("cluster", "more", "expected"),
    [
        ("", "", [f"{CONTROL_PLANE}=:NoSchedule"]),
        ("allowSchedulingOnControlPlanes: true", "", []),
        ("allowSchedulingOnMasters: true", "", []),
        ("allowSchedulingOnControlPlanes: false", "", [f"{CONTROL_PLANE}=:NoSchedule"]),
        (
            "allowSchedulingOnControlPlanes: true",
            ", nodeTaints: {a: 'b:NoExecute', c: NoSchedule}",
            ["a=b:NoExecute", "c=:NoSchedule"],
        ),
    ],
)
def test_taints_of_control_planes(cluster: str, more: str, expected: list[str]) -> None:
    assert taints(node(sketched(machine("controlplane", more, cluster)), "n1")) == expected


def test_documents_of_talos_1_14() -> None:
    others = (
        "---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: edge-1\n"
        f"---\napiVersion: v1alpha1\nkind: KubeNodeConfig\n"
        f"labels: {{{CONTROL_PLANE}: '', a: b}}\ntaints: {{x: 'y:NoSchedule'}}\n"
        "---\napiVersion: v1alpha1\nkind: KubeletConfig\nconfig: {registerWithTaints: [{key: k, effect: NoExecute}]}\n"
    )
    found = node(sketched(machine("controlplane", hostname="") + others), "edge-1")
    assert (found.labels["a"], found.labels[CONTROL_PLANE]) == ("b", "")
    assert taints(found) == ["x=y:NoSchedule", "k=:NoExecute"]


@pytest.mark.parametrize(
    "more", [", nodeTaints: {a: NoSchedule}", ", nodeLabels: {node-role.kubernetes.io/worker: ''}"]
)
def test_what_a_worker_may_not_set_is_unknown(more: str) -> None:
    """NodeRestriction refuses the change of the node as a whole, so that other labels may be absent, too."""
    labels = "nodeLabels: {disk: ssd, " if "nodeLabels: {" in more else "nodeLabels: {disk: ssd}"
    text = sketched(
        machine("worker", more.replace("nodeLabels: {", labels) if "nodeL" in more else f"{more}, {labels}")
    )
    found = node(text, "n1")
    assert (found.taints, "disk" in found.labels) == ((), False)
    assert "disk" in yaml.safe_load(text)["otherLabels"]
    assert "NodeRestriction refuses" in text


@pytest.mark.parametrize(
    "key",
    ["disk", "example.com/a", "topology.kubernetes.io/zone", "feature.node.kubernetes.io/gpu", "node.kubernetes.io/x"],
)
def test_what_a_worker_may_set_is_known(key: str) -> None:
    assert node(sketched(machine("worker", f", nodeLabels: {{{key}: v}}")), "n1").labels[key] == "v"


@pytest.mark.parametrize("value", ["yes", "1.10", "'${RACK}'", "'ENC[AES256_GCM,data:x]'", "null"])
def test_a_value_that_is_not_written_is_unknown(value: str) -> None:
    text = sketched(machine("worker", f", nodeLabels: {{rack: {value}}}"))
    assert "rack" not in node(text, "n1").labels
    assert yaml.safe_load(text)["otherLabels"] == ["rack"]


def test_patches_are_merged_or_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "outside").symlink_to("/etc")
    Path("labels.yaml").write_text("machine: {nodeLabels: {team: a, gone: {$patch: delete}}}\n")
    patches = ["@./labels.yaml", "@./none.yaml", "@../../etc/passwd", "@outside/passwd", "@a\n\x1b[31mnodes: []"]
    patches += ['[{"op": "add", "path": "/machine/nodeLabels", "value": {}}]', "[{op: remove, path: /machine/time}]"]
    value = {
        "clusterName": "x",
        "endpoint": "y",
        "patches": patches,
        "nodes": [{"hostname": "w", "nodeLabels": {"gone": "1"}}],
    }
    text = sketched(yaml.safe_dump(value), path="talconfig.yaml")
    assert {key for key in node(text, "w").labels if "/" not in key} == {"team"}
    for name in ("./none.yaml", "../../etc/passwd", "outside/passwd"):
        assert f"# w: the patch {name} is not read" in text
    assert text.count("a patch of JSON is not read") == 1
    assert ("root:" in text, "\x1b" in text, len(read(text).inventory.nodes)) == (False, False, 1)


def test_a_configuration_for_several_machines_is_elastic() -> None:
    """A pod that no such machine can run is then a warning: nobody knows how many there are."""
    found = read(sketched(machine("worker", hostname="")))
    assert [(one.name, one.elastic) for one in found.inventory.nodes] == [("node-0", True)]


@pytest.mark.parametrize("name", ["${NAME}", "7", "''", "[a]"])
def test_a_name_must_be_known(name: str) -> None:
    with pytest.raises(ClusterError, match="fill in its variables first"):
        sketched(TALHELPER.replace("MORE", "").replace("hostname: w1", f"hostname: {name}"))


@pytest.mark.parametrize(
    "text", ["", "a: b", "kind: List\nitems: []", "machine: 1", "nodes: []\nclusterName: x", "a: [", "- 1"]
)
def test_other_files_are_none_of_talos(text: str) -> None:
    assert sketched(text) == ""


@pytest.mark.parametrize("value", ["null", "1", "[]", "x", "{a: {b: c}}", "[[1]]", "{$patch: delete}"])
@pytest.mark.parametrize(
    "key", ["nodeLabels", "nodeTaints", "kubelet", "patches", "controlPlane", "hostname", "network"]
)
def test_odd_types_make_no_other_error(key: str, value: str) -> None:
    for text in (
        TALHELPER.replace("MORE", f"{key}: {value}"),
        TALHELPER.replace("MORE", "").replace('nodeLabels: {gpu: "true"}', f"{key}: {value}"),
        machine("worker", f", {key}: {value}"),
        machine("controlplane", f", kubelet: {{extraArgs: {value}, extraConfig: {{registerWithTaints: {value}}}}}"),
    ):
        try:
            read(sketched(text))
        except ClusterError:
            pass


def test_init_writes_it(tmp_path: Path) -> None:
    (tmp_path / "talos").mkdir()
    (tmp_path / "talos" / "talconfig.yaml").write_text(TALHELPER.replace("MORE", ""))
    (tmp_path / "talos" / "talenv.yaml").write_text("a: b\n")
    done = called("init", "talos", "-o", "cluster.yaml", cwd=tmp_path, environ=os.environ)
    assert (done.returncode, done.stderr) == (0, "cluster.yaml: 2 nodes in 2 entries\n")
    spec = "{nodeSelector: {gpu: 'false'}, containers: [{name: a, image: b}]}"
    (tmp_path / "pod.yaml").write_text(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {spec}\n")
    shown = called("lint", "pod.yaml", "-c", "cluster.yaml", cwd=tmp_path, environ=os.environ).stdout
    assert "none of the 2 nodes matches gpu=false" in shown
