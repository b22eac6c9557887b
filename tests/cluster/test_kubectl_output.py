"""What kubectl prints is read as it comes: JSON, YAML, gzip, several calls in one file, files in a folder."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.sources.clusters.read import cluster_from, read_cluster

CLUSTERS = Path(__file__).parents[2] / "fixtures" / "clusters"
RECORDED = gzip.decompress((CLUSTERS / "kubectl-get.json.gz").read_bytes())


def of(*texts: str | bytes, name: str = "c.json") -> Cluster:
    files = [(name, t.encode() if isinstance(t, str) else t) for t in texts]
    return cluster_from(files, name)


def listed(*items: dict[str, Any], **more: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items, **more})


def node(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **more}


def pod(name: str, **more: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c"}], "nodeName": "a"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "x"}, "spec": spec, **more}


@pytest.fixture(scope="module")
def recorded() -> Cluster:
    return read_cluster(str(CLUSTERS / "kubectl-get.json.gz"))


def test_the_recording_holds_what_was_in_the_cluster(recorded: Cluster) -> None:
    inventory = recorded.inventory
    assert (len(inventory.nodes), len(inventory.pods), len(inventory.replica_sets)) == (60, 199, 4)
    assert [w.kind for w in inventory.workloads].count("Deployment") == 4
    assert (len(inventory.volumes), len(inventory.claims), len(inventory.csi_nodes)) == (3, 3, 60)
    assert inventory.autoscalers[0].max_replicas == 9
    assert sum(not p.node for p in inventory.pods) == 2
    assert recorded.resources_known
    assert recorded.kinds >= {"Node", "Pod", "Deployment", "CSINode", "PodDisruptionBudget"}
    assert not recorded.has("Service")


def test_yaml_and_json_say_the_same(recorded: Cluster) -> None:
    same = read_cluster(str(CLUSTERS / "kubectl-get.yaml.gz"))
    assert same_values(same.inventory, recorded.inventory)
    assert (same.kinds, same.captured_at) == (recorded.kinds, recorded.captured_at)


def test_the_newest_time_inside_is_the_age(recorded: Cluster) -> None:
    stamps = [i["status"].get("startTime", "") for i in json.loads(RECORDED)["items"] if i["kind"] == "Pod"]
    assert recorded.captured_at == max(stamps)
    assert "newest entry 4 days ago" in recorded.describe(lambda: datetime(2026, 11, 25, 12, tzinfo=UTC))


def test_a_file_may_hold_the_output_of_several_calls() -> None:
    texts = listed(node("a"), node("b")) + "\n" + listed(pod("p"))
    cluster = of(texts)
    assert len(cluster.inventory.nodes) == 2
    assert [p.name for p in cluster.inventory.pods] == ["p"]


def test_a_folder_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_text(listed(node("a")))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "pods.json.gz").write_bytes(gzip.compress(listed(pod("p")).encode()))
    (tmp_path / "notes.txt").write_text("not a cluster")
    cluster = read_cluster(str(tmp_path))
    assert (len(cluster.inventory.nodes), len(cluster.inventory.pods)) == (1, 1)


def test_typed_lists_of_the_raw_api_name_the_kind_of_their_items() -> None:
    nodes = {"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}
    pods = {"kind": "PodList", "apiVersion": "v1", "items": []}
    cluster = of(json.dumps(nodes), json.dumps(pods))
    assert [n.name for n in cluster.inventory.nodes] == ["a"]
    assert cluster.has("Pod")


def test_typed_lists_read_as_yaml_too() -> None:
    cluster = of("apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {name: a}\n", name="c.yaml")
    assert [n.name for n in cluster.inventory.nodes] == ["a"]


def test_a_mistake_in_yaml_is_placed() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n  spec:\n    taints: 3\n"
    with pytest.raises(ClusterError) as caught:
        of(text, name="c.yaml")
    assert (caught.value.line, caught.value.column) == (7, 13)


def test_a_single_object_is_a_cluster_of_one() -> None:
    assert [n.name for n in of(json.dumps(node("a"))).inventory.nodes] == ["a"]


def test_objects_named_twice_count_once() -> None:
    cluster = of(listed(node("a"), pod("p")), listed(node("a", spec={"unschedulable": True}), pod("p")))
    assert [n.unschedulable for n in cluster.inventory.nodes] == [True]
    assert len(cluster.inventory.pods) == 1


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_are_over_are_none_of_the_schedulers(phase: str) -> None:
    cluster = of(listed(node("a"), pod("done", status={"phase": phase}), pod("runs", status={"phase": "Running"})))
    assert [p.name for p in cluster.inventory.pods] == ["runs"]


def test_finished_jobs_are_left_out() -> None:
    over = {"conditions": [{"type": "Complete", "status": "True"}]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"spec": {}}}}
    names = [w.name for w in of(listed(node("a"), {**job, "status": over})).inventory.workloads]
    assert names == []
    assert [w.name for w in of(listed(node("a"), job)).inventory.workloads] == ["j"]


def test_kinds_that_are_not_read_are_counted() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    assert of(listed(node("a"), secret, secret)).unread_kinds == {"Secret": 2}


def test_replica_sets_are_revisions_and_only_bare_ones_are_workloads() -> None:
    owner = [{"kind": "Deployment", "name": "web", "controller": True}]
    spec = {"replicas": 2, "selector": {}, "template": {"metadata": {}, "spec": {}}}
    owned = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "ownerReferences": owner}}
    bare = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "bare"}}
    inventory = of(listed(node("a"), {**owned, "spec": spec}, {**bare, "spec": spec})).inventory
    assert [(r.name, r.owner) for r in inventory.replica_sets] == [("bare", ""), ("web-1", "web")]
    assert [w.name for w in inventory.workloads] == ["bare"]


def test_a_byte_order_mark_is_no_obstacle() -> None:
    assert of(b"\xef\xbb\xbf" + listed(node("a")).encode()).inventory.nodes


def test_windows_powershell_redirects_as_utf_16() -> None:
    assert of(listed(node("a")).encode("utf-16")).inventory.nodes


def test_flow_yaml_that_looks_like_json_is_yaml() -> None:
    text = "{apiVersion: v1, kind: Node, metadata: {name: a}}"
    assert of(text, name="c.yaml").inventory.nodes[0].name == "a"


def test_a_folder_of_manifests_is_no_cluster(tmp_path: Path) -> None:
    documents = [f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: web}}\n" for kind in ("Service", "ConfigMap")]
    (tmp_path / "web.yaml").write_text("---\n".join(documents))
    with pytest.raises(ClusterError) as caught:
        read_cluster(str(tmp_path))
    assert "holds no nodes (1 Service, 1 ConfigMap)" in caught.value.message
    assert "kubectl get nodes,pods -A -o json" in caught.value.message


def test_the_order_of_objects_in_a_file_means_nothing() -> None:
    """What is drawn or named among equals must not hang on it."""
    objects = [node("b"), node("a"), pod("p2"), pod("p1")]
    there, back = of(listed(*objects)).inventory, of(listed(*objects[::-1])).inventory
    assert [n.name for n in there.nodes] == ["a", "b"]
    assert same_values((there.nodes, there.pods), (back.nodes, back.pods))
