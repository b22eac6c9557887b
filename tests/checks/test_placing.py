"""Trials, runs against proofs, pictures, ``why`` and plans of new nodes place pods in one way."""

from __future__ import annotations

import pytest
import yaml

from kubesched_lint.commands.lint.cluster_diagram import diagram
from kubesched_lint.engine.base import work
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.placing.trial import at_rest, trials_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.crowding.half_placed import half_placed
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import ZONE, Value, asking, other, sketch, workload


def scenario_of(cluster: Cluster, *objects: Value) -> Scenario:
    text = "---\n".join(yaml.dump(one, Dumper=yaml.CSafeDumper) for one in objects)
    return Scenario(manifest_set(documents("set.yaml", text.encode(), is_read), "default").inventory, cluster)


def claims(zones: str) -> tuple[list[Value], Value]:
    """Return claims of db-0, db-1 … whose volumes are in these zones, and their template."""
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    objects: list[Value] = []
    for ordinal, zone in enumerate(zones):
        name = f"data-db-{ordinal}"
        objects.append(other("PersistentVolumeClaim", name, spec={"volumeName": f"v{ordinal}", **claim}))
        terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        }
        objects.append(other("PersistentVolume", f"v{ordinal}", spec=spec))
    return objects, {"metadata": {"name": "data"}, "spec": claim}


@pytest.mark.parametrize(("policy", "left"), [("OrderedReady", 2), ("Parallel", 1)])
def test_no_pod_of_a_stateful_set_is_placed_before_the_one_before_it(policy: str, left: int) -> None:
    """Its controller makes the second pod when the first one runs, and no node is in the zone of the first."""
    objects, template = claims("xa")
    db = workload("StatefulSet", "db", 2, podManagementPolicy=policy, volumeClaimTemplates=[template])
    scenario = scenario_of(sketch(1, "a", "4", "110", *objects), db)
    (only,) = scenario.as_created
    assert [trial[only][0] for trial in trials_of(scenario)] == [left] * 3
    assert [waiting.pods for waiting in diagram(scenario, ()).waiting] == [left]


@pytest.mark.parametrize(("policy", "left"), [("OrderedReady", 2), ("Parallel", 1)])
def test_a_plan_of_new_nodes_waits_for_the_pod_before_as_well(policy: str, left: int) -> None:
    objects, template = claims("xa")
    text = {
        "apiVersion": "kubesched-lint/v1",
        "kind": "ClusterSketch",
        "nodes": [{"name": "node", "count": 1, "zones": ["a"], "allocatable": {"cpu": "4", "memory": "8Gi"}}],
        "pools": [
            {
                "name": "general",
                "autoscaler": "karpenter",
                "zones": ["a"],
                "shapes": [{"name": "one", "allocatable": {"cpu": "4", "memory": "8Gi"}}],
            }
        ],
        "objects": objects,
        "kinds": ["Pod", "PersistentVolumeClaim", "PersistentVolume", "StorageClass"],
    }
    cluster = cluster_from([("cluster.yaml", yaml.dump(text, Dumper=yaml.CSafeDumper).encode())], "cluster.yaml")
    db = workload("StatefulSet", "db", 2, podManagementPolicy=policy, volumeClaimTemplates=[template])
    (verdict,) = growth_plan(scenario_of(cluster, db)).verdicts
    assert verdict.left == left


def test_the_picture_has_no_pods_that_a_quota_refuses() -> None:
    quota = other("ResourceQuota", "pods", spec={"hard": {"pods": "1"}}, status={"hard": {"pods": "1"}})
    scenario = scenario_of(sketch(1, "a", "4", "110", quota), workload("Deployment", "web", 3, asking("3")))
    drawn = diagram(scenario, ())
    assert [group.pods for group in drawn.groups] == [((0, 1),)]
    assert drawn.waiting == ()


def test_a_run_that_is_out_of_work_leaves_no_pod_behind():
    """The scenario keeps the state, and other rules read it."""
    gates = {"GenericWorkload": True, "GangScheduling": True, "TopologyAwareWorkloadScheduling": True}
    node = {"name": "gpu", "count": 2, "zones": ["a"], "allocatable": {"cpu": "4", "memory": "16Gi"}}
    value = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "featureGates": gates, "nodes": [node]}
    objects = [
        one
        for name in ("one", "two")
        for one in (
            other("PodGroup", name, "scheduling.k8s.io/v1alpha2", spec={"schedulingPolicy": {"basic": {}}}),
            other("Job", name, "batch/v1", spec={"parallelism": 4, "template": _in_group(name)}),
        )
    ]
    cut = 0
    for steps in range(50, 2_000, 50):
        scenario = scenario_of(
            cluster_from([("cluster.yaml", yaml.dump(value, Dumper=yaml.CSafeDumper).encode())], "cluster.yaml"),
            *objects,
        )
        state = at_rest(scenario).state
        try:
            with work.within(steps):
                assert list(half_placed(scenario))
        except work.OutOfWorkError:
            cut += 1
        assert not list(state.placements())
    assert cut > 5


def _in_group(name: str) -> Value:
    group = {"schedulingGroup": {"podGroupName": name}, "restartPolicy": "Never"}
    return {"metadata": {"labels": {"app": name}}, "spec": asking("1500m", **group)}
