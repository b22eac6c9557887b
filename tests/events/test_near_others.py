"""Pods that must be near others and apart from each other: one bound, which rules and matrix read."""

from __future__ import annotations

import pytest

from kubesched_lint.checks import anti_affinity_exceeds_domains, rollout_surge_deadlock
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.matrix import EVENTS
from tests import drawn as st
from tests.drawn import given
from tests.events import simulated
from tests.events.enclosed import is_enclosed, thorough
from tests.events.made_sets import nodes
from tests.events.made_sets import workload as made

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODES = tuple(
    Node(f"n{i}", {ZONE: f"z{i // 2}", HOSTNAME: f"n{i}"}, allocatable={"cpu": 4000, "pods": 110}) for i in range(6)
)


def _scenario(replicas: int, apart: str, running: tuple[str, ...] = ()) -> Scenario:
    """Web has one pod in each domain of ``apart`` that is in the zone of the only pod of db."""
    near = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": ZONE}
    itself = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": apart}
    affinity = {"podAffinity": {REQUIRED: [near]}, "podAntiAffinity": {REQUIRED: [itself]}}
    web = decode_workload(
        simulated.workload("Deployment", "web", replicas, simulated.asking("100m", affinity=affinity)), "default"
    )
    db = decode_workload(simulated.workload("Deployment", "db", 1, simulated.asking("100m")), "default")
    pod = Pod("default", {"app": "web", "pod-template-hash": "a"})
    pods = tuple(BoundPod(f"web-{n}", n, pod, Owner("ReplicaSet", "web-a")) for n in running)
    kinds = frozenset(["Node", "Pod"] if running else ["Node"])
    return Scenario(Inventory(workloads=(web, db)), Cluster(Inventory(nodes=NODES, pods=pods), kinds=kinds))


@pytest.mark.parametrize(("apart", "most"), [(ZONE, 1), (HOSTNAME, 2)])
def test_counting_knows_the_domains_beside_others_in_which_pods_are_alone(apart, most):
    """The matrix counted the room of the zone, whatever keeps two pods in it apart."""
    scenario = _scenario(3, apart)
    bounds = count(simulated_set_of(scenario).member(0), "deploy")
    assert (bounds.most.pods, *map(str, bounds.most.near)) == (most, "Deployment default/db")
    (hazard,) = anti_affinity_exceeds_domains.check(scenario.member(scenario.manifests.workloads[0]), reserve=0)
    assert (hazard.variant, hazard.values["supply"]) == ("near", most)


@pytest.mark.parametrize(("apart", "most"), [(ZONE, 1), (HOSTNAME, 2)])
def test_a_surge_pod_needs_a_domain_beside_others_too(apart, most):
    scenario = _scenario(most, apart)
    assert count(simulated_set_of(scenario).member(0), "rollout").always_stuck
    assert not count(simulated_set_of(_scenario(most, "none")).member(0), "rollout").always_stuck
    hazards = list(rollout_surge_deadlock.check(scenario.member(scenario.manifests.workloads[0])))
    assert [hazard.variant for hazard in hazards] == ["near"]


def test_pods_that_run_already_may_stand_where_no_new_one_may_go():
    """The rule proved that two of them stay Pending; the matrix knew that nobody ends them."""
    scenario = _scenario(3, ZONE, ("n0", "n2", "n4"))
    web = scenario.manifests.workloads[0]
    assert scenario.member(web).running_pods
    assert [
        h for h in anti_affinity_exceeds_domains.check(scenario.member(web), reserve=0) if h.variant == "near"
    ] == []


def test_pods_outside_the_set_are_where_they_run():
    """Two zones have room for both pods of web; that of the only pod that it must be near has room for one."""
    near = {"labelSelector": {"matchLabels": {"app": "cache"}}, "topologyKey": ZONE}
    spec = simulated.asking("3", affinity={"podAffinity": {REQUIRED: [near]}})
    web = decode_workload(simulated.workload("Deployment", "web", 2, spec), "default")
    cache = BoundPod("cache", "n0", Pod("default", {"app": "cache"}), Owner("ReplicaSet", "cache"))
    full = BoundPod("full", "n1", Pod("default", {"app": "full"}, requests={"cpu": 2000}), Owner("ReplicaSet", "full"))
    setting = SimulatedSet(NODES, Inventory(pods=(cache, full)), (web,))
    assert (count(setting.member(0), "deploy").most.pods, count(setting.member(0), "drain").most.pods) == (1, 2)
    assert all(is_enclosed(setting, event) for event in ("deploy", "rollout", "drain"))


@st.composite
def _others(draw, names):
    """A few pods that affinity of web selects, here and there."""
    drawn = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from([0, 600])), min_size=1, max_size=2))
    return tuple(
        BoundPod(f"db-{n}", node, Pod("default", {"app": "db"}, requests={"cpu": cpu}), Owner("ReplicaSet", "db"))
        for n, (node, cpu) in enumerate(drawn)
    )


@thorough
@given(st.data(), nodes(), made("web", ("Deployment", "StatefulSet")), st.sampled_from(EVENTS))
def test_bounds_enclose_every_end_near_pods_outside_the_set(data, cluster, web, event):
    pods = data.draw(_others([node.name for node in cluster]))
    is_enclosed(SimulatedSet(cluster, Inventory(pods=pods), (web,)), event)
