"""Karpenter's scheduling suites, retold in ``fixtures/karpenter/cases.json``, against our plan of growth.

Every case of the suites is listed. A retold case passes or is in ``DIFFERENT`` with the reason; the others say why they
are not modelled.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures/karpenter/cases.json").read_text("utf-8")
)["cases"]
DIFFERENT = {
    "suite_test.go:1990": "kube-scheduler fills existing nodes up to maxSkew before Karpenter sees a pending pod",
    "topology_test.go:1451": "kube-scheduler counts no pods on nodes whose taints the pod does not tolerate (Honor)",
}
"""Case → why our outcome differs."""
SNAPSHOT_KINDS = ["Pod", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "RuntimeClass", "Namespace"]


def identity(case: Mapping[str, Any]) -> str:
    return f"{case['file']}:{case['line']}"


RETOLD = [case for case in CASES if "case" in case]


def deployment(number: int, group: Mapping[str, Any]) -> dict[str, Any]:
    name = f"w{number}"
    spec = dict(group["spec"])
    ports = [{"containerPort": port, "hostPort": port} for port in [spec.pop("hostPort", 0)] if port]
    container = {"name": "c", "image": "example.com/c:1", "resources": {"requests": group["requests"]}, "ports": ports}
    labels = {"app": name, **group["labels"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": group.get("namespace", "default")},
        "spec": {
            "replicas": group["count"],
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": labels}, "spec": {**spec, "containers": [container]}},
        },
    }


def running(number: int, pod: Mapping[str, Any]) -> dict[str, Any]:
    requests = {"cpu": pod["cpu"]} if "cpu" in pod else {}
    container = {"name": "c", "image": "example.com/c:1", "resources": {"requests": requests}}
    home = {"name": f"running-{number}", "namespace": pod.get("namespace", "default")}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**home, "labels": pod.get("labels", {})},
        "spec": {**pod.get("spec", {}), "nodeName": pod["node"], "containers": [container]},
        "status": {"phase": pod.get("phase", "Running")},
    }


def scenario_of(case: Mapping[str, Any]) -> Scenario:
    groups = [deployment(number, group) for number, group in enumerate(case["pods"])]
    objects = [*case.get("objects", ()), *(running(n, pod) for n, pod in enumerate(case.get("running", ())))]
    sketch = {
        "apiVersion": "kubesched-lint/v1",
        "kind": "ClusterSketch",
        "nodes": case.get("nodes", []),
        "pools": case["pools"],
        "objects": objects,
        "kinds": SNAPSHOT_KINDS,
    }
    text = "\n---\n".join(map(json.dumps, groups)).encode()
    found = manifest_set(documents("set.yaml", text, is_read), "default")
    assert not found.errors, found.errors
    return Scenario(found.inventory, cluster_from([("cluster.yaml", json.dumps(sketch).encode())], "cluster.yaml"))


class Outcome:
    """What became of a retold case."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        scenario = scenario_of(case)
        self.plan = growth_plan(scenario)
        assert scenario.cluster is not None
        nodes = (*scenario.cluster.inventory.nodes, *self.plan.nodes)
        self.labels = {node.name: node.labels for node in nodes}
        self.nodes: dict[str, list[str]] = {f"w{number}": [] for number in range(len(case["pods"]))}
        for pod, node in self.plan.placed:
            self.nodes[pod.labels["app"]].append(node)
        watched = case["pods"][-1]["labels"] or {}
        bound = [p["node"] for p in case.get("running", ()) if counts(p, watched)]
        spreading = [name for name, group in zip(self.nodes, case["pods"], strict=True) if carries(group, watched)]
        self.watched = [*bound, *(node for name in spreading for node in self.nodes[name])]

    def domains(self, key: str, *, everyone: bool = False) -> list[int]:
        """Pods per value of the key, sorted."""
        names = [node for nodes in self.nodes.values() for node in nodes] if everyone else self.watched
        return sorted(Counter(self.labels[n][key] for n in names if key in self.labels[n]).values())


def carries(group: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether the group has the first of the labels that the last group has."""
    return list(labels.items())[:1] == list(group["labels"].items())[:1]


def counts(pod: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    is_running = pod.get("phase", "Running") == "Running" and pod.get("namespace", "default") == "default"
    return is_running and labels.items() <= pod.get("labels", {}).items()


def complaints(case: Mapping[str, Any]) -> Iterator[str]:
    """Yield each way in which our outcome differs from Karpenter's."""
    expect, out = case["expect"], Outcome(case["case"])
    placed = [len(nodes) for nodes in out.nodes.values()]
    if placed != expect["placed"]:
        yield f"placed {placed}, not {expect['placed']}"
    for nodes, wanted in zip(out.nodes.values(), expect.get("labels", ()), strict=False):
        wrong = [node for node in nodes if not wanted.items() <= out.labels[node].items()]
        if wrong:
            yield f"nodes {wrong} without {wanted}"
    if expect.get("nodes_made", len(out.plan.nodes)) != len(out.plan.nodes):
        yield f"made {len(out.plan.nodes)} nodes, not {expect['nodes_made']}"
    for key, counted in expect.get("skew", {}).items():
        if out.domains(key) != sorted(counted):
            yield f"{key}: {out.domains(key)}, not {counted}"
    for key, counted in expect.get("skew_all", {}).items():
        if out.domains(key, everyone=True) != sorted(counted):
            yield f"{key}: {out.domains(key, everyone=True)}, not {counted}"
    for key, most in expect.get("most", {}).items():
        if max(out.domains(key)) > most:
            yield f"{key}: {out.domains(key)} exceeds {most}"
    for left, right in expect.get("same", ()):
        if out.nodes[f"w{left}"] != out.nodes[f"w{right}"]:
            yield f"groups {left} and {right} are on {out.nodes[f'w{left}']} and {out.nodes[f'w{right}']}"
    for left, right in expect.get("apart", ()):
        if set(out.nodes[f"w{left}"]) & set(out.nodes[f"w{right}"]):
            yield f"groups {left} and {right} share {out.nodes[f'w{left}']}"


@pytest.mark.parametrize("case", RETOLD, ids=identity)
def test_a_retold_case_ends_as_karpenters(case: Mapping[str, Any]) -> None:
    found = list(complaints(case))
    if identity(case) in DIFFERENT:
        assert found, "it passes: take it out of DIFFERENT"
    else:
        assert not found, f"{case['name']}: {'; '.join(found)}"


def test_every_case_is_retold_or_says_why_not() -> None:
    """The counts that the documentation gives: passed, different, not modelled."""
    assert len(CASES) == len({identity(case) for case in CASES}) == 350
    assert all(bool(case.get("not_modelled")) != ("case" in case) for case in CASES)
    assert {identity(case) for case in RETOLD} >= DIFFERENT.keys()
    assert (len(RETOLD) - len(DIFFERENT), len(DIFFERENT), len(CASES) - len(RETOLD)) == (225, 2, 123)


@pytest.mark.parametrize("case", RETOLD[:20], ids=identity)
def test_a_wrong_expectation_is_noticed(case: Mapping[str, Any]) -> None:
    wrong = {**case, "expect": {**case["expect"], "placed": [1 - count for count in case["expect"]["placed"]]}}
    assert list(complaints(wrong))
