"""``kubesched-lint init`` writes a sketch that makes the nodes it was made from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import settings
from msgspec.structs import replace
from typer.testing import CliRunner

from kubesched_lint.cli.init import app
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodepools.known import KnownGroups
from kubesched_lint.engine.model.node import HOSTNAME, Node
from kubesched_lint.sources.clusters.read import cluster_from, read_cluster
from kubesched_lint.sources.sketches.sketching import Style, sketch_of
from tests import drawn as st
from tests.drawn import given
from tests.share import examples

CLUSTERS = Path(__file__).parents[2] / "fixtures" / "clusters"


EXACT = Style(exact=True)


def written(cluster: Cluster, style: Style) -> Cluster:
    text = sketch_of(cluster, style).encode()
    return cluster_from([("cluster.yaml", text)], "cluster.yaml")


def apart_from_names(nodes: tuple[Node, ...]) -> list[str]:
    """Sorted, without names, own hostnames, images, kubelets' versions and resources of which there is none."""
    hostnames = [n.labels.get(HOSTNAME) for n in nodes]

    def normal(node: Node) -> str:
        labels = dict(node.labels)
        if labels.get(HOSTNAME) is not None and hostnames.count(labels[HOSTNAME]) == 1:
            labels[HOSTNAME] = "its own"
        offer = None if node.allocatable is None else sorted((k, v) for k, v in node.allocatable.items() if v)
        same = replace(node, name="", labels={}, allocatable=None, images={}, path=(), kubelet_version="")
        return repr((sorted(labels.items()), offer, same))

    return sorted(map(normal, nodes))


def from_json(*nodes: dict[str, Any]) -> Cluster:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}).encode()
    return cluster_from([("nodes.json", text)], "nodes.json")


def test_the_recorded_cluster_comes_back_the_same() -> None:
    real = read_cluster(str(CLUSTERS / "kubectl-get.json.gz"))
    again = written(real, EXACT)
    assert apart_from_names(again.inventory.nodes) == apart_from_names(real.inventory.nodes)
    assert KnownGroups(again).is_elastic
    assert again.captured_at == real.captured_at
    assert len(yaml.safe_load(sketch_of(real, EXACT))["nodes"]) < 20


_LABELS = st.dictionaries(
    st.sampled_from([HOSTNAME, "topology.kubernetes.io/zone", "kubernetes.io/os", "karpenter.sh/nodepool", "pool"]),
    st.sampled_from(
        ["linux", "a", "yes", "on", "1", "1e3", "0x1", "null", "~", "", "a.b", "x_y", "2026-01-01", "-1", "a-"]
    ),
)
_NODES = st.fixed_dictionaries(
    {"labels": _LABELS},
    optional={
        "taints": st.lists(
            st.builds(
                lambda k, v, e: {"key": k, "value": v, "effect": e},
                st.sampled_from(["a", "node.kubernetes.io/not-ready"]),
                st.sampled_from(["", "b", "yes", "1"]),
                st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
            ),
            max_size=2,
        ),
        "unschedulable": st.booleans(),
        "allocatable": st.dictionaries(
            st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu", "hugepages-2Mi", "ephemeral-storage"]),
            st.sampled_from(["0", "1", "110", "3920m", "16Gi", "15058228Ki", "18242267924", "0.5"]),
        ),
        "ready": st.booleans(),
        "features": st.just(["GuaranteedQoSPodCPUResize"]),
    },
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(_NODES, min_size=1, max_size=7))
def test_any_cluster_comes_back_the_same(specs: list[dict[str, Any]]) -> None:
    real = from_json(
        *(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"n{i}", "labels": s["labels"]},
                "spec": {"taints": s.get("taints"), "unschedulable": s.get("unschedulable")},
                "status": {
                    **({"allocatable": s["allocatable"]} if "allocatable" in s else {}),
                    "conditions": [{"type": "Ready", "status": str(s.get("ready", True))}],
                    "declaredFeatures": s.get("features"),
                },
            }
            for i, s in enumerate(specs)
        )
    )
    again = written(real, EXACT)
    assert apart_from_names(again.inventory.nodes) == apart_from_names(real.inventory.nodes)
    assert len({n.name for n in again.inventory.nodes}) == len(specs)
    entries = [entry["name"] for entry in yaml.safe_load(sketch_of(real, EXACT))["nodes"]]
    assert len(set(entries)) == len(entries)


def test_no_two_entries_have_one_name() -> None:
    def of(zone: str, memory: str) -> dict[str, Any]:
        node = sized(f"n-{zone}-{memory}", memory)
        node["metadata"]["labels"] = {"karpenter.sh/nodepool": "general", "topology.kubernetes.io/zone": zone}
        return node

    real = from_json(of("a", "4Gi"), of("b", "4Gi"), of("a", "8Gi"), of("b", "8Gi"), of("c", "8Gi"))
    entries = [entry["name"] for entry in yaml.safe_load(sketch_of(real))["nodes"]]
    assert entries == ["general", "general-c"]  # general-b is a node of the first


