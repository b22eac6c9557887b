"""Equal pods are one group, and nobody counts them in another way."""

from __future__ import annotations

from kubesched_lint.engine.cluster.pods.alike import alike
from kubesched_lint.engine.events.start import others
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.workloads.workload import Workload

NODES = tuple(Node(name, {"on": name}, allocatable={"cpu": 1000, "pods": 10}) for name in "abc")
LOW = Pod("shop", {"app": "low"}, requests={"cpu": 1000})
PODS = (
    BoundPod("one", "a", LOW),
    BoundPod("two", "b", LOW, terminating=True),
    BoundPod("three", "", LOW),
    BoundPod("four", "gone", LOW),
    BoundPod("five", "c", LOW),
)


def test_pods_on_no_known_node_are_counted_if_somebody_asks() -> None:
    positions = {node.name: place for place, node in enumerate(NODES)}
    for everywhere, further in ((False, 0), (True, 2)):
        running, terminating = alike(PODS, positions, everywhere=everywhere)
        assert (running.positions, running.nodes, running.elsewhere) == ((0, 2), 0b101, further)
        assert (terminating.terminating, terminating.positions, terminating.elsewhere) == (True, (1,), 0)
    assert [group.elsewhere for group in alike(PODS[2:4], positions, everywhere=True)] == [2]
    assert alike(PODS[2:4], positions) == ()


def test_who_may_preempt_some_of_them_may_preempt_these_pods() -> None:
    """The terminating one is alone on the node that only the second workload can use."""
    high = {"priority": 10, "requests": {"cpu": 1000}}
    pods = [Pod("shop", {"app": on}, node_selector={"on": on}, **high) for on in "ab"]
    first, second = (Workload("Deployment", "shop", pod.labels["app"], pod) for pod in pods)
    setting = SimulatedSet(NODES, Inventory(pods=PODS), (first, second), to_be_deleted=(PODS[4],))
    assert {pod: list(own) for pod, own in guests_of(setting).preemptors.items()} == {LOW: [0, 1]}
    assert [others.staying(setting, group) for group in setting.others] == [0b001, 0]
