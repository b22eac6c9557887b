"""What ResourceQuotas grant is counted in one place, for rules, trials, exact runs, growth and cells."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from kubesched_lint.engine.admission.quotas import Charged, Use
from kubesched_lint.engine.events.start.quotas import cap, granted_in_turn
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing.coming import created_counts
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

Value = dict[str, Any]
POOL = "{name: general, autoscaler: karpenter, zones: [a], shapes: [{name: one, allocatable: {cpu: '1', memory: 4Gi}}]}"


def sketch(objects: Sequence[Value] = (), nodes: int = 4, pools: str = "") -> bytes:
    return (
        "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n"
        f"nodes: [{{name: worker, count: {nodes}, zones: [a], allocatable: {{cpu: '4', memory: 16Gi}}}}]\n"
        f"pools: [{pools}]\nkinds: [Pod, LimitRange, PersistentVolumeClaim, PersistentVolume, StorageClass]\n"
        f"objects: {json.dumps(list(objects))}\n"
    ).encode()


def workload(name: str, replicas: int, kind: str = "Deployment", **more: Any) -> Value:
    labels = {"app": name}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **more.pop("pod", {})}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **more}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def quota(name: str, hard: Value, **spec: Any) -> Value:
    meta = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard, **spec}}


def running(name: str, owner: str = "") -> Value:
    meta: Value = {"name": name, "namespace": "shop"}
    if owner:
        meta["ownerReferences"] = [
            {"kind": owner, "name": "r", "controller": True, "uid": "u", "apiVersion": "apps/v1"}
        ]
    spec = {"nodeName": "worker-1", "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def scenario_of(*manifests: Value, cluster: bytes) -> Scenario:
    text = "\n---\n".join(map(json.dumps, manifests)).encode()
    inventory = manifest_set(documents("m.yaml", text, is_read), "default").inventory
    return Scenario(inventory, cluster_from([("c.yaml", cluster)], "c.yaml"))


def both(scenario: Scenario) -> list[int]:
    """What is granted in apply order; trials and cells say the same."""
    setting = simulated_set_of(scenario)
    in_cells = granted_in_turn(setting, range(len(setting.pods))).pods
    assert list(created_counts(scenario).values()) == list(in_cells.values())
    return list(in_cells.values())


def test_what_one_quota_refuses_takes_nothing_from_another() -> None:
    """``api`` gets one pod of three, for the second quota, so the first one has two left for ``web``."""
    important = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1,
    }
    scope = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}
    quotas = quota("all", {"pods": "3"}), quota("high", {"pods": "1"}, scopeSelector=scope)
    api = workload("api", 3, pod={"priorityClassName": "high"})
    assert both(scenario_of(important, *quotas, api, workload("web", 3), cluster=sketch())) == [1, 2]


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast"}
FAST = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "x"}


def test_claims_that_exist_take_their_part_of_a_quota() -> None:
    there = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "old", "namespace": "shop"},
        "spec": CLAIM,
    }
    db = workload("db", 3, "StatefulSet", serviceName="db", podManagementPolicy="Parallel")
    db["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": CLAIM}]
    cluster = sketch([FAST, there, quota("storage", {"requests.storage": "3Gi"})])
    assert both(scenario_of(db, cluster=cluster)) == [2]
    text = json.dumps(db).encode()
    manifests = manifest_set(documents("m.yaml", text, is_read), "default")
    seen = cluster_from([("c.yaml", cluster)], "c.yaml")
    rules = [Rulebook.shipped().get("quota-refuses-pods")]
    (finding,) = lint(manifests, seen, Options(), rules)[0].findings
    assert "3 x 1Gi > 3Gi" in finding.evidence.text


@pytest.mark.parametrize(("owner", "use"), [("ReplicaSet", Use(1, 1)), ("Job", Use(0, 1)), ("", Use(0, 1))])
def test_only_pods_that_may_have_a_deadline_are_perhaps_counted_by_a_scope_that_asks_for_it(
    owner: str, use: Use
) -> None:
    """A proof that pods are refused counts the least, one that they are created the most."""
    given = quota("lasting", {"pods": "2"}, scopes=["NotTerminating"])
    scenario = scenario_of(workload("web", 2), cluster=sketch([given, running("old", owner)]))
    (found,) = scenario.objects.quotas
    assert Charged(scenario.other_pods).use(found, "pods") == use
    most = cap(simulated_set_of(scenario).member(0))
    assert most is not None
    assert most.pods == 2 - use.least
    assert both(scenario) == [2 - use.most]


def test_pools_add_no_node_for_pods_that_a_quota_refuses() -> None:
    manifests = quota("few", {"pods": "2"}), workload("web", 6)
    plan = growth_plan(scenario_of(*manifests, cluster=sketch(nodes=0, pools=POOL)))
    assert [(v.wanted, v.grown, v.left) for v in plan.verdicts] == [(2, 2, 0)]
    assert len(plan.nodes) == 2
