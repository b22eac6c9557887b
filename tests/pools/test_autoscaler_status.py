"""What cluster-autoscaler's status says about node groups, in both of its formats."""

from __future__ import annotations

import re
import sys
from itertools import product
from pathlib import Path

import pytest

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodepools.known import KnownGroups
from kubesched_lint.engine.cluster.nodepools.unshown import has_unshown, unseen_groups
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.engine.model.nodes.node import CLUSTER_AUTOSCALER, Node, NodePool
from kubesched_lint.findings import Severity
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.objects.status import group_sizes
from tests.pools.test_node_groups import HUGE, PER_HOST, TYPO, cluster_of, found, node

CLOUDS = Path(__file__).parents[2] / "fixtures" / "clouds"
STATUSES = sorted((CLOUDS / "cluster-autoscaler").glob("*.yaml"))


def cluster(status: Path) -> Cluster:
    cloud = status.stem.removesuffix("-before-1.30")
    files = [CLOUDS / cloud / "nodes.json", status]
    return cluster_from([(str(file), file.read_bytes()) for file in files], cloud)


@pytest.mark.parametrize("status", STATUSES, ids=lambda path: path.stem)
def test_a_group_at_zero_keeps_the_list_open_until_it_is_declared(status: Path) -> None:
    known = cluster(status)
    assert known.group_sizes
    empty = unseen_groups(known.group_sizes, ())
    assert len(empty) == 1
    assert not KnownGroups(known).are_all
    assert "declared-groups" in KnownGroups(known).decision
    assert empty[0] in KnownGroups(known).decision
    name = "gpu"
    declared = known.as_stated(ClusterOptions(declared=(NodePool(name, CLUSTER_AUTOSCALER, labels={"pool": name}),)))
    assert KnownGroups(declared).are_all
    assert not KnownGroups(declared).decision


@pytest.mark.parametrize("status", STATUSES, ids=lambda path: path.stem)
def test_what_the_user_says_weighs_more_than_the_status(status: Path) -> None:
    assert KnownGroups(cluster(status).as_stated(ClusterOptions(node_groups="complete"))).are_all
    assert not KnownGroups(cluster(status).as_stated(ClusterOptions(node_groups="open"))).are_all


def test_both_formats_say_the_same() -> None:
    for status in STATUSES:
        if "before" in status.stem:
            new = status.with_name(status.name.replace("-before-1.30", ""))
            assert cluster(status).group_sizes == cluster(new).group_sizes


def test_a_status_says_nothing_of_what_karpenter_makes() -> None:
    status = (CLOUDS / "cluster-autoscaler" / "eks.yaml").read_bytes().replace(b"total: 0", b"total: 1")
    files = [("n.json", (CLOUDS / "karpenter" / "nodes.json").read_bytes()), ("s.yaml", status)]
    assert not KnownGroups(cluster_from(files, "c")).are_all


def status_of(**sizes: int) -> dict[str, object]:
    counts = {name: f"health: {{nodeCounts: {{registered: {{total: {size}}}}}}}" for name, size in sizes.items()}
    groups = "".join(f"- {{name: {name}, {health}}}\n" for name, health in counts.items())
    meta = {"name": "cluster-autoscaler-status", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"status": f"nodeGroups:\n{groups}"}}


PLAIN = [node(f"w{i}", f"eu-1{'abc'[i]}", {"disk": "ssd" if i else "hdd"}) for i in range(3)]
HEAD = node("head", "eu-1a", {"node-role.kubernetes.io/control-plane": ""})


def errors(manifests: str, *others: object, said: str = "complete", declared: tuple[NodePool, ...] = ()) -> list[str]:
    known = cluster_of([*PLAIN, HEAD], *others, said=said, declared=declared)
    return [f.rule for f in found(manifests, known) if f.severity is Severity.ERROR]


