"""Rules and matrix ask about the same pods: as admitted, with the labels of their controllers."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import FINE
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, Node
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.scenario import Scenario
from tests.events import simulated

NODE = Node("n0", {HOSTNAME: "n0"}, allocatable={"cpu": 4000, "pods": 110})


def _job() -> dict:
    spec = {"template": {"spec": {**simulated.asking("1"), "restartPolicy": "Never"}}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "migrate"}, "spec": spec}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet", "Job"])
def test_with_the_same_labels(kind):
    raw = _job() if kind == "Job" else simulated.workload(kind, "web", 2, simulated.asking("1"))
    workload = decode_workload(raw, "default")
    scenario = Scenario(Inventory(workloads=(workload,)), Cluster(Inventory(nodes=(NODE,)), kinds=frozenset(["Node"])))
    assert same_values(simulated_set_of(scenario).pods[0], scenario.member(workload).pod)


@pytest.mark.parametrize("label", ["job-name", "batch.kubernetes.io/job-name"])
def test_affinity_leads_to_the_pods_of_a_job_by_its_name(label):
    """The cell was unknown: the matrix made pods of Jobs without the labels that their controller sets."""
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {label: "migrate"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    web = simulated.workload("Deployment", "web", 2, simulated.asking("1", affinity=near))
    found = simulated.report_of(simulated.sketch(1, "a", "4", "110"), web, _job(), events=("deploy",))
    assert (simulated.cell(found, "web", "deploy").verdict, simulated.cell(found, "web", "deploy").proven) == (
        FINE,
        True,
    )
