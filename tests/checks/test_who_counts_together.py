"""Only pods that are made and may run take room in the proof that a set does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint
from kubesched_lint.engine.model.nodes.node import ZONE
from tests.events.simulated import asking, other, sketch, workload

WEB, DB = workload("Deployment", "web", 4, asking("900m")), workload("Deployment", "db", 8, asking("900m"))
"""Twelve pods; two nodes of 4 cores hold four each."""


def fits(*objects: dict[str, Any]) -> bool:
    found = lint(objects=objects, cluster=sketch(2, "a", "4")).findings
    return "set-does-not-fit" not in {finding.rule for finding in found}


@pytest.mark.parametrize(("cpu", "fit"), [("", False), ("7200m", True), ("9900m", False)])
def test_pods_that_a_quota_refuses_take_no_room(cpu: str, fit: bool) -> None:
    """Of 8 pods all find room. Of 11, any 10 surely exist: what is created first takes no more than it wants."""
    quota = other("ResourceQuota", "q", spec={"hard": {"requests.cpu": cpu}})
    assert fits(WEB, DB, *([quota] if cpu else [])) is fit


@pytest.mark.parametrize(("zone", "fit"), [("a", False), ("z", True)])
def test_a_pod_whose_volume_no_node_reaches_takes_no_room(zone: str, fit: bool) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "s", "resources": {"requests": {"storage": "1Gi"}}}
    at = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    volume = other(
        "PersistentVolume",
        "pv",
        spec={
            **claim,
            "capacity": {"storage": "1Gi"},
            "csi": {"driver": "d", "volumeHandle": "h"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [at]}},
        },
    )
    volume["spec"].pop("resources")
    bound = other("PersistentVolumeClaim", "data-store-0", spec={**claim, "volumeName": "pv"})
    store = workload("StatefulSet", "store", 1, asking("900m"))
    store["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    eight = [WEB, workload("Deployment", "db", 4, asking("900m"))]
    assert fits(*eight)
    assert fits(*eight, volume, bound, store) is fit
