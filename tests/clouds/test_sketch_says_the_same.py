"""``lint`` finds by the sketch of a cluster what it finds by its nodes, except where the sketch says less."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from kubesched_lint import Report, Rulebook, lint, load_cluster
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.sketches.sketching import Style, sketch_of
from scripts.cloud_fixtures import FOLDER
from tests.clouds.cloud_worlds import CLOUDS, cluster_of, templates, text_for
from tests.share import every, first

FIXTURES = FOLDER.parent
EXACT, SHORT = Style(exact=True, node_groups="complete"), Style(node_groups="complete")
STYLES = {"exact": EXACT, "short": SHORT}
RECORDED = ("kubectl-get-excerpt.json", "kubectl-get.json.gz", "mixed-pools.yaml")
CONCERNS_ALL = re.compile("^kind: (DaemonSet|PersistentVolume|StorageClass)$", re.MULTILINE)
"""Objects that other cases would meet."""
BOOK = Rulebook.shipped()

Found = list[tuple[str, int, str, str, str]]


def sketched(cluster: Cluster, style: Style) -> Cluster:
    return cluster_from([("cluster.yaml", sketch_of(cluster, style).encode())], "cluster.yaml")


@cache
def recorded(name: str) -> Cluster:
    """The nodes alone: a sketch has no running pods and no volumes (docs/sketch.md says so)."""
    cluster = load_cluster(FIXTURES / "clusters" / name, node_groups="complete")
    return replace(cluster, inventory=Inventory(nodes=cluster.inventory.nodes), kinds=frozenset(["Node"]))


def found(texts: Mapping[str, str], cluster: Cluster) -> Found:
    report: Report = lint(text=texts, cluster=cluster, rules=BOOK)
    assert not report.errors, report.errors
    assert not any(skip.cut for skip in report.skipped)
    return sorted(
        (f.location.path, f.location.span.line, f.rule, str(f.object), f.severity.name) for f in report.findings
    )


def cases(cloud: str) -> Iterator[Mapping[str, str]]:
    """The manifests of the clouds in the words of one of them, each in a namespace of its own, as few sets."""
    texts = {
        f"{kind}/{name}.yaml": text_for(cloud, kind, name).replace("namespace: shop", f"namespace: {kind}-{name[:2]}")
        for kind in ("mistakes", "healthy")
        for name in templates(kind)
    }
    alone = {path: text for path, text in texts.items() if CONCERNS_ALL.search(text)}
    yield {path: text for path, text in texts.items() if path not in alone}
    for path, text in alone.items():
        yield {path: text}


def sets() -> Iterator[Mapping[str, str]]:
    """The sets of manifests that are for any cluster."""
    for folder in (FIXTURES / "shop", FIXTURES / "manifests" / "clean"):
        yield {str(file.relative_to(FIXTURES)): file.read_text() for file in sorted(Path(folder).rglob("*.yaml"))}


@cache
def by_nodes(cloud: str) -> Found:
    return [one for texts in cases(cloud) for one in found(texts, cluster_of(cloud, "complete"))]


@pytest.mark.parametrize(("cloud", "style"), first(1, product(CLOUDS, STYLES)))
def test_the_sketch_of_a_cloud_finds_the_same(cloud: str, style: str) -> None:
    sketch = sketched(cluster_of(cloud, "complete"), STYLES[style])
    again = [one for texts in cases(cloud) for one in found(texts, sketch)]
    assert sum(severity == "ERROR" for *_, severity in again) > 15
    assert again == by_nodes(cloud)


@cache
def by_recorded_nodes(name: str) -> Found:
    return [one for texts in sets() for one in found(texts, recorded(name))]


@pytest.mark.parametrize(("name", "style"), every(5, product(RECORDED, STYLES)))
def test_the_sketch_of_a_recorded_cluster_finds_the_same(name: str, style: str) -> None:
    sketch = sketched(recorded(name), STYLES[style])
    again = [one for texts in sets() for one in found(texts, sketch)]
    assert again
    assert again == by_recorded_nodes(name)


KEPT = {
    *("pool", "example.com/rack", "node.kubernetes.io/instance-type", "kubernetes.io/arch"),
    *("eks.amazonaws.com/nodegroup", "eks.amazonaws.com/capacityType", "cloud.google.com/gke-nodepool"),
    *("cloud.google.com/gke-spot", "kubernetes.azure.com/agentpool", "kubernetes.azure.com/mode"),
    *("kubernetes.azure.com/scalesetpriority", "karpenter.sh/nodepool", "karpenter.sh/capacity-type"),
    *("kops.k8s.io/instancegroup", "node-role.kubernetes.io/worker", "topology.kubernetes.io/zone"),
}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_short_sketch_keeps_the_labels_that_people_select_on(cloud: str) -> None:
    def pairs(cluster: Cluster) -> set[tuple[str, str]]:
        return {pair for node in cluster.inventory.nodes for pair in node.labels.items() if pair[0] in KEPT}

    real = cluster_of(cloud, "complete")
    assert len({key for key, _ in pairs(real)}) > 3
    assert pairs(sketched(real, SHORT)) == pairs(real)


@pytest.mark.parametrize("decided", ["complete", "open", ""])
def test_a_short_sketch_of_eleven_nodes_is_read_at_a_glance(decided: str) -> None:
    text = sketch_of(cluster_of("eks", ""), Style(node_groups=decided))
    assert len(cluster_of("eks", "").inventory.nodes) == 11
    assert text.count("\n") <= 25
    assert max(map(len, text.splitlines())) <= 120


def test_the_documentation_shows_that_sketch() -> None:
    text = sketch_of(replace(cluster_of("eks", "complete"), path="fixtures/clouds/eks/nodes.json"), SHORT)
    docs = (FIXTURES.parent / "docs" / "sketch.md").read_text(encoding="utf-8")
    assert f"nodes.json --node-groups complete\n{text}```" in docs
    assert f"take {text.count(chr(10))} lines" in docs


# --- where a short sketch says less: each difference and its reason --------------------------------------------------

POD = (
    "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{{spec}, containers: [{{name: c, image: x{more}}}]}}}}"
)


def errors(cluster: Cluster, text: str) -> set[str]:
    return {rule for _, _, rule, _, severity in found({"p.yaml": text}, cluster) if severity == "ERROR"}


def three(cluster: Cluster) -> tuple[Cluster, Cluster, Cluster]:
    """The cluster by its nodes, by its exact sketch, and by its short one."""
    return cluster, sketched(cluster, EXACT), sketched(cluster, SHORT)


def in_three(cluster: Cluster, text: str) -> list[set[str]]:
    return [errors(one, text) for one in three(cluster)]


def test_the_sketch_says_less_the_value_of_a_label_that_platforms_keep_books_with() -> None:
    text = POD.format(spec="nodeSelector: {eks.amazonaws.com/nodegroup-image: ami-0}", more="")
    matches_nothing = {"nodeselector-matches-nothing"}
    assert in_three(cluster_of("eks", "complete"), text) == [matches_nothing, matches_nothing, set()]


def test_the_sketch_says_less_the_domains_of_a_left_out_topology_key_but_calls_it_not_missing() -> None:
    spread = (
        "topologySpreadConstraints: [{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: DoNotSchedule, "
        "labelSelector: {{matchLabels: {{a: b}}}}}}]"
    )
    left_out = POD.format(spec=spread.format(key="topology.k8s.aws/zone-id"), more="")
    assert "topology.k8s.aws/zone-id" in sketched(cluster_of("eks", "complete"), SHORT).other_labels
    assert in_three(cluster_of("eks", "complete"), left_out) == [set(), set(), set()]
    mistyped = POD.format(spec=spread.format(key="topology.k8s.aws/zone-ix"), more="")
    assert all(in_three(cluster_of("eks", "complete"), mistyped))


VOLUME = """\
apiVersion: v1
kind: PersistentVolume
metadata: {{name: data}}
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  claimRef: {{namespace: default, name: data}}
  csi: {{driver: ebs.csi.aws.com, volumeHandle: v}}
  nodeAffinity:
    required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: {key}, operator: In, values: [{value}]}}]}}]}}
