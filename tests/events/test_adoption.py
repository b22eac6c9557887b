"""Bare pods that a selector matches are taken over by the new workload, as upstream's controllers do."""

from __future__ import annotations

import pytest
import yaml

from kubesched_lint.sources.clusters.read import read_cluster
from tests.events.simulated import FIXTURES, asking, cell, other, report_of, sketch, workload


def bare(name: str, app: str, node: str, cpu: str = "100m") -> dict:
    pod = other("Pod", name, spec={**asking(cpu), "nodeName": node})
    pod["metadata"] |= {"namespace": "default", "labels": {"app": app}}
    return pod


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
def test_a_pod_that_fills_the_node_is_one_of_the_replicas(kind):
    """One node with room for one pod: the pod that stands there is the replica."""
    web = workload(kind, "web", 1, asking("3"))
    if kind == "ReplicationController":
        web["apiVersion"] = "v1"
        web["spec"]["selector"] = web["spec"]["selector"]["matchLabels"]
    cluster = sketch(1, "a", "4", "110", bare("lonely", "web", "w", "3"))
    assert cell(report_of(cluster, web), "web", "deploy").text == "1/1 ok"
    beside = sketch(1, "a", "4", "110", bare("lonely", "db", "w", "3"))
    assert cell(report_of(beside, web), "web", "deploy").text == "0/1 −1"


def test_a_statefulset_takes_only_pods_with_its_names():
    db = workload("StatefulSet", "db", 1, asking("3"), updateStrategy={"type": "OnDelete"})
    assert (
        cell(report_of(sketch(1, "a", "4", "110", bare("db-0", "db", "w", "3")), db), "db", "deploy").text == "1/1 ok"
    )
    assert cell(report_of(sketch(1, "a", "4", "110", bare("x", "db", "w", "3")), db), "db", "deploy").text == "0/1 −1"


def test_a_deployment_takes_none_for_it_selects_a_hash():
    web = workload("Deployment", "web", 1, asking("3"))
    cluster = sketch(1, "a", "4", "110", bare("lonely", "web", "w", "3"))
    assert cell(report_of(cluster, web), "web", "deploy").text == "0/1 −1"


def test_a_daemonset_takes_them_over_and_replaces_them():
    """As of no revision of its own: the rolling update makes room for the new pod where both do not fit."""
    agent = workload("DaemonSet", "agent", None, asking("3"))
    cluster = sketch(1, "ab", "4", "110", bare("lonely", "agent", "w-a", "3"))
    assert cell(report_of(cluster, agent), "agent", "deploy").text == "2/2 ok"


def test_of_two_pods_on_a_node_a_daemonset_keeps_one_as_it_was_recorded():
    """The one that it kept is never replaced: two other nodes have no pod, and one may be unavailable."""
    objects = yaml.safe_load_all((FIXTURES / "adopted" / "app.yaml").read_text())
    found = report_of(read_cluster(str(FIXTURES / "adopted" / "snap.json")), *objects)
    for event in ("deploy", "rollout"):
        here = cell(found, "web", event)
        assert (here.bound.least, here.bound.most, here.stuck, here.proven) == (2, 2, True, True)


@pytest.mark.parametrize("surge", [0, 1])
@pytest.mark.parametrize("second", ["100m", "200m"])
def test_a_daemonset_that_adopts_too_many_pods_has_one_on_each_node_in_the_end(second, surge):
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1 - surge}}
    agent = workload("DaemonSet", "agent", None, asking("1"), updateStrategy=strategy)
    pods = [bare("first", "agent", "w-a"), bare("second", "agent", "w-a", second), bare("third", "agent", "w-a")]
    here = cell(report_of(sketch(1, "ab", "4", "110", *pods), agent), "agent", "deploy")
    assert (here.text, here.bound.least, here.bound.most) == ("2/2 ok", 2, 2)


def test_a_pod_that_a_daemonset_does_not_update_stays_alone_on_its_node():
    agent = workload("DaemonSet", "agent", None, asking("1"), updateStrategy={"type": "OnDelete"})
    pods = [bare("first", "agent", "w-a"), bare("second", "agent", "w-a", "200m")]
    here = cell(report_of(sketch(1, "ab", "4", "110", *pods), agent), "agent", "deploy")
    assert (here.text, here.bound.least, here.bound.most) == ("2/2 ok", 2, 2)


