"""Pods that each need a domain of their own: who checks that, and who holds a domain already."""

from __future__ import annotations

from functools import partial

import pytest

from kubesched_lint.checks import anti_affinity_exceeds_domains, node_loss_leaves_pending
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import FILTERS, BoundPod, Owner, Pod, PodAffinityTerm, SchedulerProfile
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.matrix import EVENTS
from tests import drawn as st
from tests.drawn import given
from tests.events import simulated
from tests.events.enclosed import is_enclosed, thorough
from tests.events.made_sets import nodes
from tests.events.made_sets import workload as made


def _nodes(*cpu: int) -> tuple[Node, ...]:
    return tuple(
        Node(f"n{i}", {ZONE: f"z{i}", HOSTNAME: f"n{i}"}, allocatable={"cpu": each, "pods": 110})
        for i, each in enumerate(cpu)
    )


def _made(name: str, replicas: int, cpu: str, **more):
    return decode_workload(simulated.workload("Deployment", name, replicas, simulated.asking(cpu, **more)), "default")


@pytest.mark.parametrize(
    ("plugin", "kept_apart"),
    [("InterPodAffinity", simulated.apart("web", HOSTNAME)), ("NodePorts", {})],
)
def test_pods_that_no_filter_keeps_apart_may_fill_one_node_together(plugin, kept_apart):
    """Two pods of web on each node leave db none; with one on each, db would be fine in every order."""
    web = _made("web", 4, "400m", **kept_apart)
    if plugin == "NodePorts":
        spec = simulated.asking("400m")
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        web = decode_workload(simulated.workload("Deployment", "web", 4, spec), "default")
    profile = SchedulerProfile(filters=tuple(name for name in FILTERS if name != plugin))
    setting = SimulatedSet(_nodes(1000, 1000), Inventory(schedulers=(profile,)), (_made("db", 1, "600m"), web))
    assert not count(setting.member(0), "deploy").is_fine
    assert is_enclosed(setting, "deploy")


def test_affinity_that_no_filter_checks_leads_nowhere():
    """Each node takes one pod of web and repels the next one, which must be near the first: if anybody checks that."""
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOSTNAME}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    web = _made("web", 2, "100m", affinity={"podAffinity": terms, "podAntiAffinity": terms})
    unchecked = SchedulerProfile(filters=tuple(name for name in FILTERS if name != "InterPodAffinity"))
    for profiles, most in (((), 1), ((unchecked,), 2)):
        setting = SimulatedSet(_nodes(1000, 1000), Inventory(schedulers=profiles), (web, _made("db", 2, "950m")))
        assert count(setting.member(0), "deploy").most.pods == most


def _other(name: str, node: str, *, repels: bool) -> BoundPod:
    term = PodAffinityTerm(ZONE, Selector((Requirement("app", "In", ("web",)),)))
    pod = Pod("default", {"app": "other" if repels else "web"}, required_anti_affinity=(term,) if repels else ())
    return BoundPod(name, node, pod, Owner("ReplicaSet", "other"))


@pytest.mark.parametrize("repels", [False, True])
def test_a_domain_that_a_pod_of_others_holds_is_not_free(repels):
    """Two zones, of which one has a pod that web's pods repel, or that repels them. Its loss frees the zone."""
    web = _made("web", 2, "100m", **simulated.apart("web", ZONE))
    setting = SimulatedSet(_nodes(1000, 1000), Inventory(pods=(_other("other", "n0", repels=repels),)), (web,))
    assert (count(setting.member(0), "deploy").most.pods, count(setting.member(0), "node-loss").most.pods) == (1, 1)
    three = SimulatedSet(_nodes(1000, 1000, 1000), setting.objects, (web,))
    assert [count(three.member(0), event).most.pods for event in ("deploy", "node-loss")] == [2, 2]
    assert all(is_enclosed(setting, event) for event in ("deploy", "rollout", "node-loss", "drain"))


@pytest.mark.parametrize(("zones", "missing"), [(3, 1), (4, 0)])
def test_rules_count_the_domains_that_have_room_as_the_matrix_does(zones, missing):
    """The first of the zones is full of a pod of others; one more may be lost."""
    web = _made("web", 3, "600m", **simulated.apart("web", ZONE))
    pod = Pod("default", {"app": "other"}, requests={"cpu": 600})
    inventory = Inventory(nodes=_nodes(*[1000] * zones), pods=(BoundPod("other", "n0", pod, Owner("ReplicaSet", "o")),))
    scenario = Scenario(Inventory(workloads=(web,)), Cluster(inventory, kinds=frozenset(["Node", "Pod"])))
    it = scenario.member(web)
    for check, lost in (
        (partial(anti_affinity_exceeds_domains.check, reserve=0), 0),
        (partial(node_loss_leaves_pending.check, of="node"), 1),
    ):
        found = [hazard.values["pending"] for hazard in check(it)]
        assert found == ([1] if lost == (not missing) else [])
    assert count(simulated_set_of(scenario).member(0), "deploy").most.pods == 3 - missing


@thorough
@given(st.data(), nodes(most=3), made("web", ("Deployment", "StatefulSet")), st.sampled_from(EVENTS))
def test_bounds_enclose_every_end_beside_pods_of_others_that_repel(data, cluster, web, event):
    names = [node.name for node in cluster]
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(names), st.booleans()), min_size=1, max_size=2))
    pods = tuple(_other(f"other-{n}", node, repels=repels) for n, (node, repels) in enumerate(drawn))
    is_enclosed(SimulatedSet(cluster, Inventory(pods=pods), (web,)), event)


def test_a_rollout_says_that_old_pods_need_nodes_too():
    """ "each pod needs a node of its own, and 1 node stays open" was said of the rollout of a single pod."""
    web = _made("web", 1, "1", **simulated.apart("web", HOSTNAME))
    setting = SimulatedSet(_nodes(2000, 2000), Inventory(), (web, _made("other", 2, "1")))
    told = {event: count(setting.member(0), event).least.why for event in ("deploy", "rollout")}
    assert told == {
        "deploy": "each pod needs a node of its own, and 1 node stays open for certain",
        "rollout": "each pod, old or new, needs a node of its own, and 1 node stays open for certain",
    }
