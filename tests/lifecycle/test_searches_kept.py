"""What a matrix keeps of its searches."""

from __future__ import annotations

from kubesched_lint.lifecycle.matrix import EVENTS, Matrix
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.node import Node
from kubesched_lint.model.pod import Pod
from kubesched_lint.model.workload import Workload


def test_the_search_of_a_workload_alone_is_forgotten_with_the_next_one() -> None:
    nodes = tuple(Node(f"n{i}", {"zone": f"z{i}"}, allocatable={"cpu": 1000, "pods": 9}) for i in range(2))
    pods = (Pod("default", {"app": f"web{i}"}, requests={"cpu": 700}, node_selector={"zone": f"z{i}"}) for i in (0, 1))
    workloads = tuple(Workload("Deployment", "default", pod.labels["app"], pod, replicas=2) for pod in pods)
    matrix = Matrix(Setting(nodes, Inventory(), workloads))
    for number in range(2):
        for event in EVENTS:
            matrix._search((number,), expected=False)
            matrix.cell(event, number)
    assert {members for members, _ in matrix._searched if len(members) == 1} == {(1,)}
