"""The workloads of a snapshot are linted like manifests, at places in words, and nothing is said about their text."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Finding
from kubesched_lint.library import load_cluster
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.running_set import running_set
from kubesched_lint.rulebook.library import Rulebook

_NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "a", "labels": {"kubernetes.io/hostname": "a"}},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}
_WEB: dict[str, Any] = {
    "containers": [{"name": "c", "image": "nginx", "resources": {"limits": {"cpu": "1"}}}],
    "nodeSelector": {"pool": "none"},
}


def _workload(kind: str, name: str, spec: dict[str, Any], **more: object) -> dict[str, Any]:
    group = "batch/v1" if kind == "Job" else "apps/v1"
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    selector = {} if kind == "Job" else {"selector": {"matchLabels": {"app": name}}}
    meta = {"name": name, "namespace": "shop"}
    return {"apiVersion": group, "kind": kind, "metadata": meta, "spec": {**selector, "template": template, **more}}


def _pod(name: str, owner: tuple[str, str] | None, labels: dict[str, str]) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "namespace": "shop", "labels": labels}
    if owner is not None:
        kind, owned_by = owner
        meta["ownerReferences"] = [{"kind": kind, "name": owned_by, "uid": owned_by, "controller": True}]
    spec = {"nodeName": "a", "containers": [{"name": "c", "image": "nginx"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def _budget() -> dict[str, Any]:
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
    meta = {"name": "web", "namespace": "shop"}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec}


def _snapshot(*items: dict[str, Any], kinds: tuple[str, ...] = ()) -> Cluster:
    held = ("Node", "Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Namespace", *kinds)
    head = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "metadata": {"kinds": list(held)}}
    return load_cluster(objects=[{**head, "items": [_NODE, *items]}])


def _findings(cluster: Cluster) -> dict[str, Finding]:
    rules = Rulebook.shipped().select("strict", (), ())
    report, _ = lint(running_set(cluster), cluster, Options(profile="strict"), rules)
    assert not report.errors
    return {finding.rule: finding for finding in report.findings}


def _only(cluster: Cluster) -> Workload:
    (workload,) = running_set(cluster).inventory.workloads
    return workload


def test_pods_belong_to_their_workloads_and_others_stay() -> None:
    web = _workload("Deployment", "web", _WEB, replicas=1)
    revision = _workload("ReplicaSet", "web-5d", _WEB, replicas=1)
    revision["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "web", "uid": "w", "controller": True}]
    pods = (
        _pod("web-5d-x", ("ReplicaSet", "web-5d"), {"app": "web"}),
        _pod("bare", None, {"app": "bare"}),
        _pod("strange-0", ("Rollout", "strange"), {"app": "strange"}),
    )
    cluster = _snapshot(web, revision, *pods)
    scenario = Scenario(running_set(cluster).inventory, cluster)
    (workload,) = scenario.manifests.workloads
    assert [bound.name for bound in scenario.member(workload).running_pods] == ["web-5d-x"]
    assert [bound.name for bound in scenario.other_pods] == ["bare", "strange-0"]
    assert scenario.member(workload).template_changed is False


def test_places_are_words() -> None:
    found = _findings(_snapshot(_workload("Deployment", "web", _WEB, replicas=2), _budget()))
    selector = found["nodeselector-matches-nothing"].location
    assert (selector.path, selector.span.line) == ("spec.template.spec.nodeSelector.pool of Deployment shop/web", 0)
    assert found["drain-stuck"].location.path == "spec of PodDisruptionBudget shop/web"


def test_a_place_that_is_absent_differs_from_one_that_is_there() -> None:
    """Rules ask the source whether a request was written or follows from a limit."""
    source = _only(_snapshot(_workload("Deployment", "web", _WEB))).source
    assert source is not None
    resources = ("spec", "template", "spec", "containers", 0, "resources")
    assert source.span((*resources, "requests")) == source.span(resources)
    assert source.span((*resources, "limits")) != source.span(resources)


@pytest.mark.parametrize(("active", "wanted"), [(2, 2), (0, 5)])
def test_a_job_wants_the_pods_that_have_not_succeeded(active: int, wanted: int) -> None:
    job = _workload("Job", "import", _WEB, parallelism=5, completions=5)
    pods = [_pod(f"import-{i}", ("Job", "import"), {"app": "import"}) for i in range(active)]
    assert _only(_snapshot(job, *pods)).replicas == wanted


def test_fields_that_a_snapshot_leaves_out_are_not_missing() -> None:
    """The namespace enforces ``restricted``, and a snapshot holds no ``securityContext``."""
    namespace: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace"}
    namespace["metadata"] = {"name": "shop", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    web = _workload("Deployment", "web", {**_WEB, "nodeSelector": {}}, replicas=1)
    cluster = _snapshot(web, namespace)
    assert "admission-refuses-pods" not in _findings(cluster)
    scenario = Scenario(running_set(cluster).inventory, cluster)
    decision = scenario.admission.decision(scenario.manifests.workloads[0])
    assert decision.assumed == (
        "its pods keep to PodSecurity restricted:latest of their namespace, as when they were made",
    )


def test_paused_deployments_are_captured_as_paused() -> None:
    from kubesched_lint.sources.capture.parts import WorkloadSpec

    assert {"paused", "suspend", "ordinals"} <= set(WorkloadSpec.__struct_fields__)
    assert _only(_snapshot(_workload("Deployment", "web", _WEB, paused=True))).suspended == "paused"


def test_controllers_that_were_not_captured_make_the_set_incomplete() -> None:
    head = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "metadata": {"kinds": ["Node", "Pod"]}}
    cluster = load_cluster(objects=[{**head, "items": [_NODE]}])
    assert not running_set(cluster).is_complete
    assert running_set(_snapshot()).is_complete
