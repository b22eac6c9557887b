"""Counting knows who may go where: healthy sets are proven so without a search, and no end is impossible."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, NONE, UNKNOWN
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node, Taint
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.verdicts.matrix import EVENTS, Matrix
from tests.events.simulated import apart, asking, cell, report_of, sketch, workload
from tests.events.test_adoption import with_node

DB = {"dedicated": "db"}


def cluster() -> tuple[Node, ...]:
    """Three zones with two workers each of 4 cores, two of them with a tainted node of 8."""
    workers = [
        Node(f"w{z}{i}", {HOSTNAME: f"w{z}{i}", ZONE: z}, allocatable={"cpu": 4000, "memory": 8 << 30, "pods": 110})
        for z in "abc"
        for i in (0, 1)
    ]
    tainted = [
        Node(
            f"s{z}",
            {HOSTNAME: f"s{z}", ZONE: z, **DB},
            (Taint("dedicated", "db", "NoSchedule"),),
            allocatable={"cpu": 8000, "memory": 64 << 30, "pods": 110},
        )
        for z in "ab"
    ]
    return (*workers, *tainted)


def spread(app: str):
    """Evenly over zones, strictly."""
    selector = {"labelSelector": {"matchLabels": {"app": app}}}
    return {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **selector}
        ]
    }


def setting(*manifests) -> SimulatedSet:
    return SimulatedSet(cluster(), Inventory(), tuple(decode_workload(m, "default") for m in manifests))


def database(replicas: int = 2):
    tolerates = {"tolerations": [{"key": "dedicated", "operator": "Equal", "value": "db"}], "nodeSelector": DB}
    return workload("StatefulSet", "db", replicas, {**asking("2"), **apart("db", HOSTNAME), **tolerates})


def test_those_that_may_not_go_there_fill_no_node():
    crowded = setting(database(), workload("Deployment", "web", 40, asking("500m")))
    assert count(crowded.member(0), "deploy").is_fine
    assert count(crowded.member(0), "node-loss").least.pods == 1


def test_a_workload_of_one_pod_a_node_takes_no_more_of_a_node_than_that():
    edge = workload("Deployment", "edge", 6, {**asking("1500m"), **apart("edge", HOSTNAME)})
    web = workload("Deployment", "web", 6, asking("400m"))
    assert count(setting(web, edge).member(0), "deploy").is_fine
    anywhere = workload("Deployment", "edge", 16, asking("1900m"))
    assert not count(setting(web, anywhere).member(0), "deploy").is_fine


def test_others_fill_no_more_than_can_run_of_them():
    """Of sixteen pods of 1500m two fit on each worker, which leaves 1000m there."""
    web = workload("Deployment", "web", 6, asking("400m"))
    assert count(setting(web, workload("Deployment", "edge", 16, asking("1500m"))).member(0), "deploy").is_fine


def test_a_pod_fills_one_resource_of_one_node():
    """Ten pods of 2 cores and 4Gi fill five workers of 4 cores and 8Gi by either resource, and not ten."""
    web = workload("Deployment", "web", 1, asking("100m"))
    web["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Gi"
    big = workload("Deployment", "big", 10, asking("2"))
    big["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = "4Gi"
    assert count(setting(web, big).member(0), "deploy").is_fine
    big["spec"]["replicas"] = 12
    assert not count(setting(web, big).member(0), "deploy").is_fine


def test_the_least_full_domain_of_a_spread_has_its_share_of_pods_only():
    web = workload("Deployment", "web", 9, {**asking("1200m"), **spread("web")})
    assert count(setting(web).member(0), "deploy").is_fine
    assert not count(setting(web, workload("Deployment", "b", 6, asking("1500m"))).member(0), "deploy").is_fine


def test_the_other_autoscaler_is_not_at_its_maximum_when_this_one_is():
    from kubesched_lint.engine.model.policy import Autoscaler

    web, other = workload("Deployment", "web", 4, asking("500m")), workload("Deployment", "b", 2, asking("3500m"))
    plain = setting(web, other)
    other_ref = plain.workloads[1].ref
    assert count(plain.member(0), "deploy").is_fine
    grown = replace(plain, scalers={1: Autoscaler("default", "b", other_ref, 2, 20)})
    assert count(grown.member(0), "deploy").is_fine


@pytest.mark.parametrize("event", ["node-loss", "zone-loss", "drain", "deploy"])
def test_of_a_daemonset_that_fits_no_node_none_runs_whichever_node_is_lost(event):
    found = cell(report_of(sketch(2, "abc", "4"), workload("DaemonSet", "agent", None, asking("5"))), "agent", event)
    assert (found.verdict, found.bound.least, found.bound.most) == (BAD, 0, 0)
    assert found.text.startswith("0/")


def test_a_daemonset_that_runs_everywhere_is_fine_on_the_nodes_that_are_left():
    result = report_of(sketch(2, "abc", "4"), workload("DaemonSet", "agent", None, asking("1")))
    for event in ("node-loss", "zone-loss"):
        found = cell(result, "agent", event)
        assert found.verdict == FINE
        assert found.text.endswith(" ok")


def test_an_ordinary_healthy_set_is_proven_fine():
    objects = [
        workload("Deployment", "web", 6, {**asking("400m"), **spread("web")}),
        workload("Deployment", "edge", 2, asking("100m")),
        workload("StatefulSet", "db", 2, asking("500m")),
        workload("DaemonSet", "agent", None, asking("100m")),
    ]
    result = report_of(sketch(2, "abc", "4"), *objects, states=500)
    found = {(result.workloads[r.number].name, c.event): c for r in result.rows for c in r.cells}
    assert {c.event for c in found.values()} == set(EVENTS)
    found = {key: c.deleted or c for key, c in found.items()}
    assert {c.verdict for c in found.values()} == {FINE, NONE}
    assert all(c.proven for c in found.values() if c.verdict == FINE)


def test_where_the_search_was_cut_short_the_option_that_lets_it_go_on_is_named():
    from kubesched_lint.report.simulation.report import as_text

    objects = [workload("Deployment", name, 9, asking(cpu)) for name, cpu in (("a", "900m"), ("b", "1600m"))]
    result = report_of(sketch(2, "abc", "4"), *objects, states=20)
    found = cell(result, "a", "deploy")
    assert found.verdict in (UNKNOWN, DEPENDS)
    assert "--states" in as_text(result, verbose=True)


def test_of_one_pod_a_node_one_is_missing_whichever_node_is_lost():
    """On six nodes six pods apart, without a search."""
    pods = workload("Deployment", "db", 6, {**asking("100m"), **apart("db", HOSTNAME)})
    result = report_of(sketch(2, "abc", "4"), pods, states=1)
    for event in ("node-loss", "drain"):
        found = cell(result, "db", event)
        assert (found.verdict, found.proven, found.bound.most) == (BAD, True, 5)


def test_each_node_of_a_small_cluster_is_lost_in_turn():
    """Two of eight nodes are the only ones for the database, and not those with the most pods."""
    web = workload("Deployment", "web", 40, asking("500m"))
    result = Matrix(setting(database(), web), Effort(states=1, runs=1))
    found = result.cell("node-loss", 0)
    assert found.verdict == DEPENDS
    assert (found.bound.least, found.bound.most) == (1, 2)


def apart_by(*terms: dict):
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


def test_who_may_overlook_that_a_pod_made_way_needs_room_beside_all():
    """The queueing hint of InterPodAffinity wakes a pod only when all of its terms select the one that goes."""
    selecting = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOSTNAME}
    others = {"labelSelector": {"matchLabels": {"app": "nobody"}}, "topologyKey": ZONE}
    rolling = {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}}
    one, two = (
        workload("Deployment", "web", 2, apart_by(*terms), **rolling) for terms in ([selecting], [selecting, others])
    )
    told_one, told_two = (cell(report_of(sketch(1, "ab"), w, states=1), "web", "rollout") for w in (one, two))
    assert (told_one.verdict, told_one.proven) == (FINE, True)
    assert (told_two.verdict, told_two.proven) == (DEPENDS, False)


def test_a_new_pod_that_repels_the_old_revision_needs_a_place_without_it():
    term = {"labelSelector": {}, "topologyKey": ZONE, "mismatchLabelKeys": ["pod-template-hash"]}
    web = workload("Deployment", "web", 1, apart_by(term))
    stuck = cell(report_of(sketch(2, "a"), web, states=1), "web", "rollout")
    assert not stuck.proven
    assert stuck.verdict != FINE


def test_an_affinity_to_pods_that_may_stand_outside_every_domain_is_not_sure():
    near = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "disk"}
    web = workload(
        "Deployment",
        "web",
        1,
        {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}},
    )
    node = {"name": "d", "zones": ["a"], "labels": {"disk": "ssd"}, "allocatable": {"cpu": "4", "pods": "110"}}
    everywhere, there = (
        workload("Deployment", "db", 1),
        workload("Deployment", "db", 1, {"nodeSelector": {"disk": "ssd"}}),
    )
    mixed = with_node(sketch(1, "a"), node)
    assert not cell(report_of(mixed, web, everywhere, states=1), "web", "deploy").proven
    assert cell(report_of(mixed, web, there, states=1), "web", "deploy").proven


def test_of_those_that_may_overlook_their_chance_none_is_sure_to_run_after_a_drain():
    """One waits for the only zone; the other is evicted, and nothing tells the first of it."""
    zone = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}
    nobody = {"labelSelector": {"matchLabels": {"app": "nobody"}}, "topologyKey": HOSTNAME}
    webs = (workload("Deployment", "web", 2, apart_by(*terms)) for terms in ([zone], [zone, nobody]))
    sure, unsure = (cell(report_of(sketch(2, "a"), web, states=1), "web", "drain") for web in webs)
    assert (sure.bound.least, unsure.bound.least) == (1, 0)


def test_one_in_each_zone_fills_no_more_of_the_zones_for_nodes_without_one():
    """Of 14 pods that keep apart by zone three are in zones, however many the node without a zone takes."""
    bare = Node("bare", {HOSTNAME: "bare"}, allocatable={"cpu": 64000, "memory": 64 << 30, "pods": 110})
    web = workload("Deployment", "web", 1, {**asking("2"), "nodeSelector": {ZONE: "a"}})
    edge = workload("Deployment", "edge", 14, {**asking("2"), **apart("edge", ZONE)})
    workloads = tuple(decode_workload(m, "default") for m in (web, edge))
    assert count(SimulatedSet((*cluster(), bare), Inventory(), workloads).member(0), "deploy").is_fine
    free = decode_workload(workload("Deployment", "edge", 14, asking("2")), "default")
    assert not count(SimulatedSet((*cluster(), bare), Inventory(), (workloads[0], free)).member(0), "deploy").is_fine


def test_a_surging_daemonset_needs_room_for_two_on_each_of_its_nodes():
    """Others may keep its pods from any node; all the same no rollout of it ends where a node holds but one."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    web = workload("Deployment", "web", 16, asking("1"))
    for cpu, stuck in (("2500m", True), ("2", False)):
        agent = workload("DaemonSet", "agent", None, asking(cpu), updateStrategy=strategy)
        found = count(setting(agent, web).member(0), "rollout")
        assert not found.least.pods
        assert found.always_stuck is stuck
    replacing = workload("DaemonSet", "agent", None, asking("2500m"))
    assert not count(setting(replacing, web).member(0), "rollout").always_stuck