"""
CLASS = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: fast}}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{{matchLabelExpressions: [{{key: {key}, values: [{value}]}}]}}]
"""
CLAIM = """\
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data, namespace: default}}
spec: {{accessModes: [ReadWriteOnce], storageClassName: fast, resources: {{requests: {{storage: 1Gi}}}}{bound}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: p, namespace: default}}
spec:
  volumes: [{{name: data, persistentVolumeClaim: {{claimName: data}}}}]
  containers: [{{name: c, image: x, volumeMounts: [{{name: data, mountPath: /data}}]}}]
"""


@pytest.mark.parametrize(
    ("volume", "bound", "rule"),
    [
        (VOLUME, ", volumeName: data", "pv-zone-pinning-conflict"),
        (CLASS, "", "allowed-topologies-conflict"),
    ],
    ids=["volume", "class"],
)
def test_the_sketch_says_less_the_places_of_volumes_by_a_left_out_label(volume: str, bound: str, rule: str) -> None:
    cluster = cluster_of("eks", "complete")
    claim = CLAIM.format(bound=bound)
    served = volume.format(key="topology.k8s.aws/zone-id", value="euw1-az1") + claim
    assert in_three(cluster, served) == [set(), set(), set()]
    elsewhere = volume.format(key="topology.k8s.aws/zone-id", value="euw1-az9") + claim
    assert [{rule for _, _, rule, *_ in found({"p.yaml": elsewhere}, one)} for one in three(cluster)] == [
        {rule},
        {rule},
        set(),
    ]
    unserved = volume.format(key="topology.ebs.csi.aws.com/zone", value="eu-west-1d") + claim
    assert all(in_three(cluster, unserved)), "a label that the linter fills in is checked"


def test_the_sketch_says_less_the_room_of_the_larger_of_merged_nodes() -> None:
    eks = cluster_of("eks", "complete")
    first, second, *_ = [node for node in eks.inventory.nodes if node.labels["pool"] == "memory"]
    offer = {**(first.allocatable or {}), "memory": 62_000 << 20}
    smaller, larger = (replace(n, elastic=False, allocatable=offer) for n in (first, second))
    larger = replace(larger, allocatable={**offer, "memory": 62_500 << 20})
    cluster = replace(eks, inventory=Inventory(nodes=(smaller, larger)))
    asks = POD.format(
        spec="tolerations: [{operator: Exists}]", more=", resources: {requests: {cpu: 1m, memory: 62400Mi}}"
    )
    assert in_three(cluster, asks) == [set(), set(), {"resource-exceeds-any-node"}]
