"""What a trace says: all of the workload that was asked about, counts of the others, short names, and the end."""

from __future__ import annotations

import pytest
import yaml

from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base.text import brief
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import Witness
from kubesched_lint.engine.runs.judging import VIOLATES
from kubesched_lint.report.simulation.report import as_json, as_text
from kubesched_lint.sources.clusters.read import cluster_from
from tests.events.simulated import asking, cell, other, report_of, sketch, workload

DOMAIN = ".eu-west-1.compute.internal"


def on_aws(nodes: int) -> Cluster:
    """Nodes with the names that EC2 gives."""
    entries = [
        {"name": f"ip-10-0-1-{i}{DOMAIN}", "zones": ["abc"[i % 3]], "allocatable": {"cpu": "4", "pods": "110"}}
        for i in range(nodes)
    ]
    value = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": entries}
    return cluster_from([("cluster.yaml", yaml.safe_dump(value).encode())], "cluster.yaml")


@pytest.fixture(scope="module")
def crowd() -> SimulationReport:
    others = [workload("Deployment", f"app-{i}", 4, asking("300m")) for i in range(9)]
    agent = workload("DaemonSet", "agent", None, asking("50m"))
    return report_of(on_aws(9), workload("StatefulSet", "db", 1, asking("300m")), *others, agent, events=("node-loss",))


def bad(result: SimulationReport, name: str, event: str) -> Witness:
    end = cell(result, name, event).worst
    assert end is not None
    return end


def test_of_many_steps_those_of_others_are_counted(crowd: SimulationReport) -> None:
    deployed, lost = bad(crowd, "db", "node-loss").lines
    assert "db-0 → ip-10-0-1-" in deployed
    assert "of 10 other workloads find nodes" in deployed
    assert "app-" not in deployed
    assert brief(deployed) == deployed
    assert brief(lost) == lost


def test_what_a_node_takes_is_one_step(crowd: SimulationReport) -> None:
    _, lost = bad(crowd, "db", "node-loss").lines
    assert lost.count("terminating") == 1
    assert " is unreachable: stay there, terminating: db-0, app-" in lost
    assert lost.split("; ")[0].partition("terminating: ")[2].count(", ") == 3, "its own pod, and three others"


def test_the_end_is_told(crowd: SimulationReport) -> None:
    assert bad(crowd, "db", "node-loss").lines[-1].endswith("; 0 of 1 pod of db run")


def test_the_domain_of_all_nodes_is_left_out(crowd: SimulationReport) -> None:
    end = bad(crowd, "db", "node-loss")
    assert DOMAIN not in "".join(end.lines)
    assert end.where.endswith(DOMAIN), "programs get the name"
    assert DOMAIN not in as_text(crowd, verbose=True)
    assert f'"{end.lines[-1]}"' in as_json(crowd)


def test_few_steps_are_all_told_in_their_order() -> None:
    small = [workload("Deployment", name, 2, asking("1500m")) for name in ("web", "api")]
    result = report_of(sketch(2, "a"), *small, events=("node-loss",))
    deployed, lost = bad(result, "web", "node-loss").lines
    assert deployed.count("api → ") + deployed.count("web → ") >= 2
    assert "other workload" not in deployed
    assert "is lost: lost with it: web" in lost


def test_who_drives_out_a_pod_of_the_asked_workload_is_told() -> None:
    """Others that preempt no pod of it are counted with the rest."""
    high = other("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000)
    fill = [workload("Deployment", f"app-{i}", 4, asking("200m")) for i in range(5)]
    strong = workload("Deployment", "strong", 2, asking("3", priorityClassName="high"))
    result = report_of(sketch(3, "a"), high, workload("Deployment", "weak", 3, asking("2500m")), strong, *fill)
    end = bad(result, "weak", "deploy")
    assert "× weak" in end.lines[0]
    assert "strong preempts" in end.lines[0]
    assert "other workloads find nodes" in end.lines[0]


def test_the_nodes_of_many_pods_are_counted() -> None:
    """A drain that a budget blocks: no search follows a hundred pods, so counting says what blocks it."""
    budget = other(
        "PodDisruptionBudget",
        "web",
        "policy/v1",
        spec={"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    )
    result = report_of(sketch(4), workload("Deployment", "web", 100, asking("100m")), budget, events=("drain",))
    end = cell(result, "web", "drain")
    assert (end.why, end.message) == ("PDB web allows no eviction", VIOLATES)
    assert bad(result, "web", "drain").lines[0] == "deploy: web → 12 nodes (100×)"