def test_nodes_without_labels_that_the_status_counts_are_of_the_group_of_their_like() -> None:
    known = cluster_of([*PLAIN, HEAD], status_of(workers=3))
    assert [(g.name, g.labels) for g in KnownGroups(known).inferred] == [
        ("like w0", {"disk": "hdd"}),
        ("like w1", {"disk": "ssd"}),
    ]
    assert not KnownGroups(cluster_of([*PLAIN, HEAD], status_of(workers=0))).inferred


def test_what_more_nodes_without_labels_cure_is_no_error() -> None:
    assert errors(PER_HOST)
    assert not errors(PER_HOST, status_of(workers=3))
    for mistake in (TYPO, HUGE):
        assert errors(mistake, status_of(workers=3))
        assert not errors(mistake, status_of(workers=3), said="")


def test_a_group_at_zero_beside_nodes_without_labels_keeps_errors_back_until_it_is_declared() -> None:
    gpu = (NodePool("gpu", CLUSTER_AUTOSCALER, labels={"pool": "gpu"}, zones=("eu-1a",)),)
    assert errors(TYPO, said="")
    assert not errors(TYPO, status_of(gpu=0), said="")
    assert not errors(TYPO, status_of(gpu=0), said="open")
    assert errors(TYPO, status_of(gpu=0), said="", declared=gpu)


@pytest.mark.parametrize(
    "text",
    ["", "nodeGroups: 3", "nodeGroups: [3, {name: 7}]", "a: [", "- " * 4000, "x\nNodeGroups:\n  Name: a\n", "&a [*a]"],
)
def test_a_status_that_cannot_be_read_says_nothing(text: str) -> None:
    assert group_sizes({"kind": "ConfigMap", "data": {"status": text}}) == {}
    assert group_sizes({"kind": "ConfigMap", "data": text}) == {}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 300_000,
        "nodeGroups:\n" + "".join(f"{' ' * depth}a:\n" for depth in range(1, 1200)),
        "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 28)),
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 28)),
    ],
    ids=["brackets", "depth", "merge-keys", "aliases"],
)
def test_a_hostile_status_is_bounded(text: str) -> None:
    status = text + "\nnodeGroups: [{name: a}]\n"
    assert group_sizes({"kind": "ConfigMap", "data": {"status": status}}) in ({}, {"a": 0})


def test_a_name_is_found_only_as_a_whole_word() -> None:
    sizes = {"eks-gpu-2cc6": 0, "zones/eu-b/gke-general-1-grp": 2, "zones/eu-c/gke-general-1-grp": 0}
    assert unseen_groups(sizes, ["gpu"]) == ()
    assert unseen_groups(sizes, ["gp", "GPUs"]) == ("eks-gpu-2cc6",)


def test_names_are_found_as_a_search_in_every_name_finds_them() -> None:
    parts = ("gpu", "GPU2", "a", "2c")
    texts = [
        a + s + b + t + c for a, b, c in product(parts, repeat=3) for s, t in (("-", "-"), ("--", "_"), ("-", "."))
    ]
    for name in ("gpu", "a-2C", "gpu--a", "a_2c", "gpu2.a", "pu", "a-", "-", "größe"):
        word = re.compile(rf"(?<![a-z0-9]){re.escape(name.strip('-'))}(?![a-z0-9])", re.IGNORECASE)
        for text in texts:
            found = bool(name.strip("-") and word.search(text))
            assert (unseen_groups({text: 0}, [name]) == ()) is found, (name, text)
            assert has_unshown({text: 1}, [Node("n", group=f"pool={name}")]) is not found, (name, text)


def calls(n: int) -> int:
    """Return the number of calls that a status of ``n`` groups and as many nodes costs."""
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    names = [f"eks-p{i}-{n - i}-2cc6" for i in range(n)]
    nodes = [Node(f"n{i}", group=f"pool=p{i}") for i in range(n)]
    sys.setprofile(count)
    try:
        assert not has_unshown(dict.fromkeys(names, 1), nodes)
        assert not unseen_groups(dict.fromkeys(names, 0), [f"p{i}" for i in range(n)])
    finally:
        sys.setprofile(None)
    return counted


def test_a_status_costs_no_more_than_its_length_times_a_constant() -> None:
    assert calls(400) < 3 * calls(200)
