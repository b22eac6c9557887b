"""One decision is told node by node: what it scores, or what turned the pod away and what lies behind it."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.commands.why.explain import explain
from kubesched_lint.commands.why.naming import NamingError, find
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node, Taint
from kubesched_lint.engine.model.pod import (
    BoundPod,
    Container,
    HostPort,
    NodeSelectorTerm,
    Pod,
    PodAffinityTerm,
    SpreadConstraint,
)
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.report.findings.explanation import as_json, as_text

GI = 1 << 30
WEB = Selector((Requirement("app", "In", ("web",)),))
DB = Selector((Requirement("app", "In", ("db",)),))


def node(name, zone="a", **more):
    labels = {HOSTNAME: name, **({ZONE: zone} if zone else {}), **more.pop("labels", {})}
    more.setdefault("allocatable", {"cpu": 4000, "memory": 8 * GI, "pods": 110})
    return Node(name, labels, **more)


def pod(app="web", *, cpu=500, **more):
    asked = {"cpu": cpu, "memory": GI}
    return replace(Pod("shop", {"app": app}, containers=(Container("c", asked),), requests=asked), **more)


def state_of(nodes, *standing):
    pods = tuple(BoundPod(f"p{i}", where, which) for i, (where, which) in enumerate(standing))
    return ClusterState(NodeIndex(nodes), Inventory(pods=pods))


def test_a_fitting_node_has_scores_and_the_best_may_win():
    found = explain(pod(), state_of([node("a"), node("b"), node("c")], ("b", pod("db"))))
    assert [n.fits for n in found.nodes] == [True] * 3
    assert [n.may_win for n in found.nodes] == [True, False, True]
    for verdict in found.nodes:
        assert verdict.total == sum(verdict.scores.values())
    assert found.message == ""


def test_a_single_node_that_fits_is_chosen_without_scores():
    found = explain(pod(), state_of([node("a"), node("b", unschedulable=True)]))
    assert [(n.may_win, n.total, dict(n.scores)) for n in found.nodes] == [(True, None, {}), (False, None, {})]
    (obstacle,) = found.nodes[1].obstacles
    assert (obstacle.plugin, obstacle.reason, obstacle.removable) == (
        "NodeUnschedulable",
        "node(s) were unschedulable",
        False,
    )


def obstacle(copy, nodes, *standing):
    """The only obstacle of the first node."""
    (found,) = explain(copy, state_of(nodes, *standing)).nodes[0].obstacles
    return found.plugin, found.detail, found.removable


def test_the_taint_in_the_way_is_named():
    tainted = node("a", taints=(Taint("spot", "", "PreferNoSchedule"), Taint("dedicated", "gpu", "NoSchedule")))
    assert obstacle(pod(), [tainted]) == ("TaintToleration", "taint dedicated=gpu:NoSchedule", False)


def test_missing_resources_are_told_in_numbers():
    assert obstacle(pod(cpu=2000), [node("a")], ("a", pod(cpu=2500))) == (
        "NodeResourcesFit",
        "asks for 2, 1500m of 4 left",
        True,
    )
    full = node("a", allocatable={"cpu": 4000, "memory": 8 * GI, "pods": 1})
    assert obstacle(pod(), [full], ("a", pod()))[1] == "1 of at most 1 pods are there"


def test_every_lacking_resource_is_an_obstacle_of_its_own():
    asked = {"cpu": 9000, "memory": 9 * GI}
    greedy = replace(pod(), containers=(Container("c", asked),), requests=asked)
    found = explain(greedy, state_of([node("a")]))
    assert [o.reason for o in found.nodes[0].obstacles] == ["Insufficient cpu", "Insufficient memory"]
    assert not any(o.removable for o in found.nodes[0].obstacles)


def test_the_label_that_does_not_match_is_named():
    here = node("a", labels={"disk": "hdd"})
    plugin, detail, removable = obstacle(pod(node_selector={"disk": "ssd", "gpu": "yes"}), [here])
    assert (plugin, removable) == ("NodeAffinity", False)
    assert detail == "asks for disk=ssd, the node has disk=hdd; asks for gpu=yes, the node has no such label"
    one = (NodeSelectorTerm((Requirement("disk", "NotIn", ("hdd",)), Requirement(ZONE, "Exists"))),)
    assert obstacle(pod(required_node_terms=one), [here])[1] == "asks for disk notin (hdd), the node has disk=hdd"
    assert obstacle(pod(required_node_terms=one * 2), [here])[1] == "matches none of its 2 node selector terms"


def test_the_skew_is_told_in_numbers():
    constraint = SpreadConstraint(1, ZONE, "DoNotSchedule", WEB)
    copy = pod(spread=(constraint,))
    nodes = [node("a", "a"), node("b", "b")]
    assert obstacle(copy, nodes, ("a", pod())) == (
        "PodTopologySpread",
        f"{ZONE}=a would hold 2, the emptiest {ZONE}=b holds 0, maxSkew is 1",
        True,
    )
    assert obstacle(copy, [node("x", zone=None), *nodes])[1:] == (f"the node has no label {ZONE}", False)
    few = pod(spread=(replace(constraint, min_domains=3),))
    assert obstacle(few, nodes, ("a", pod()))[1] == (
        f"{ZONE}=a would hold 2, at most 1 while there are fewer than 3 zones"
    )


def test_of_two_constraints_the_one_that_turned_the_pod_away_is_told():
    hosts = SpreadConstraint(5, HOSTNAME, "DoNotSchedule", WEB)
    copy = pod(spread=(hosts, SpreadConstraint(1, ZONE, "DoNotSchedule", WEB)))
    assert obstacle(copy, [node("a", "a"), node("b", "b")], ("a", pod()))[1].startswith(f"{ZONE}=a would hold 2")


def test_neighbours_that_attract_or_repel_are_named():
    apart, near = PodAffinityTerm(ZONE, WEB), PodAffinityTerm(ZONE, DB)
    nodes = [node("a"), node("a2"), node("b", "b")]
    assert obstacle(pod(required_anti_affinity=(apart,)), nodes, ("a2", pod()), ("a2", pod())) == (
        "InterPodAffinity",
        f"it keeps away from 2 pods like shop/{{app=web}} in {ZONE}=a",
        True,
    )
    holder = pod("db", required_anti_affinity=(apart,))
    assert obstacle(pod(), nodes, ("a2", holder))[1] == (
        f"the anti-affinity of a pod like shop/{{app=db}} in {ZONE}=a selects app=web"
    )
    assert obstacle(pod(required_affinity=(near,)), nodes, ("b", pod("db"))) == (
        "InterPodAffinity",
        f"no pods with app=db are in {ZONE}=a",
        False,
    )
    lonely = [node("x", zone=None), *nodes]
    assert obstacle(pod(required_affinity=(near,)), lonely, ("b", pod("db")))[1] == f"the node has no label {ZONE}"


def test_a_pod_that_matches_some_but_not_all_terms_is_no_companion():
    terms = (PodAffinityTerm(ZONE, WEB), PodAffinityTerm(ZONE, Selector((Requirement("tier", "Exists"),))))
    front = replace(pod("db"), labels={"app": "db", "tier": "front"})
    copy = pod("cache", required_affinity=terms)
    whole = replace(pod(), labels={"app": "web", "tier": "front"})
    found = obstacle(copy, [node("a"), node("b", "b")], ("a", pod()), ("a", front), ("b", whole))
    assert found[1] == "no pods that match all its terms are where it is"


def test_when_nothing_fits_the_message_is_the_schedulers():
    found = explain(pod(cpu=9000), state_of([node("a"), node("b", unschedulable=True)]))
    assert found.message == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable. no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_preemption_is_told_with_its_victims():
    state = state_of([node("a")], ("a", pod("db", cpu=3800, priority=0)))
    found = explain(pod(priority=100), state)
    assert (found.nominated, found.victims) == ("a", ("shop/p0",))
    assert state.pod_count(0) == 1  # nobody was evicted by asking
    assert "Preemption evicts shop/p0 from a" in as_text(found)


def test_gates_and_prefilters_turn_the_pod_away_from_every_node():
    gated = explain(pod(scheduling_gates=("wait",)), state_of([node("a"), node("b")]))
    assert gated.refusal == "SchedulingGates"
    assert {o.plugin for n in gated.nodes for o in n.obstacles} == {"SchedulingGates"}
    terms = (NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("b",)),)),)
    pinned = explain(pod(required_node_terms=terms, host_ports=(HostPort(80),)), state_of([node("a"), node("b")]))
    assert pinned.nodes[0].obstacles[0].plugin == "NodeAffinity"
    assert pinned.nodes[0].obstacles[0].reason == "node(s) didn't satisfy plugin(s) [NodeAffinity]"
    assert pinned.nodes[1].fits


def test_a_daemonsets_pods_have_no_choice_and_so_no_scores():
    found = explain(pod(), state_of([node("a"), node("b")]), one_node_each=True)
    assert [(n.fits, n.total) for n in found.nodes] == [(True, None)] * 2


# --- reports --------------------------------------------------------------------------------------------------------


def test_the_first_line_is_the_verdict():
    subject = "Deployment shop/web"
    fits = explain(pod(), state_of([node("a"), node("b", unschedulable=True)]), subject=subject)
    assert as_text(fits).splitlines()[0] == f"{subject} fits on 1 of 2 nodes."
    full = explain(pod(cpu=9000), state_of([node("a"), node("b")]), subject=subject)
    assert as_text(full).splitlines()[0] == f"{subject} fits on none of 2 nodes: the pod stays Pending."
    full = explain(pod(cpu=9000), state_of([node("a")]), subject=subject)
    assert as_text(full).splitlines()[0] == f"{subject} does not fit on the only node: the pod stays Pending."


def test_many_nodes_with_equal_rows_share_one():
    nodes = [node(f"n{i}", unschedulable=i < 5) for i in range(30)]
    found = explain(pod(), state_of(nodes))
    text = as_text(found)
    assert "5 nodes: n0, n1, n2 and 2 more" in text
    assert "n5, n6, n7 and 22 more at random" in text
    assert "n17" not in text
    assert all(f"n{i} " in as_text(found, each=True) for i in range(30))
    below = [as_text(found, width=width).split("do not fit:")[1] for width in (0, 80, 120)]
    assert below[0] == below[1] == below[2], "what does not fit reads the same at every width"


def test_of_many_nodes_of_a_daemonset_the_first_are_named():
    found = explain(pod(), state_of([node(f"n{i}") for i in range(30)]), one_node_each=True)
    assert "n18, n19 and 10 more (--each lists them)." in as_text(found)
    assert "n28, n29." in as_text(found, each=True)


def test_where_details_differ_a_shared_row_gives_an_example():
    nodes = [node(f"n{i}", taints=(Taint("t", str(i), "NoSchedule"),)) for i in range(21)]
    assert "for example taint t=0:NoSchedule (n0)" in as_text(explain(pod(), state_of(nodes)))


def test_a_narrow_terminal_loses_nothing_and_breaks_no_word():
    found = explain(pod(), state_of([node("a-node-with-a-rather-long-name", unschedulable=True), node("b")]))
    wide, narrow = as_text(found), as_text(found, width=40)
    assert max(map(len, narrow.splitlines())) <= 40
    assert len(wide.splitlines()) < len(narrow.splitlines())
    obstacle = found.nodes[0].obstacles[0]
    for words in (found.nodes[0].node, f"{obstacle.plugin}: {obstacle.reason}"):
        assert words in " ".join(narrow.split())


def test_a_narrow_table_of_scores_becomes_a_list():
    found = explain(pod(), state_of([node("a-node-with-a-rather-long-name"), node("b")]))
    short = as_text(found, width=40)
    assert "TaintToleration" not in short
    assert f"The nodes that fit score {found.nodes[0].total};" in " ".join(short.split())
    narrow = as_text(found, width=40, each=True)
    assert max(map(len, narrow.splitlines())) <= 40
    for verdict in found.nodes:
        assert verdict.node in narrow
        assert str(verdict.total) in narrow
        for plugin, points in verdict.scores.items():
            assert not points or f"{plugin} {points}" in " ".join(narrow.split())


def test_a_daemonset_without_nodes_makes_no_pod_that_could_wait():
    agent = Workload("DaemonSet", "ops", "agent", pod(node_selector={"pool": "nowhere"}))
    nodes = (node("a"), node("b"), node("full", allocatable={"cpu": 0, "memory": 0, "pods": 0}))
    live = Cluster(inventory=Inventory(nodes=nodes), kinds=frozenset({"Node"}))
    found = answer(Question("agent"), Inventory(workloads=(agent,)), live)
    assert found.made_for == 0
    assert "no pod is created, because labels or taints of every node exclude it." in as_text(found)
    assert "Pending" not in as_text(found)
    free = Workload("DaemonSet", "ops", "agent", pod())
    found = answer(Question("agent"), Inventory(workloads=(free,)), live)
    assert "a pod is created for 3 of 3 nodes; 1 of them stays Pending." in as_text(found)
    assert json.loads(as_json(found))["madeFor"] == 3
    found = answer(Question("agent"), Inventory(workloads=(free,)), replace(live, inventory=Inventory(nodes=nodes[:2])))
    assert "a pod is created for 2 of 2 nodes; all of them fit." in as_text(found)


def test_text_for_a_pipe_has_neither_colour_nor_trailing_blanks():
    text = as_text(explain(pod(), state_of([node("a"), node("b", unschedulable=True)])))
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())
    assert "\x1b" in as_text(explain(pod(), state_of([node("a"), node("b")])), color=True)


def test_names_cannot_drive_the_terminal():
    text = as_text(explain(pod(node_selector={"k": "\x1b[2J"}), state_of([node("a")]), subject="Pod \x1b[31mx"))
    assert "\x1b" not in text


def test_json_tells_everything():
    found = explain(pod(), state_of([node("a"), node("b"), node("c", unschedulable=True)]), subject="Pod shop/web")
    document = json.loads(as_json(found))
    assert document["fits"] == ["a", "b"]
    assert document["mayWin"] == ["a", "b"]
    assert document["message"] is None
    assert document["nodes"][2] == {
        "node": "c",
        "fits": False,
        "obstacles": [
            {"plugin": "NodeUnschedulable", "reason": "node(s) were unschedulable", "evictionMightHelp": False}
        ],
    }
    assert document["nodes"][0]["total"] == sum(document["nodes"][0]["scores"].values())


# --- names ----------------------------------------------------------------------------------------------------------


def workload(kind, namespace, name):
    return Workload(kind, namespace, name, pod())


MANIFESTS = Inventory(
    workloads=(
        workload("Deployment", "shop", "web"),
        workload("StatefulSet", "shop", "db"),
        workload("Deployment", "lab", "web"),
        workload("Job", "web", "db"),
    )
)
LIVE = Inventory(
    workloads=(workload("DaemonSet", "ops", "agent"), workload("Deployment", "shop", "db")),
    pods=(BoundPod("agent-x", "a", pod()), BoundPod("web", "a", pod())),
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lab/web", "deployment/lab/web"),
        ("sts/db", "statefulset/shop/db"),
        ("StatefulSets/db", "statefulset/shop/db"),
        ("deploy/shop/web", "deployment/shop/web"),
        ("web/db", "job/web/db"),
        ("agent", "daemonset/ops/agent"),
        ("po/agent-x", "pod/shop/agent-x"),
        # The manifests come first, then the workloads of the snapshot, then its pods.
        ("shop/db", "statefulset/shop/db"),
        ("pod/web", "pod/shop/web"),
    ],
)
def test_names_find_one_thing(name, expected):
    assert find(name, MANIFESTS, LIVE).full_name == expected


def test_a_name_of_several_things_lists_them():
    with pytest.raises(NamingError, match="'web' may mean shop/web or lab/web"):
        find("web", MANIFESTS, LIVE)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nothing", "; there is shop/web, statefulset/shop/db, lab/web and "),
        ("shop/agent", "; did you mean ops/agent\\?"),
        ("deploy/agent", "; did you mean ops/agent\\?"),
        ("wbe", "; did you mean "),
        ("AGENT", "; did you mean ops/agent\\?"),
        ("", "; there is shop/web"),
    ],
)
def test_a_name_of_nothing_gets_guesses_or_a_list(name, hint):
    with pytest.raises(NamingError, match=hint):
        find(name, MANIFESTS, LIVE)
