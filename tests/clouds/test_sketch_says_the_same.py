"""``lint`` finds by the sketch of a cluster what it finds by the cluster, except where the sketch says less."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache

import pytest

from kubesched_lint import Report, lint, load_cluster
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.cluster.read import cluster_from
from kubesched_lint.cluster.sketching import Style, sketch_of
from kubesched_lint.record import replace
from scripts.cloud_fixtures import FOLDER
from tests.clouds.cloud_worlds import CLOUDS, manifests, text_for

FIXTURES = FOLDER.parent
EXACT, SHORT = Style(exact=True, node_groups="complete"), Style(node_groups="complete")
CLUSTERS = {
    **{name: FOLDER / name / "nodes.json" for name in CLOUDS},
    "kubectl-get": FIXTURES / "clusters" / "kubectl-get.json.gz",
    "kubectl-get-excerpt": FIXTURES / "clusters" / "kubectl-get-excerpt.json",
    "mixed-pools": FIXTURES / "clusters" / "mixed-pools.yaml",
}
SETS = (FIXTURES / "shop", FIXTURES / "manifests" / "clean")
WORDS = re.compile(r"[\w./=-]*\w")


@cache
def real(name: str) -> Cluster:
    return replace(load_cluster(CLUSTERS[name]), node_groups="complete")


@cache
def sketched(name: str, style: Style) -> Cluster:
    return again(real(name), style)


def again(cluster: Cluster, style: Style) -> Cluster:
    return cluster_from([("cluster.yaml", sketch_of(cluster, style).encode())], "cluster.yaml")


def texts_for(name: str) -> Mapping[str, str]:
    """Return path → text: the manifests of the clouds in the words of this one, and those of all clusters."""
    cloud = name if name in CLOUDS else "eks"
    ours = {f"{kind}/{m}.yaml": text_for(cloud, kind, m) for kind in ("mistakes", "healthy") for m in manifests(kind)}
    files = [file for folder in SETS for file in sorted(folder.rglob("*.yaml"))]
    return {**ours, **{str(file.relative_to(FIXTURES)): file.read_text() for file in files}}


def found(report: Report, cluster: Cluster) -> list[str]:
    """Return the findings, without names of nodes and without the order in lists: a sketch has neither."""
    names = {node.name for node in cluster.inventory.nodes}
    return sorted(
        " ".join([f.location.path, str(f.location.span.line), f.rule, f.severity.name, *_words(f.message, names)])
        for f in report.findings
    )


def _words(message: str, names: set[str]) -> list[str]:
    return sorted(word for word in WORDS.findall(message) if word not in names)


@cache
def expected(name: str) -> list[str]:
    return found(lint(text=dict(texts_for(name)), cluster=real(name)), real(name))


@pytest.mark.parametrize("style", [EXACT, SHORT], ids=["exact", "short"])
@pytest.mark.parametrize("name", CLUSTERS)
def test_a_sketch_finds_the_same(name: str, style: Style) -> None:
    cluster = sketched(name, style)
    assert len(expected(name)) > 10
    assert found(lint(text=dict(texts_for(name)), cluster=cluster), cluster) == expected(name)


def test_a_short_sketch_of_eleven_nodes_is_read_at_a_glance() -> None:
    text = sketch_of(real("eks"), SHORT)
    assert len(real("eks").inventory.nodes) == 11
    assert text.count("\n") <= 25
    assert max(map(len, text.splitlines())) <= 120
    assert len(sketch_of(real("eks"), Style()).splitlines()) <= 25, "undecided"


@pytest.mark.parametrize("name", CLOUDS)
def test_a_short_sketch_keeps_the_labels_that_people_select_on(name: str) -> None:
    kept = (
        "pool",
        "example.com/rack",
        "nodegroup",
        "capacity",
        "nodepool",
        "agentpool",
        "instance-type",
        "role",
        "spot",
    )
    pairs = {
        (key, value)
        for node in real(name).inventory.nodes
        for key, value in node.labels.items()
        if any(word in key for word in kept)
        and not key.startswith(("kubernetes.azure.com/nodepool-type", "kubernetes.azure.com/role"))
    }
    told = {pair for node in sketched(name, SHORT).inventory.nodes for pair in node.labels.items()}
    assert pairs - told == set()


# --- where a short sketch says less ---------------------------------------------------------------------------------

POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{{spec}, containers: [{{name: c, image: 'x:1'{more}}}]}}\n"
SPREAD = (
    "topologySpreadConstraints: [{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: DoNotSchedule, "
    "labelSelector: {{matchLabels: {{a: b}}}}}}]"
)


def rules(cluster: Cluster, spec: str, more: str = "") -> set[str]:
    report = lint(text=POD.format(spec=spec, more=more), cluster=cluster)
    return {f.rule for f in report.findings if f.severity.name == "ERROR"}


def test_a_selector_on_a_label_that_is_left_out_is_not_checked() -> None:
    spec = "nodeSelector: {eks.amazonaws.com/nodegroup-image: ami-0}"
    assert rules(real("eks"), spec) == {"nodeselector-matches-nothing"}
    assert rules(sketched("eks", EXACT), spec) == {"nodeselector-matches-nothing"}
    assert rules(sketched("eks", SHORT), spec) == set()


def test_a_topology_key_that_is_left_out_is_not_called_missing() -> None:
    assert "topology.k8s.aws/zone-id" in sketched("eks", SHORT).other_labels
    for cluster in (real("eks"), sketched("eks", EXACT), sketched("eks", SHORT)):
        assert rules(cluster, SPREAD.format(key="topology.k8s.aws/zone-id")) == set()
        assert rules(cluster, SPREAD.format(key="topology.k8s.aws/zone-ix")) != set()


def sized(*memory: str) -> Cluster:
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{i}", "labels": {"kubernetes.io/hostname": f"n{i}"}},
            "status": {"allocatable": {"cpu": "4", "memory": each, "pods": "110"}},
        }
        for i, each in enumerate(memory)
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes})
    return cluster_from([("nodes.json", text.encode())], "nodes.json")


def test_merged_nodes_have_the_room_of_the_smallest() -> None:
    cluster = sized("16000000Ki", "15900000Ki")
    asks = ", resources: {requests: {memory: 15950000Ki}}"
    assert rules(cluster, "priority: 0", asks) == rules(again(cluster, EXACT), "priority: 0", asks) == set()
    assert rules(again(cluster, SHORT), "priority: 0", asks) == {"resource-exceeds-any-node"}


def test_a_label_that_names_its_node_is_left_out() -> None:
    text = sketch_of(real("kubeadm"), SHORT)
    nodes = [
        replace(n, labels={**n.labels, "topology.topolvm.io/node": n.name}) for n in real("kubeadm").inventory.nodes
    ]
    inventory = replace(real("kubeadm").inventory, nodes=tuple(nodes))
    named = sketch_of(replace(real("kubeadm"), inventory=inventory), SHORT)
    assert named.replace("otherLabels: [topology.topolvm.io/node]\n", "") == text
