"""Nodes that tell nothing of their room have no limit, beside whomever a pod has to stand."""

from __future__ import annotations

from kubesched_lint.engine.bounds.affinity import most_beside
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, Node
from tests.events.simulated import asking, workload


def test_a_pod_beside_another_on_nodes_that_tell_no_room():
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOSTNAME}
    near = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    web, db = workload("Deployment", "web", 3, asking("1", **near)), workload("Deployment", "db", 1, asking("1"))
    nodes = tuple(Node(name, labels={HOSTNAME: name}, allocatable=None) for name in "abc")
    setting = SimulatedSet(nodes, Inventory(), tuple(decode_workload(w, "default") for w in (web, db)))
    assert most_beside(setting.member(0), 3).pods == 3
