"""Events on a cluster that grows: added nodes are in place, and more may come meanwhile, within limits."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.events.answers.cells import BAD, UNKNOWN, Cell, Range
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.verdicts.what_if import _helped
from kubesched_lint.findings import Finding
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

Writer = Callable[..., str]
NODES = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: node, zones: [a], allocatable: {cpu: "1", memory: 4Gi}}
"""
POOL = """
pools:
- {name: general, zones: [a, b], shapes: [{name: one, allocatable: {cpu: "1", memory: 4Gi}}], limits: {nodes: %d}}
"""


def simulated(manifests: str, cluster: str, *events: str) -> SimulationReport:
    known = cluster_from([("cluster.yaml", dedent(cluster).encode())], "cluster.yaml")
    found = manifest_set(documents("set.yaml", manifests.encode(), is_read), "default")
    return simulate(found, known, Options(), events)


def verdicts(report: SimulationReport) -> dict[str, str]:
    (row,) = report.rows
    return {cell.event: cell.verdict for cell in row.cells}


def test_without_pools_the_second_pod_waits_and_with_them_it_does_not(deployment: Writer) -> None:
    manifests = deployment(replicas=2)
    assert simulated(manifests, NODES, "deploy").is_bad
    grown = simulated(manifests, NODES + POOL % 5, "deploy")
    assert verdicts(grown) == {"deploy": "fine"}
    assert "1 pod of shop/web fits after adding 1 × one in a (pool general)" in grown.notes


@pytest.mark.parametrize(("limit", "verdict"), [(5, "fine"), (1, "bad")])
def test_a_lost_node_is_made_again_within_the_limits(deployment: Writer, limit: int, verdict: str) -> None:
    report = simulated(deployment(replicas=2), NODES + POOL % limit, "deploy", "node-loss")
    assert verdicts(report) == {"deploy": "fine", "node-loss": verdict}
    assert not report.is_bad  # on nodes that come and go nothing is proven


@pytest.mark.parametrize("limit", [5, 500])
def test_what_no_node_of_a_pool_can_have_is_proven(deployment: Writer, limit: int) -> None:
    selecting = deployment(replicas=2, pod="nodeSelector: {topology.kubernetes.io/zone: c}")
    report = simulated(selecting, NODES + POOL % limit, "deploy", "rollout")
    assert verdicts(report)["deploy"] == "bad"
    assert report.is_bad
    assert "others come only from the pool general" in str(report.rows[0].cells[0].assumes)
    served = selecting.replace("zone: c", "zone: b")
    assert not simulated(served, NODES + POOL % limit, "deploy").is_bad


def test_a_picture_without_the_nodes_that_come_meanwhile_says_so(deployment: Writer) -> None:
    known = cluster_from([("cluster.yaml", dedent(NODES + POOL % 5).encode())], "cluster.yaml")
    found = manifest_set(documents("set.yaml", deployment(replicas=2).encode(), is_read), "default")
    report = simulate(found, known, Options(), ("deploy", "node-loss"), pictured="node-loss")
    assert verdicts(report) == {"deploy": "fine", "node-loss": "fine"}
    assert "pods that wait after node-loss in the picture fit on nodes that pools add" in str(report.notes)
    assert "meanwhile" not in str(simulate(found, known, Options(), ("deploy",), pictured="deploy").notes)


def test_what_is_fine_on_the_planned_nodes_assumes_nothing_of_pools(deployment: Writer) -> None:
    (row,) = simulated(deployment(replicas=2), NODES + POOL % 5, "deploy").rows
    assert not any("pools" in premise for premise in row.cells[0].assumes)


def test_what_nobody_follows_on_the_nodes_that_may_come_is_not_called_bad() -> None:
    bad = Cell("zone-loss", BAD, 2, Range(0, 0, "closed-form"), proven=True, why="no node that it may use")
    unknown = Cell("zone-loss", UNKNOWN, 2, Range(0, 2, "bound"), missing=("a proof",))
    report = _helped(bad, unknown)
    assert (report.verdict, report.bound, report.proven) == (UNKNOWN, Range(0, 2, "bound"), False)
    assert _helped(bad, bad).verdict == BAD


def test_lint_and_simulate_agree_on_the_maximum_of_an_autoscaler(
    deployment: Writer, findings_of: Callable[..., dict[str, Finding]]
) -> None:
    scaler = """
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: MOST
"""
    for most, is_bad in ((6, False), (7, True)):
        manifests = deployment() + scaler.replace("MOST", str(most))
        (row,) = simulated(manifests, NODES + POOL % 5, "hpa-max").rows
        (cell,) = row.cells
        found = findings_of(manifests, NODES + POOL % 5)
        assert (cell.verdict == BAD) == is_bad == ("pool-limit-reached" in found)
    assert cell.bound.most == 6
    assert "at maxReplicas 7, 1 pod of Deployment shop/web may stay Pending" in found["pool-limit-reached"].message
    assert not [f for f in findings_of(manifests, NODES + POOL % 6) if f == "pool-limit-reached"]
