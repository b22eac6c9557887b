"""A hand-written sketch makes the nodes that a person means by it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.cluster.nodepools.known import KnownGroups
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Taint
from kubesched_lint.sources.clusters.read import cluster_from, read_cluster

CLUSTERS = Path(__file__).parents[2] / "fixtures" / "clusters"
HEAD = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n"


def sketch(body: str, **options: bool) -> Cluster:
    return cluster_from([("cluster.yaml", (HEAD + body).encode())], "cluster.yaml", **options)


def refusal(body: str) -> ClusterError:
    with pytest.raises(ClusterError) as caught:
        sketch(body)
    return caught.value


ISSUE = """\
nodes:
- {name: worker, count: 2, zones: [eu-west-1a, eu-west-1b, eu-west-1c], labels: {pool: general}, \
allocatable: {cpu: "4", memory: 16Gi}}
- {name: gpu, count: 1, zones: [eu-west-1a], taints: [dedicated=gpu:NoSchedule]}
"""


def test_count_is_per_zone() -> None:
    names = [node.name for node in sketch(ISSUE).inventory.nodes]
    assert names == [
        "worker-eu-west-1a-1",
        "worker-eu-west-1a-2",
        "worker-eu-west-1b-1",
        "worker-eu-west-1b-2",
        "worker-eu-west-1c-1",
        "worker-eu-west-1c-2",
        "gpu",
    ]


def test_hostname_zone_and_os_are_filled_in() -> None:
    node = sketch(ISSUE).inventory.nodes[2]
    assert node.labels == {
        HOSTNAME: "worker-eu-west-1b-1",
        ZONE: "eu-west-1b",
        "kubernetes.io/os": "linux",
        "beta.kubernetes.io/os": "linux",
        "pool": "general",
    }


def test_a_null_label_takes_the_filled_in_one_away_and_a_written_one_replaces_it() -> None:
    body = "nodes: [{name: a, zones: [z], labels: {kubernetes.io/hostname: null, kubernetes.io/os: windows}}]"
    labels = {ZONE: "z", "kubernetes.io/os": "windows", "beta.kubernetes.io/os": "windows"}
    assert sketch(body).inventory.nodes[0].labels == labels


def test_a_node_without_zones_or_with_a_null_zone_has_no_zone_label() -> None:
    for zones in ("", ", zones: []", ", zones: [null]"):
        (node,) = sketch(f"nodes: [{{name: a{zones}}}]").inventory.nodes
        assert ZONE not in node.labels
        assert node.name == "a"


def test_pods_default_to_110_where_resources_are_given() -> None:
    worker, gpu = sketch(ISSUE).inventory.nodes[0], sketch(ISSUE).inventory.nodes[-1]
    assert worker.allocatable == {"cpu": 4000, "memory": 16 << 30, "pods": 110}
    assert gpu.allocatable is None
    assert not sketch(ISSUE).resources_known


def test_taints_are_text_or_objects() -> None:
    body = "nodes: [{name: a, taints: [a=b:NoSchedule, 'c:NoExecute', {key: d, effect: PreferNoSchedule}]}]"
    assert sketch(body).inventory.nodes[0].taints == (
        Taint("a", "b", "NoSchedule"),
        Taint("c", "", "NoExecute"),
        Taint("d", "", "PreferNoSchedule"),
    )


def test_objects_express_what_runs_and_make_their_kinds_known() -> None:
    body = (
        "nodes: [{name: a}]\nobjects:\n"
        "- {apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: x}}}\n"
        "- apiVersion: v1\n  kind: Pod\n  metadata: {name: p, namespace: shop, labels: {app: p}}\n"
        "  spec: {nodeName: a, containers: [{name: c}]}\n"
    )
    cluster = sketch(body)
    assert [(p.name, p.node, p.namespace) for p in cluster.inventory.pods] == [("p", "a", "shop")]
    assert cluster.inventory.namespaces[0].labels["team"] == "x"
    assert cluster.has("Pod")
    assert cluster.has("Namespace")
    assert not cluster.has("PersistentVolume")


def test_kinds_tell_that_none_is_known_apart_from_not_known() -> None:
    assert not sketch("nodes: [{name: a}]").has("Pod")
    cluster = sketch("nodes: [{name: a}]\nkinds: [Pod]")
    assert cluster.has("Pod")
    assert cluster.inventory.pods == ()


def test_a_sketch_without_nodes_is_a_cluster_without_nodes() -> None:
    assert sketch("nodes: []").inventory.nodes == ()


def test_nodes_are_fixed_unless_the_sketch_a_label_or_the_caller_says_otherwise() -> None:
    plain, labelled = "nodes: [{name: a}]", "nodes: [{name: a, labels: {karpenter.sh/nodepool: x}}]"
    assert not KnownGroups(sketch(plain)).is_elastic
    assert KnownGroups(sketch(labelled)).is_elastic
    assert KnownGroups(sketch(plain + "\nelastic: true")).is_elastic
    assert not KnownGroups(sketch(labelled + "\nelastic: false")).is_elastic
    assert KnownGroups(sketch("nodes: [{name: a, elastic: true}, {name: b}]")).is_elastic
    assert not KnownGroups(sketch("elastic: true\nnodes: [{name: a, elastic: false}]")).is_elastic
    assert KnownGroups(sketch(plain, elastic=True)).is_elastic
    assert not KnownGroups(sketch(labelled, elastic=False)).is_elastic


def test_node_groups_are_complete_or_open_and_undecided_until_someone_says_so() -> None:
    assert sketch("nodes: [{name: a}]").node_groups == ""
    assert sketch("nodes: [{name: a}]\nnodeGroups: complete").node_groups == "complete"
    assert sketch("nodes: [{name: a}]\nnodeGroups: open").node_groups == "open"
    error = refusal("nodes: [{name: a}]\nnodeGroups: closed")
    assert (error.line, error.message) == (
        4,
        "nodeGroups: expected complete or open, found the string 'closed' (known are complete, open)",
    )


def test_feature_gates_are_those_of_the_sketch() -> None:
    gates = "featureGates: {GenericWorkload: true, GangScheduling: true, Other: false}\n"
    assert sketch(gates + ISSUE).feature_gates == {"GenericWorkload": True, "GangScheduling": True, "Other": False}
    assert sketch(ISSUE).feature_gates == {}
    assert refusal("featureGates: {GangScheduling: true}\n" + ISSUE).message == (
        "featureGates: GangScheduling needs GenericWorkload=true"
    )
    assert "expected" in refusal("featureGates: {GenericWorkload: 1}\n" + ISSUE).message


def test_one_open_list_among_several_files_leaves_the_groups_open() -> None:
    files = [(f"{n}.yaml", f"{HEAD}nodes: [{{name: {n}}}]\nnodeGroups: {n}\n".encode()) for n in ("open", "complete")]
    assert cluster_from(files, "folder").node_groups == "open"


def test_the_footer_names_age_and_what_is_lacking() -> None:
    cluster = sketch('capturedAt: "2026-01-01T00:00:00Z"\nkinds: [Pod]\nnodes: [{name: a}]')
    said = cluster.describe(lambda: datetime(2026, 1, 4, 1, tzinfo=UTC))
    assert said.startswith("1 node and 0 pods from cluster.yaml (a sketch), ")
    assert "3 days" in said
    assert said.endswith("; holds only Node, Pod")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("nodez: []", "nodez: unknown field: did you mean nodes?"),
        ("nodes: [{name: a, lables: {}}]", "nodes[0].lables: unknown field: did you mean labels?"),
        ("nodes: [{name: a, allocatible: {}}]", "did you mean allocatable?"),
        ("nodes: [{count: 1}]", "nodes[0]: name is missing"),
        ("nodes: [{name: a, count: two}]", "nodes[0].count: expected an integer, found the string 'two'"),
        ("nodes: [{name: a, count: -1}]", "nodes[0].count"),
        ("nodes: [{name: a, zones: [1]}]", "nodes[0].zones[0]: expected a string (put it in quotes)"),
        ("nodes: [{name: a, labels: {gpu: true}}]", "put it in quotes), found the boolean true"),
        ("nodes: [{name: a, taints: [a=b:NoShedule]}]", "key=value:Effect"),
        ("nodes: [{name: a, taints: [{key: a, effect: NoShedule}]}]", "did you mean NoSchedule?"),
        (
            "nodes: [{name: a, allocatable: {cpu: 4 cores}}]",
            "nodes[0].allocatable.cpu: '4 cores': quantities must match",
        ),
        ("nodes: {name: a}", "nodes: expected a list, found a mapping"),
        ("nodes: [{name: a}, {name: a}]", "makes a node named a, and so does nodes[0]"),
        ("nodes: [{name: a, zones: [x, x]}]", "nodes[0].zones"),
        ("nodes: [{name: a, count: 20000}, {name: b}]", "more than 20,000 nodes"),
        ("nodes: [{name: a}]\nelastic: maybe", "elastic: expected true or false, found the string 'maybe'"),
        ("nodes: [{name: a}]\nobjects: [{apiVersion: v1, kind: Pod, spec: 3}]", "objects[0]"),
    ],
)
def test_what_is_wrong_is_said_in_one_message(body: str, message: str) -> None:
    assert message in refusal(body).message


@pytest.mark.parametrize(
    ("body", "line", "column"),
    [
        ("nodez: []\n", 3, 1),
        ("nodes:\n- name: a\n  lables: {}\n", 5, 3),
        ("nodes:\n- name: a\n  count: two\n", 5, 10),
        ("nodes:\n- name: a\n  allocatable:\n    cpu: much\n", 6, 10),
        ("nodes:\n- name: a\nobjects:\n- apiVersion: v1\n  kind: Pod\n  spec: 3\n", 8, 9),
    ],
)
def test_a_mistake_is_placed(body: str, line: int, column: int) -> None:
    error = refusal(body)
    assert (error.line, error.column) == (line, column)


def test_several_mistakes_are_counted() -> None:
    assert "(and 2 more errors)" in refusal("nodez: []\nnodes: [{nam: a}]").message


def test_another_version_is_refused_by_name() -> None:
    with pytest.raises(ClusterError, match="apiVersion: kubesched-lint/v2 is not read by this version"):
        cluster_from([("c.yaml", b"apiVersion: kubesched-lint/v2\nkind: ClusterSketch\nnodes: []")], "c.yaml")


def test_json_sketches_read_alike() -> None:
    json_text = b'{"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": [{"name": "a", "count": 2}]}'
    names = [n.name for n in cluster_from([("c.json", json_text)], "c.json").inventory.nodes]
    assert names == ["a-1", "a-2"]


def test_a_json_mistake_is_placed() -> None:
    text = b'{"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch",\n "nodes": [\n  {"name": "a", "lables": {}}]}'
    with pytest.raises(ClusterError) as caught:
        cluster_from([("c.json", text)], "c.json")
    assert (caught.value.line, caught.value.column) == (3, 17)


@pytest.mark.parametrize("name", sorted(p.name for p in CLUSTERS.glob("*.yaml")))
def test_every_shipped_sketch_reads(name: str) -> None:
    cluster = read_cluster(str(CLUSTERS / name))
    assert cluster.inventory.nodes
    assert cluster.origin == "sketch"
    assert cluster.resources_known


def test_zones_may_have_different_numbers_of_nodes() -> None:
    cluster = sketch("nodes: [{name: w, zones: {a: 2, b: 1, c: 0}}]")
    assert [node.name for node in cluster.inventory.nodes] == ["w-a-1", "w-a-2", "w-b"]
    error = refusal("nodes: [{name: w, count: 2, zones: {a: 2}}]")
    assert error.message == "nodes[0].count: the number 2 will not do; zones already gives the counts"


def test_labels_of_a_zone_are_on_all_its_nodes_unless_an_entry_says_otherwise() -> None:
    body = "zones: {a: {rack: r1}}\nnodes: [{name: v, zones: [a, b]}, {name: w, zones: [a], labels: {rack: r9}}]"
    assert [node.labels.get("rack") for node in sketch(body).inventory.nodes] == ["r1", None, "r9"]


EVERYWHERE = {"kubernetes.io/arch": "amd64", "topology.kubernetes.io/region": "eu-west-1"}
FOLLOWING = [
    (
        "eu-west-1a",
        "{node.kubernetes.io/instance-type: m6i.large}",
        {
            **EVERYWHERE,
            "beta.kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/instance-type": "m6i.large",
            "failure-domain.beta.kubernetes.io/zone": "eu-west-1a",
            "failure-domain.beta.kubernetes.io/region": "eu-west-1",
            "topology.ebs.csi.aws.com/zone": "eu-west-1a",
            "topology.gke.io/zone": None,
            "karpenter.k8s.aws/instance-family": None,
        },
    ),
    (
        "us-west-2-lax-1a",
        "{node.kubernetes.io/instance-type: m6i.large, karpenter.sh/nodepool: p}",
        {
            "topology.kubernetes.io/region": "us-west-2",
            "karpenter.k8s.aws/instance-family": "m6i",
            "karpenter.sh/initialized": "true",
        },
    ),
    (
        "eu-west-1a",
        "{eks.amazonaws.com/compute-type: auto, karpenter.sh/nodepool: p, node.kubernetes.io/instance-type: m6i.large}",
        {
            **EVERYWHERE,
            "eks.amazonaws.com/instance-family": "m6i",
            "karpenter.k8s.aws/instance-family": None,
            "topology.ebs.csi.aws.com/zone": None,
        },
    ),
    (
        "europe-west1-b",
        "{cloud.google.com/gke-nodepool: p, node.kubernetes.io/instance-type: e2-standard-4}",
        {
            "topology.kubernetes.io/region": "europe-west1",
            "topology.gke.io/zone": "europe-west1-b",
            "cloud.google.com/machine-family": "e2",
        },
    ),
    (
        "westeurope-1",
        "{kubernetes.azure.com/agentpool: p}",
        {
            "topology.kubernetes.io/region": "westeurope",
            "topology.disk.csi.azure.com/zone": "westeurope-1",
            "agentpool": "p",
            "kubernetes.io/arch": None,
        },
    ),
    ("eu-west-1a", "{}", {"topology.kubernetes.io/region": None, "topology.ebs.csi.aws.com/zone": None}),
    (
        "eu-west-1a",
        "{eks.amazonaws.com/nodegroup: g, topology.ebs.csi.aws.com/zone: null, kubernetes.io/arch: arm64}",
        {"topology.ebs.csi.aws.com/zone": None, "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "arm64"},
    ),
    (
        "hall-1",
        "{eks.amazonaws.com/nodegroup: g, topology.kubernetes.io/region: north}",
        {"topology.kubernetes.io/region": "north", "failure-domain.beta.kubernetes.io/region": "north"},
    ),
]


@pytest.mark.parametrize(("zone", "labels", "wanted"), FOLLOWING)
def test_what_every_node_of_the_cloud_has_is_filled_in(zone: str, labels: str, wanted: dict[str, str | None]) -> None:
    (node,) = sketch(f"nodes: [{{name: one, zones: [{zone}], labels: {labels}}}]").inventory.nodes
    assert {key: node.labels.get(key) for key in wanted} == wanted
