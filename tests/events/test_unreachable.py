"""A loss is two events: the lost nodes are deleted, or they are only unreachable (``lifecycle/unreachable``)."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks.lifecycle import nodes
from benchmarks.lifecycle import workload as named
from kubesched_lint.engine.bounds.losses.unreachable import _most_beside_empty
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, LIKELY, Cell
from kubesched_lint.engine.events.search.hypotheses import made_unreachable
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes
from kubesched_lint.report.simulation.report import as_json, as_text
from kubesched_lint.sources.clusters.read import cluster_from
from tests.events.simulated import HOSTNAME, ZONE, apart, asking, cell, report_of, sketch, workload

LOSSES = ("node-loss", "zone-loss")
STAYS = [{"operator": "Exists"}]


def spread(key: str = ZONE, **more: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    return {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector, **more}
        ]
    }


def near(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def of(name: str, event: str, *objects: Any, cluster: Any = None, **more: Any) -> Cell:
    return cell(report_of(cluster or sketch(), *objects, events=("deploy", event), **more), name, event)


def ends(found: Cell) -> tuple[str, str]:
    assert found.deleted is not None
    assert found.unreachable is not None
    return found.deleted.verdict, found.unreachable.verdict


@pytest.mark.parametrize("event", LOSSES)
def test_a_stateful_set_makes_no_replacement(event: str) -> None:
    found = of("db", event, workload("StatefulSet", "db", 2))
    assert ends(found) == (FINE, DEPENDS)
    assert found.text.endswith("/2 unreachable")
    assert "makes no replacement while its old pod terminates" in found.why
    assert "out-of-service" in found.why


@pytest.mark.parametrize("by", ["anti-affinity", "host ports"])
def test_a_parallel_stateful_set_makes_none_either(by: str) -> None:
    """No two of its pods share a node, so the loss of a node takes one of them."""
    ports = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    spec = apart("db", HOSTNAME) if by == "anti-affinity" else ports
    db = workload("StatefulSet", "db", 3, spec, podManagementPolicy="Parallel")
    found = of("db", "node-loss", db, cluster=sketch(2, "ab"))
    assert ends(found) == (FINE, DEPENDS)
    assert (found.unreachable and found.unreachable.bound[:2]) == (2, 3)


@pytest.mark.parametrize(("management", "least"), [("OrderedReady", 0), ("Parallel", 2)])
def test_a_preempted_pod_of_a_stateful_set_waits_for_one_that_terminates(management: str, least: int) -> None:
    """Both strong pods and db-0 are lost; the strong ones drive db-1 from the last node that they may use."""
    sizes = {"h": ("a", "4", 1), "i": ("a", "2", 1), "w": ("b", "2", 3)}
    nodes = [
        {"name": name, "count": n, "zones": [zone], "allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "110"}}
        for name, (zone, cpu, n) in sizes.items()
    ]
    value = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": nodes, "objects": []}
    cluster = cluster_from([("cluster.yaml", json.dumps(value).encode())], "cluster.yaml")
    strong = asking("1", priorityClassName="system-cluster-critical", nodeSelector={ZONE: "a"})
    db = workload("StatefulSet", "db", 3, {**asking("1500m"), **apart("db", HOSTNAME)}, podManagementPolicy=management)
    found = of("db", "node-loss", workload("Deployment", "strong", 2, strong), db, cluster=cluster)
    assert ends(found) == (FINE, DEPENDS)
    assert (found.unreachable and found.unreachable.bound[:2]) == (least, 3)


@pytest.mark.parametrize(("management", "least"), [("OrderedReady", 5), ("Parallel", 6)])
def test_pods_that_are_not_made_yet_wait_for_one_that_terminates(management: str, least: int) -> None:
    """The small zone holds the others at five pods. If it is out, db-5 finds a node, and db-6 is made behind db-0."""
    nodes = [
        {"name": zone, "count": n, "zones": [zone], "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}}
        for zone, n in (("a", 4), ("b", 4), ("c", 1))
    ]
    value = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": nodes, "objects": []}
    cluster = cluster_from([("cluster.yaml", json.dumps(value).encode())], "cluster.yaml")
    (constraint,) = spread(nodeTaintsPolicy="Honor")["topologySpreadConstraints"]
    spec = {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"app": "db"}}}]}
    db = workload("StatefulSet", "db", 7, {**spec, **apart("db", HOSTNAME)}, podManagementPolicy=management)
    event = "lose zone=c:unreachable"
    exact = of("db", event, db, cluster=cluster, suppose=_lose("zone=c"))
    counted = of("db", event, db, cluster=cluster, suppose=_lose("zone=c"), states=1)
    assert tuple(exact.bound) == (least, least, "search")
    assert counted.bound.least <= least, "else counting contradicts the search"


def test_an_unreachable_zone_counts_as_empty_unless_taints_are_honored() -> None:
    found = of("web", "zone-loss", workload("Deployment", "web", 6, spread()))
    assert ends(found) == (FINE, BAD)
    assert (found.proven, found.text) == (True, "4/6 −2 unreachable")
    assert (found.bound.least, found.bound.most) == (4, 6), "the cell has both"
    assert "nodeTaintsPolicy: Honor" in found.why
    honored = of("web", "zone-loss", workload("Deployment", "web", 6, spread(nodeTaintsPolicy="Honor")))
    assert (ends(honored), honored.text, honored.proven) == ((FINE, FINE), "6/6 ok", True)
    assert ends(of("web", "node-loss", workload("Deployment", "web", 6, spread()))) == (FINE, FINE)


def test_an_unreachable_node_counts_as_empty_for_a_spread_over_nodes() -> None:
    found = of("web", "node-loss", workload("Deployment", "web", 6, spread(HOSTNAME)))
    assert (ends(found), found.text) == ((FINE, BAD), "5/6 −1 unreachable")


def test_few_pods_have_room_beside_an_empty_zone() -> None:
    found = of("web", "zone-loss", workload("Deployment", "web", 2, spread()))
    assert (ends(found), found.text, found.proven) == ((FINE, FINE), "2/2 ok", True)


def test_a_pod_that_terminates_closes_its_zone() -> None:
    found = of("web", "node-loss", workload("Deployment", "web", 3, apart("web")))
    assert ends(found) == (FINE, DEPENDS)
    assert ends(of("web", "node-loss", workload("Deployment", "web", 3, apart("web", HOSTNAME)))) == (FINE, FINE)


def test_followers_stay_with_pods_that_terminate() -> None:
    """All of them may have been in the zone that is out: then the new ones find no live node beside them."""
    found = of("web", "zone-loss", workload("Deployment", "web", 2, near("web")))
    assert ends(found)[1] == DEPENDS
    assert "still count for its affinity" in found.why


def test_pods_that_tolerate_the_taints_are_not_replaced() -> None:
    found = of("web", "node-loss", workload("Deployment", "web", 2, {"tolerations": STAYS}))
    assert ends(found)[0] == FINE
    assert found.verdict in (BAD, DEPENDS)
    assert "tolerate the taints" in found.why


@pytest.mark.parametrize("is_first", [False, True])
def test_the_first_toleration_of_a_taint_says_how_long_a_pod_stays(is_first: bool) -> None:
    toleration = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    both = [toleration, {**toleration, "tolerationSeconds": 60}]
    spec = {"tolerations": both if is_first else both[::-1]}
    found = of("web", "node-loss", workload("Deployment", "web", 2, spec))
    assert (ends(found)[1] == FINE) is not is_first


@pytest.mark.parametrize("spec", [{}, {"tolerations": STAYS}])
@pytest.mark.parametrize("event", LOSSES)
def test_a_daemon_set_wants_nothing_of_unreachable_nodes(event: str, spec: dict[str, Any]) -> None:
    found = of("log", event, workload("DaemonSet", "log", None, spec))
    assert (ends(found), found.verdict, found.proven) == ((FINE, FINE), FINE, True)
    supposed = of("log", "lose zone=a:unreachable", workload("DaemonSet", "log", None, spec), suppose=_lose("zone=a"))
    assert supposed.verdict in (FINE, LIKELY)


@pytest.mark.parametrize(("policy", "verdict"), [({}, FINE), ({"podReplacementPolicy": "Failed"}, DEPENDS)])
def test_a_job_may_wait_for_the_end_of_its_pods(policy: dict[str, str], verdict: str) -> None:
    job = workload("Job", "once", None, {"restartPolicy": "Never"})
    job["apiVersion"] = "batch/v1"
    del job["spec"]["selector"]
    job["spec"] |= {"parallelism": 2, "completions": 2, **policy}
    assert ends(of("once", "node-loss", job))[1] == verdict


def _lose(nodes: str) -> tuple[tuple[str, str], ...]:
    return (("lose", f"{nodes}:unreachable"),)


def test_a_supposed_loss_takes_either_end() -> None:
    web = workload("Deployment", "web", 6, spread())
    suppose = (("lose", "zone=a"), ("lose", "zone=a:deleted"), *_lose("zone=a"))
    result = report_of(sketch(), web, events=("deploy",), suppose=suppose)
    assert cell(result, "web", "lose zone=a").text == cell(result, "web", "lose zone=a:deleted").text == "6/6 ok"
    assert (cell(result, "web", "lose zone=a:unreachable").text) == "4/6 −2"
    with pytest.raises(ValueError, match="did you mean `unreachable`"):
        report_of(sketch(), web, events=("deploy",), suppose=(("lose", "zone=a:unreachble"),))


def test_the_reports_have_both_ends() -> None:
    result = report_of(sketch(), workload("Deployment", "web", 6, spread()), events=("deploy", "zone-loss"))
    _, loss = json.loads(as_json(result))["workloads"][0]["cells"]
    assert (loss["deleted"]["verdict"], loss["unreachable"]["verdict"]) == ("fine", "bad")
    assert loss["unreachable"]["bound"]["max"] == 4
    text = as_text(result, verbose=True)
    assert "4/6! u" in text
    assert "worse while the lost nodes are only unreachable" in text


@pytest.mark.parametrize(
    ("zones", "count", "out", "halted"),
    [("ab", 4, 3, 3), ("ab", 4, 4, 0), ("ab", 3, 2, 0), ("a", 4, 4, 4), ("ab", 60, 59, 0), ("ab", 6, 3, 0)],
)
def test_from_most_of_a_zone_nothing_is_evicted(zones: str, count: int, out: int, halted: int) -> None:
    """ComputeZoneState and ReducedQPSFunc: more than two nodes, 55 % or more but not all, of a zone of at most 50."""
    nodes = sketch(count, zones).inventory.nodes
    names = [node.name for node in nodes if node.labels[ZONE] == "a"][:out]
    assert len(made_unreachable(names, nodes).halted) == halted


def test_what_is_not_evicted_is_not_replaced() -> None:
    lost = (("lose", "node/w-a-1:unreachable"), ("lose", "node/w-a-2:unreachable"), ("lose", "node/w-a-3:unreachable"))
    web = workload("Deployment", "web", 8, apart("web", HOSTNAME))
    result = report_of(sketch(5, "ab"), web, events=("deploy",), suppose=lost)
    assert cell(result, "web", "all at once").verdict == BAD
    assert any("nothing is evicted from" in premise for premise in cell(result, "web", "all at once").assumes)


@pytest.mark.parametrize("domains", [2, 3, 4])
@pytest.mark.parametrize("skew", [1, 2, 3])
def test_no_placement_has_more_pods_beside_an_empty_domain(domains: int, skew: int) -> None:
    for wanted in range(1, 9):
        most = 0
        for counts in product(range(wanted + 1), repeat=domains):
            if sum(counts) <= wanted and max(counts) - min(counts) <= skew:
                for lost in range(domains):
                    left = (max(count, skew) for place, count in enumerate(counts) if place != lost)
                    most = max(most, min(wanted, sum(left)))
        assert most <= _most_beside_empty(wanted, domains, skew) <= most + 1


def test_the_most_beside_an_empty_domain_is_found_without_trying_each_number() -> None:
    """The simulation of 2**31 replicas took a minute: it tried every least number of pods in a domain."""

    def tried(wanted: int, domains: int, skew: int) -> int:
        others = domains - 1
        found = [
            min(wanted - least, others * (least + skew))
            if least >= skew
            else others * skew + min(others * least, max(0, wanted - domains * least - (skew - least)))
            for least in range(wanted // domains + 1)
        ]
        return min(max(found), wanted)

    asked = [(wanted, domains, skew) for wanted in range(40) for domains in range(1, 7) for skew in range(1, 9)]
    assert [_most_beside_empty(*one) for one in asked] == [tried(*one) for one in asked]
    assert _most_beside_empty(2**31 - 1, 3, 1) == (2**31 - 1) * 2 // 3 + 1


@pytest.mark.parametrize(("cpu", "verdict"), [("1", FINE), ("5", BAD)])
def test_it_says_what_each_zone_leaves_of_a_daemon_set_where_zones_differ_in_size(cpu: str, verdict: str) -> None:
    """Of one node in a and b each, and two in c, the cell shows the most; equal zones need no words."""
    uneven = sketch(1, "abc")
    third = uneven.inventory.nodes[2]
    more = replace(third, name="w-c-2", labels={**third.labels, HOSTNAME: "w-c-2"})
    cluster = replace(uneven, inventory=replace(uneven.inventory, nodes=(*uneven.inventory.nodes, more)))
    agent = workload("DaemonSet", "agent", None, asking(cpu))
    loss = cell(report_of(cluster, agent, events=("zone-loss",)), "agent", "zone-loss")
    assert (loss.verdict, loss.wanted) == (verdict, 3)
    assert loss.why.endswith("; of its 4 pods it wants 3 without zone a or b, 2 without zone c")
    even = cell(report_of(uneven, agent, events=("zone-loss",)), "agent", "zone-loss")
    assert "without zone" not in even.why


def test_of_several_deployments_one_loses_contact_to_a_node() -> None:
    """What another deployment tells, the deleted node shows: a trace each costs as much as it does."""
    made = SimulatedSet(nodes(4), Inventory(), (named(0),))
    deployed = [timeline_of(made, [0], expected=True, most_states=0, runs=2, seed=seed) for seed in (1, 2)]
    outcomes = EventOutcomes(made, [0], deployed, ["n0", "n1"])
    lost, out_of_touch = (outcomes.variants(event, 0) for event in ("node-loss", "node-unreachable"))
    assert [where for where, _ in lost] == ["n0", "n0", "n1", "n1"]
    assert [where for where, _ in out_of_touch] == ["n0", "n1"]
    searched = [timeline_of(made, [0], expected=False, most_states=400) for _ in range(2)]
    assert len(EventOutcomes(made, [0], searched, ["n0"]).variants("node-unreachable", 0)) == 2, "a proof needs all"