def sized(name: str, memory: str) -> dict[str, Any]:
    allocatable = {"cpu": "4", "memory": memory, "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}


def test_nodes_of_nearly_the_same_size_can_be_joined() -> None:
    real = from_json(sized("a", "16000000Ki"), sized("b", "15990000Ki"), sized("c", "8000000Ki"))
    assert len(yaml.safe_load(sketch_of(real, EXACT))["nodes"]) == 3
    joined = sketch_of(real, Style(exact=True, within=1))
    assert "# Nodes of one entry differ by at most 1 %; allocatable is that of the smallest.\n" in joined
    entries = yaml.safe_load(joined)["nodes"]
    assert [(e.get("count", 1), e["allocatable"]["memory"]) for e in entries] == [(2, "15990000Ki"), (1, "8000000Ki")]
    short = yaml.safe_load(sketch_of(real))["nodes"]
    assert [(e.get("count", 1), e["allocatable"]["memory"]) for e in short] == [(2, "15615Mi"), (1, "7812Mi")]


def test_what_is_passing_is_said_above() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "spec": {"unschedulable": True}}
    text = sketch_of(from_json(node))
    assert "#   a: cordoned\n" in text
    assert "unschedulable: true" in text


# -- the command -----------------------------------------------------------------------------------------------------


def test_it_reads_a_file_and_prints() -> None:
    done = CliRunner().invoke(app, [str(CLUSTERS / "kubectl-get-excerpt.json")])
    assert done.exit_code == 0
    assert yaml.safe_load(done.stdout)["kind"] == "ClusterSketch"


def test_it_reads_standard_input_and_writes_a_file_once(tmp_path: Path) -> None:
    data = (CLUSTERS / "kubectl-get-excerpt.json").read_bytes()
    target = tmp_path / "cluster.yaml"
    for arguments in ([], ["-"]):
        done = CliRunner().invoke(app, [*arguments, "-o", str(target), "--force"], input=data)
        assert done.exit_code == 0
        assert "5 nodes in " in done.stderr
    assert len(read_cluster(str(target)).inventory.nodes) == 5
    again = CliRunner().invoke(app, ["-o", str(target)], input=data)
    assert again.exit_code == 2
    assert "exists; --force overwrites it" in again.stderr


def test_it_counts_the_objects_that_it_leaves_out() -> None:
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {}}
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1}
        for name in "ab"
    ]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1"}}}
    data = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, volume, *classes]})
    done = CliRunner().invoke(app, ["-"], input=data)
    assert done.exit_code == 0
    assert "left out: volumes (1), priority classes (2); `kubesched-lint snapshot` keeps them" in done.stderr


def test_a_folder_of_manifests_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")
    done = CliRunner().invoke(app, [str(tmp_path)])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.fixture
def terminal(tmp_path: Path) -> Any:
    """Runs the command with a terminal as its standard input and only ``tmp_path`` on the PATH."""
    pty = pytest.importorskip("pty")

    def run() -> subprocess.CompletedProcess[str]:
        controller, stdin = pty.openpty()
        try:
            return subprocess.run(
                [sys.executable, "-c", "from kubesched_lint.cli.init import app; app()"],
                stdin=stdin,
                capture_output=True,
                text=True,
                env={"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
                cwd=tmp_path,
                check=False,
            )
        finally:
            os.close(controller)
            os.close(stdin)

    return run


def fake_kubectl(folder: Path, script: str) -> None:
    (folder / "kubectl").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "kubectl").chmod(0o755)


def test_at_a_terminal_it_runs_kubectl(tmp_path: Path, terminal: Any) -> None:
    node = '{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}'
    fake_kubectl(tmp_path, f"test \"$*\" = 'get nodes -o json' && echo '{node}'")
    done = terminal()
    assert (done.returncode, done.stderr) == (0, "running kubectl get nodes -o json\n")
    assert yaml.safe_load(done.stdout)["nodes"][0]["name"] == "a"


def test_at_a_terminal_it_asks_for_karpenters_pools_where_labels_tell_of_them(tmp_path: Path, terminal: Any) -> None:
    labels = '{"karpenter.sh/nodepool":"general"}'
    node = f'{{"kind":"Node","apiVersion":"v1","metadata":{{"name":"a","labels":{labels}}}}}'
    pools = '{"kind":"List","items":[{"kind":"NodePool","apiVersion":"karpenter.sh/v1","metadata":{"name":"general"}}]}'
    script = f"case \"$2\" in nodes) echo '{node}';; nodepools.karpenter.sh) echo '{pools}';; esac"
    fake_kubectl(tmp_path, script)
    done = terminal()
    general = {"name": "general", "autoscaler": "karpenter", "expireAfter": "720h"}
    assert yaml.safe_load(done.stdout)["pools"] == [general]
    assert "running kubectl get nodepools.karpenter.sh -o json" in done.stderr
    fake_kubectl(tmp_path, script.replace(f"echo '{pools}'", "echo forbidden >&2; exit 1"))
    done = terminal()
    assert done.returncode == 0
    assert "kubectl failed: forbidden; the sketch holds no pools" in done.stderr
    assert "\n# nodeGroups: complete  # if every node group" in done.stdout