def test_pods_where_a_daemonset_wants_none_are_no_pods_that_it_wants():
    """Recorded: one on a tainted node stays, and one node that wants a pod has none."""
    agent = workload("DaemonSet", "agent", None, asking("3"))
    full = bare("full", "else", "w-b", "3")
    tainted = {"name": "t", "zones": ["c"], "allocatable": {"cpu": "4"}, "taints": ["dedicated=x:NoSchedule"]}
    cluster = with_node(sketch(1, "ab", "4", "110", full, bare("lonely", "agent", "t-c")), tainted)
    assert cell(report_of(cluster, agent), "agent", "deploy").text == "1/2 −1"


def with_node(cluster, node: dict):
    """The cluster with one node more."""
    import yaml
    from msgspec.structs import replace

    from kubesched_lint.sources.clusters.read import cluster_from

    value = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": [node]}
    more = cluster_from([("more.yaml", yaml.safe_dump(value).encode())], "more.yaml")
    nodes = (*cluster.inventory.nodes, *more.inventory.nodes)
    return replace(cluster, inventory=replace(cluster.inventory, nodes=nodes))


def test_a_bare_pod_of_the_set_is_told_as_what_the_set_calls_it():
    lonely = {**bare("lonely", "web", "w"), "spec": asking("100m")}
    web = workload("ReplicaSet", "web", 2)
    result = report_of(sketch(1, "a", "4", "110", bare("lonely", "web", "w")), lonely, web)
    assert cell(result, "lonely", "deploy").text == "1/1 ok"


def test_a_replicaset_of_0_replicas_deletes_what_it_takes_over():
    web, db = workload("ReplicaSet", "web", 0), workload("Deployment", "db", 1, asking("3"))
    cluster = sketch(1, "a", "4", "110", bare("lonely", "web", "w", "3"))
    assert cell(report_of(cluster, web, db), "db", "deploy").text == "1/1 ok"


def test_a_replicaset_that_shrinks_takes_from_its_own_and_from_those_it_took_over():
    web, db = workload("ReplicaSet", "web", 1, asking("3")), workload("Deployment", "db", 1, asking("2"))
    cluster = sketch(1, "ab", "4", "110", bare("one", "web", "w-a", "3"), bare("two", "web", "w-b", "2"))
    deployed = cell(report_of(cluster, web, db), "db", "deploy")
    assert (deployed.verdict, str(deployed.bound)) == ("fine", "1")
    assert cell(report_of(cluster, web, db), "web", "deploy").text == "1/1 ok"


def test_pods_that_were_taken_over_take_the_room_that_they_ask_for():
    """The template asks for nothing: still the pod that it took over fills the node for others."""
    idle, web = workload("ReplicaSet", "idle", 1, {"containers": [{"name": "c"}]}), workload("ReplicaSet", "web", 2)
    web["spec"]["template"]["spec"] = asking("3")
    cluster = sketch(1, "ab", "4", "110", bare("lonely", "idle", "w-a", "2"))
    assert cell(report_of(cluster, idle, web), "web", "deploy").text == "1/2 −1"


def test_a_bare_pod_that_stands_where_no_other_would_be_let_in_stays_when_another_node_is_drained():
    near = {"labelSelector": {"matchLabels": {"app": "gone"}}, "topologyKey": "topology.kubernetes.io/zone"}
    lonely = other("Pod", "lonely", spec=asking("1"))
    lonely["spec"]["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    standing = bare("lonely", "x", "w-a", "1")
    standing["spec"]["affinity"] = lonely["spec"]["affinity"]
    drained = cell(report_of(sketch(1, "ab", "4", "110", standing), lonely, states=1), "lonely", "drain")
    assert drained.bound.most == 1


def test_a_pod_on_a_node_that_it_could_not_come_to_any_more_takes_room_there():
    alone = other("Pod", "alone", spec=asking("2", nodeSelector={"pool": "gone"}))
    cluster = sketch(1, "a", "4", "110", bare("alone", "x", "w", "2"))
    assert (
        cell(report_of(cluster, alone, workload("Deployment", "web", 2, asking("2"))), "web", "deploy").text == "1/2 −1"
    )


def test_a_replicaset_of_its_own_gives_its_pods_no_hash():
    """So mismatchLabelKeys take nothing away from the selector, and the first pod answers itself."""
    near = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    near["mismatchLabelKeys"] = ["pod-template-hash"]
    spec = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}}
    for kind, text in (("ReplicaSet", "1/1 ok"), ("Deployment", "0/1 −1")):
        assert cell(report_of(sketch(1, "a"), workload(kind, "web", 1, spec)), "web", "deploy").text == text
