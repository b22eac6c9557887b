"""Pictures group nodes by the topology key that the set uses, or by one that the user names."""

from __future__ import annotations

import pytest
import yaml

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.explaining.spreading.grouping import grouping_key
from kubesched_lint.report.simulation.report import as_text
from kubesched_lint.sources.clusters.read import cluster_from
from tests.events.simulated import Value, apart, report_of, workload

NODES = [Node(f"n{i}", {HOSTNAME: f"n{i}", ZONE: "za", "rack": str(i // 2), "row": "1"}) for i in range(4)]


def spread(key: str, when: str) -> Value:
    selects = {"labelSelector": {"matchLabels": {"app": "web"}}}
    return {
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, **selects}],
    }


@pytest.mark.parametrize(
    ("specs", "key"),
    [
        ([], ZONE),
        ([apart("web", HOSTNAME)], ZONE),
        ([apart("web", "nobody")], ZONE),
        ([apart("web", "rack")], "rack"),
        ([apart("web", "rack"), apart("web", ZONE)], ZONE),
        ([apart("web", "rack"), apart("db", "rack"), apart("web", ZONE)], "rack"),
        ([spread("row", "ScheduleAnyway")], "row"),
        ([spread("row", "ScheduleAnyway"), spread("rack", "DoNotSchedule")], "rack"),
    ],
)
def test_the_key_of_hard_terms_that_most_workloads_use(specs: list[Value], key: str) -> None:
    pods = [decode_workload(workload("Deployment", "web", 1, spec), "default").pod for spec in specs]
    assert grouping_key(pods, NodeIndex(NODES)) == key


def racks() -> Cluster:
    nodes = [{"name": f"r{n}", "zones": ["za"], "count": 2, "labels": {"rack": str(n)}} for n in (7, 8)]
    text = yaml.safe_dump({"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": nodes})
    return cluster_from([("cluster.yaml", text.encode())], "cluster.yaml")


def drawn(**more: str) -> str:
    web = workload("Deployment", "web", 2, apart("web", "rack"))
    return as_text(report_of(racks(), web, events=(), pictured="deploy", **more), matrix_only=True)


def test_the_picture_has_a_column_per_domain_of_the_key() -> None:
    text = drawn()
    assert "nodes by rack" in text
    assert "  7            8\n" in text


def test_the_user_may_name_another_key() -> None:
    text = drawn(group_by="zone")
    assert "nodes by" not in text
    assert "  za\n" in text
    with pytest.raises(ValueError, match="--group-by: no node has a label 'rak'; did you mean `rack`"):
        drawn(group_by="rak")