def test_a_kubectl_that_fails_is_quoted(tmp_path: Path, terminal: Any) -> None:
    fake_kubectl(tmp_path, "echo 'error: You must be logged in to the server' >&2; exit 1")
    done = terminal()
    assert done.returncode == 2
    assert "kubectl failed: error: You must be logged in to the server" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_kubectl_it_says_what_to_give(terminal: Any) -> None:
    done = terminal()
    assert done.returncode == 2
    assert "kubectl is not on the PATH" in done.stderr


@pytest.mark.parametrize(
    ("answer", "written"),
    [("n", "nodeGroups: complete"), ("", "nodeGroups: complete"), ("y", "nodeGroups: open")],
)
def test_a_person_at_a_terminal_is_asked_about_node_groups(tmp_path: Path, answer: str, written: str) -> None:
    labels = {"eks.amazonaws.com/nodegroup": "general"}
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "Node", "metadata": {"name": "a", "labels": labels}}))
    done, seen = _at_a_terminal(tmp_path / "nodes.json", f"{answer}\n")
    assert done.returncode == 0
    assert f"\n{written}\n" in done.stdout
    assert "node groups that have a node: general" in seen
    assert written in seen
    assert "Can pods also land on a node group that has no node now?" in seen


def test_nobody_is_asked_about_nodes_of_no_group(tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "Node", "metadata": {"name": "a"}}))
    done, seen = _at_a_terminal(tmp_path / "nodes.json", "")
    assert (done.returncode, seen) == (0, "")
    assert "nodeGroups" not in done.stdout


def test_a_person_may_leave_the_question(tmp_path: Path) -> None:
    """Ctrl-D was reported as a bug of the program."""
    labels = {"eks.amazonaws.com/nodegroup": "general"}
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "Node", "metadata": {"name": "a", "labels": labels}}))
    done, seen = _at_a_terminal(tmp_path / "nodes.json", "\x04", ("-m", "kubesched_lint", "init"))
    assert (done.returncode, done.stdout.strip()) == (130, "")
    assert "This is a bug" not in seen


ALONE = ("-c", "from kubesched_lint.cli.init import app; app()")


def _at_a_terminal(
    nodes: Path, typed: str, program: tuple[str, ...] = ALONE
) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run ``init`` with a terminal for input and errors; return its result, and what the terminal shows."""
    pty = pytest.importorskip("pty")
    controller, terminal = pty.openpty()
    try:
        os.write(controller, typed.encode())
        done = subprocess.run(
            [sys.executable, *program, str(nodes)],
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=terminal,
            text=True,
            timeout=60,
            check=False,
        )
        return done, _shown_by(controller)
    finally:
        os.close(controller)
        os.close(terminal)


def _shown_by(controller: int) -> str:
    """Return what a terminal shows: the echo of what was typed, and what programs wrote."""
    os.set_blocking(controller, False)
    try:
        return os.read(controller, 65_536).decode()
    except BlockingIOError:
        return ""


def real(name: str, host: str = "", size: str = "4", **labels: str) -> str:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: host or name, **labels}},
        "status": {"allocatable": {"cpu": size, "memory": "8Gi", "pods": "110"}},
    }
    return json.dumps(node)


def sketched(*nodes: str) -> list[Node]:
    """The nodes of the sketch that ``init`` writes of these nodes."""
    cluster = cluster_from([(f"{number}.yaml", node.encode()) for number, node in enumerate(nodes)], "cluster")
    return list(written(cluster, Style()).inventory.nodes)


def test_a_group_of_one_node_keeps_its_name() -> None:
    """A pod may select it by this name; a made-up one would be taken for the only name that there is."""
    alone = sketched(real("master-0", size="2"), real("db.example.com", "db"), real("gpu-0", size="8"))
    assert {node.name: node.labels[HOSTNAME] for node in alone} == {
        "master-0": "master-0",
        "db.example.com": "db",
        "gpu-0": "gpu-0",
    }


def test_a_made_up_name_is_none_that_another_node_has() -> None:
    found = sketched(real("a"), real("b"), real("node", size="2"), real("node-b-1", size="8"))
    names = [node.name for node in found]
    assert len(set(names)) == 4
    assert {"node", "node-b-1"} < set(names)
