"""What is said of a workload beside a pod that is resized in place: by lint, simulate, drain and audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kubesched_lint import lint, simulate
from kubesched_lint.cli.app import app
from kubesched_lint.findings import Severity
from kubesched_lint.sources.capture.resources import RESOURCES

Value = dict[str, Any]
INFEASIBLE, DEFERRED, NONE = "Infeasible", "Deferred", ""


def container(cpu: str) -> Value:
    return {"name": "c", "image": "x", "resources": {"requests": size(cpu)}}


def size(cpu: str, memory: str = "1Gi") -> Value:
    return {"cpu": cpu, "memory": memory}


STATEFUL_SET: Value = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "db", "namespace": "shop"},
    "spec": {
        "replicas": 1,
        "serviceName": "db",
        "selector": {"matchLabels": {"app": "db"}},
        "template": {
            "metadata": {"labels": {"app": "db"}},
            "spec": {
                "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]
            },
        },
    },
}
WEB: Value = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}]
            },
        },
    },
}


def node(name: str, cpu: str) -> Value:
    amounts = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": amounts, "conditions": ready, "nodeInfo": {"kubeletVersion": "v1.36.2"}},
    }


def resized(spec: Value, allocated: Value, why: str) -> Value:
    """The pod db-0 on the node n1."""
    waits = [{"type": "PodResizePending", "status": "True", "reason": why}] if why else []
    set_ = {"name": "c", "allocatedResources": allocated, "resources": {"requests": allocated}}
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "db-0", "namespace": "shop", "labels": {"app": "db"}, "ownerReferences": [owner]},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "x", "resources": {"requests": spec}}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}, *waits],
            "containerStatuses": [set_],
        },
    }


def snapshot(folder: Path, *items: Value) -> Path:
    meta = {
        "capturedAt": "2026-11-21T04:00:00Z",
        "kubernetesVersion": "v1.36.2",
        "kinds": [resource.kind for resource in RESOURCES],
        "gaps": [],
    }
    path = folder / "cluster.json"
    head = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "metadata": meta}
    path.write_text(json.dumps({**head, "items": items}))
    return path


CASES = {
    "what the kubelet refuses takes no room": (size("3"), size("1"), INFEASIBLE, "fine", None),
    "what waits for room takes it": (size("3"), size("1"), DEFERRED, "bad", Severity.WARNING),
    "what shrinks takes its room until then": (size("1"), size("3"), NONE, "fine", Severity.WARNING),
    "what cannot shrink, because it cannot grow in memory, keeps its room": (
        size("1", "64Gi"),
        size("3"),
        INFEASIBLE,
        "bad",
        Severity.WARNING,
    ),
}


@pytest.mark.parametrize(("spec", "allocated", "why", "verdict", "severity"), CASES.values(), ids=CASES)
def test_lint_and_simulate_count_what_the_scheduler_counts(
    spec: Value, allocated: Value, why: str, verdict: str, severity: Severity | None, tmp_path: Path
) -> None:
    cluster = snapshot(tmp_path, node("n1", "4"), resized(spec, allocated, why))
    found = {finding.rule: finding.severity for finding in lint(objects=[WEB], cluster=cluster).findings}
    assert found.get("resource-insufficient-free") == severity
    (deploy,) = simulate(objects=[WEB], cluster=cluster, events=["deploy"]).outcomes
    assert deploy.verdict == verdict, deploy


def test_what_versions_count_differently_is_no_error(tmp_path: Path) -> None:
    """v1.36 counts 2 + 2 CPU, each container's greatest, and v1.37 3 CPU, the greatest sum: then there is room."""
    pod = resized(size("1"), size("2"), NONE)
    grows = {"name": "d", "allocatedResources": size("1"), "resources": {"requests": size("1")}}
    pod["spec"]["containers"].append({"name": "d", "image": "x", "resources": {"requests": size("2")}})
    pod["status"]["containerStatuses"].append(grows)
    cluster = snapshot(tmp_path, node("n1", "5"), pod)
    (finding,) = (f for f in lint(objects=[WEB], cluster=cluster).findings if f.rule == "resource-insufficient-free")
    assert finding.severity == Severity.WARNING
    assert "Pod shop/db-0: resized in place" in " ".join(finding.evidence.assumes)


def test_premises_name_the_pod_that_shrinks(tmp_path: Path) -> None:
    cluster = snapshot(tmp_path, node("n1", "4"), resized(size("1"), size("3"), NONE))
    (finding,) = (f for f in lint(objects=[WEB], cluster=cluster).findings if f.rule == "resource-insufficient-free")
    assert "the transient states of today last: Pod shop/db-0: resized in place" in finding.evidence.assumes


def test_what_a_next_copy_counts_with_is_its_template(tmp_path: Path) -> None:
    """No node has room for its spec, with which it cannot be resized."""
    pod = resized(size("3"), size("1"), INFEASIBLE)
    cluster = snapshot(tmp_path, node("n1", "2"), node("n2", "2"), pod, STATEFUL_SET)
    assert "fits on 2 of 2 nodes" in run("why", "db-0", "-c", cluster)
    assert "finds no other node" not in run("audit", "-c", cluster)
    drain = run("drain", "-c", cluster, "--nodes", "n1")
    assert "unknown whether" in drain
    assert "shop/db-0 is resized in place" in drain


def test_where_a_search_would_follow_a_pod_whose_resize_is_infeasible_all_is_unknown(tmp_path: Path) -> None:
    """It counts with what it holds, its next copy with the template: a search knows one size for both."""
    cluster = snapshot(tmp_path, node("n1", "4"), resized(size("3"), size("1"), INFEASIBLE), STATEFUL_SET)
    rolling = {**WEB, "spec": {key: value for key, value in WEB["spec"].items() if key != "strategy"}}
    manifests = tmp_path / "set.json"
    manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [STATEFUL_SET, rolling]}))
    said = run("simulate", manifests, "-c", cluster)
    assert "where the pods of StatefulSet shop/db leave room: one is resized in place" in said


def run(*arguments: object) -> str:
    return CliRunner().invoke(app, [*map(str, arguments)]).output
