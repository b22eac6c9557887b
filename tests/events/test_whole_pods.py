"""What only counting tells on clusters too large for a search: whole pods, whole domains, pods beside hosts."""

from __future__ import annotations

import yaml

from kubesched_lint.engine.answers.cells import BAD, FINE
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.node import Node
from kubesched_lint.sources.clusters.read import cluster_from
from tests.events.simulated import HOSTNAME, ZONE, apart, asking, cell, report_of, sketch, workload


def nodes(*cores: int, zones: str = "abc") -> tuple[Node, ...]:
    return tuple(
        Node(
            f"n{i}",
            {HOSTNAME: f"n{i}", ZONE: zones[i % len(zones)]},
            allocatable={"cpu": 1000 * n, "memory": 64 << 30, "pods": 110},
        )
        for i, n in enumerate(cores)
    )


def setting(at: tuple[Node, ...], *manifests) -> SimulatedSet:
    return SimulatedSet(at, Inventory(), tuple(decode_workload(m, "default") for m in manifests))


def near(app: str, key: str = ZONE) -> dict:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_pods_that_are_not_whole_fill_nothing():
    """6 nodes are full for 1500m with more than 2500m on them: two pods of 2 cores each, and 10 pods fill 5."""
    web, rest = workload("Deployment", "web", 1, asking("1500m")), workload("Deployment", "rest", 10, asking("2"))
    assert count(setting(nodes(*[4] * 6), web, rest).member(0), "deploy").is_fine
    more = workload("Deployment", "rest", 12, asking("2"))
    assert not count(setting(nodes(*[4] * 6), web, more).member(0), "deploy").is_fine


def test_a_pod_fills_no_more_than_the_node_that_it_is_on():
    """70 nodes, no two of a size, miss 1m to 70m each until they are full for a core; five pods fill five of them."""
    at = tuple(
        Node(f"n{i}", {HOSTNAME: f"n{i}"}, allocatable={"cpu": 1000 + i, "memory": 64 << 30, "pods": 110})
        for i in range(70)
    )
    web, rest = workload("Deployment", "web", 1, asking("1")), workload("Deployment", "rest", 5, asking("500m"))
    assert count(setting(at, web, rest).member(0), "deploy").is_fine
    assert not count(setting(at[:5], web, rest).member(0), "deploy").is_fine


def test_a_domain_is_closed_by_pods_on_all_of_its_nodes():
    """A pod a zone, of 8 cores and twice 2: eight pods of a core fill four small nodes, and no whole zone."""
    web = workload("Deployment", "web", 3, {**asking("1"), **apart("web")})
    at = nodes(*[8] * 3, *[2] * 6)
    assert count(setting(at, web, workload("Deployment", "rest", 8, asking("1"))).member(0), "deploy").is_fine
    assert not count(setting(at, web, workload("Deployment", "rest", 12, asking("1"))).member(0), "deploy").is_fine


def unlabelled():
    """Nine nodes in three zones and one that is in none."""
    amounts = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    groups = [{"name": "a", "count": 3, "zones": list("abc"), "allocatable": amounts}]
    groups.append({"name": "b", "count": 22, "allocatable": amounts})
    value = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": groups}
    return cluster_from([("cluster.yaml", yaml.safe_dump(value).encode())], "cluster.yaml")


def test_nodes_without_the_key_take_one_more_each_of_a_daemonset_that_repels_itself():
    found = cell(report_of(unlabelled(), workload("DaemonSet", "agent", None, apart("agent"))), "agent", "deploy")
    assert (found.verdict, found.wanted, found.bound.most) == (BAD, 31, 25)


def test_who_must_be_near_its_like_and_apart_from_it_runs_once():
    spec = {"affinity": {**near("web"), **apart("web")["affinity"]}}
    result = report_of(sketch(9), workload("Deployment", "web", 5, spec))
    for event in ("deploy", "node-loss", "scale-down"):
        found = cell(result, "web", event)
        assert (found.verdict, found.bound.most) == (BAD, 1)


def test_who_must_be_near_pods_that_run_nowhere_waits_whatever_is_lost():
    nowhere = {"nodeSelector": {"pool": "none"}, "topologySpreadConstraints": spread("host")}
    hosts = workload("Deployment", "host", 6, nowhere)
    result = report_of(sketch(9), hosts, workload("Deployment", "web", 5, {"affinity": near("host")}))
    for event in ("deploy", "node-loss", "zone-loss", "drain"):
        assert (cell(result, "web", event).verdict, cell(result, "web", event).bound.most) == (BAD, 0)


def spread(app: str) -> list[dict]:
    selector = {"labelSelector": {"matchLabels": {"app": app}}}
    return [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **selector}]


def test_a_single_pod_that_wants_its_own_like_near_opens_a_node_by_itself():
    web = workload("StatefulSet", "web", 1, {**asking("1"), "affinity": near("web", HOSTNAME)})
    rest = workload("Deployment", "rest", 40, asking("1"))
    result = report_of(sketch(9), web, rest)
    for event in ("deploy", "rollout"):
        assert (cell(result, "web", event).verdict, cell(result, "web", event).proven) == (FINE, True)


def test_a_replaced_pod_may_look_for_the_one_that_goes():
    """On a drained node stands the old one, and the new one may overlook that it is gone."""
    web = workload("Deployment", "web", 1, {**asking("1"), "affinity": near("web", HOSTNAME)})
    at = setting(nodes(*[4] * 27), web, workload("Deployment", "rest", 40, asking("1")))
    assert count(at.member(0), "deploy").is_fine
    assert not count(at.member(0), "drain").is_fine
    assert not count(at.member(0), "rollout").is_fine


def test_old_pods_stand_beside_new_ones_that_do_not_see_them():
    """A stuck rollout of four pods in three zones has an old one left, so that four run."""
    spec = apart("web")
    spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["matchLabelKeys"] = [
        "pod-template-hash"
    ]
    careful = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    found = cell(report_of(sketch(9), workload("Deployment", "web", 4, spec, strategy=careful)), "web", "rollout")
    assert (found.verdict, found.proven, found.bound.most, found.missing) == (BAD, True, 4, ())
