"""Rules and matrix agree on who may evict whom: both ask ``scheduler/eviction``."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import BAD
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.preemption_scope import drivers, may_be_preempted
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, Node
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod, SchedulerProfile
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.matrix import Matrix
from tests.events import simulated

NODES = tuple(Node(f"n{i}", {HOSTNAME: f"n{i}"}, allocatable={"cpu": 1000, "pods": 110}) for i in range(2))


def _made(name: str, cpu: str, node: str, **spec):
    spec = simulated.asking(cpu, nodeSelector={HOSTNAME: node}, **spec)
    return decode_workload(simulated.workload("Deployment", name, 1, spec), "default")


def _other(name: str, cpu: int, priority: int, node: str, **more) -> BoundPod:
    pod = Pod("default", {"app": name}, requests={"cpu": cpu}, priority=priority)
    return BoundPod(name, node, pod, Owner("ReplicaSet", name), **more)


def test_a_pod_that_is_evicted_and_made_anew_may_evict_a_third_elsewhere():
    """Strong drives middle from n0; made anew, middle drives big from n1, where web fits then beside it."""
    others = (_other("middle", 600, 50, "n0"), _other("big", 900, 10, "n1"))
    strong, web = _made("strong", "900m", "n0", priority=100), _made("web", "400m", "n1")
    setting = SimulatedSet(NODES, Inventory(pods=others), (strong, web))
    assert count(setting.member(1), "deploy").most.pods == 1
    found = Matrix(setting, Effort(states=3000, runs=2)).cell("deploy", 1)
    assert (found.verdict == BAD, found.bound.most) == (False, 1)


@pytest.mark.parametrize(
    ("spec", "objects"),
    [
        ({"schedulingGates": [{"name": "later"}]}, Inventory()),
        ({"nodeName": "n0"}, Inventory()),
        ({"preemptionPolicy": "Never"}, Inventory()),
        ({}, Inventory(schedulers=(SchedulerProfile(preempts=False),))),
    ],
)
def test_who_never_preempts_evicts_nobody_in_either(spec, objects):
    """The scheduler never sees these pods, or never preempts for them."""
    spec = simulated.asking("900m", priority=100, **spec)
    strong = decode_workload(simulated.workload("Deployment", "strong", 1, spec), "default")
    pod = _other("weak", 500, 0, "n0")
    cluster = Cluster(Inventory(nodes=NODES, pods=(pod,)), kinds=frozenset(["Node", "Pod"]))
    scenario = Scenario(Inventory(workloads=(strong,), schedulers=objects.schedulers), cluster)
    assert staying_beside_set(scenario).pods == (pod,)
    setting = simulated_set_of(scenario)
    assert (list(guests_of(setting).weaker_kinds), list(guests_of(setting).weaker([0]))) == ([], [])
    assert (drivers(setting), may_be_preempted(setting.member(0))) == (frozenset(), False)


def test_a_pod_that_a_finalizer_keeps_makes_no_room_in_either():
    kept = _other("kept", 500, 0, "n0", terminating=True, kept_by_finalizers=True)
    setting = SimulatedSet(NODES, Inventory(pods=(kept,)), (_made("strong", "900m", "n0", priority=100),))
    assert not guests_of(setting).weaker_kinds
    assert count(setting.member(0), "deploy").most.pods == 0
