"""What the rules call an error about placement, no order of scheduling avoids: held against exhaustive search."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.joint import GROUPS, Problem, _placeable, demands_of
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.cluster.nodeset import positions
from kubesched_lint.cluster.read import cluster_from
from kubesched_lint.engine.linter import lint
from kubesched_lint.engine.options import Options
from kubesched_lint.engine.reading import ManifestSet, manifest_set
from kubesched_lint.manifests.loader import documents
from kubesched_lint.model.decode.objects import is_read
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.scheduler.framework import diagnose

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ABOUT_LATER = {"rollout-surge-deadlock", "hostport-rollout-deadlock", "spread-mindomains-rollout"}
"""Errors about the next rollout say nothing of the first placement."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APPS = ("a", "b", "c")


def term(app: str, key: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}


@st.composite
def nodes(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = []
    for i in range(draw(st.integers(2, 4))):
        labels = {HOST: f"n{i}"}
        if draw(st.integers(0, 5)):
            labels[ZONE] = draw(st.sampled_from(["z1", "z2", "z3"]))
        taints = [{"key": "t", "value": "v", "effect": "NoSchedule"}] if draw(st.integers(0, 4)) == 0 else []
        room = {"cpu": str(draw(st.integers(1, 4))), "memory": "8Gi", "pods": str(draw(st.sampled_from([2, 110])))}
        meta = {"name": f"n{i}", "labels": labels}
        found.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": meta,
                "spec": {"taints": taints},
                "status": {"allocatable": room},
            }
        )
    return found


@st.composite
def workload(draw: st.DrawFn, app: str) -> dict[str, Any]:
    affinity: dict[str, Any] = {}
    keys = st.sampled_from([ZONE, HOST])
    if draw(st.integers(0, 2)) == 0:
        affinity["podAntiAffinity"] = {REQUIRED: [term(draw(st.sampled_from(APPS)), draw(keys))]}
    if draw(st.integers(0, 3)) == 0:
        affinity["podAffinity"] = {REQUIRED: [term(draw(st.sampled_from(APPS)), draw(keys))]}
    container: dict[str, Any] = {"name": "c", "image": "i"}
    if draw(st.booleans()):
        container["resources"] = {"requests": {"cpu": draw(st.sampled_from(["1", "2", "500m"]))}}
    if draw(st.integers(0, 4)) == 0:
        container["ports"] = [{"containerPort": 80, "hostPort": 80}]
    spec: dict[str, Any] = {"containers": [container], "affinity": affinity}
    if draw(st.integers(0, 2)) == 0:
        constraint = {
            "maxSkew": draw(st.integers(1, 2)),
            "topologyKey": draw(keys),
            "whenUnsatisfiable": "DoNotSchedule",
        }
        constraint["labelSelector"] = {"matchLabels": {"app": app}}
        if draw(st.booleans()):
            constraint["minDomains"] = draw(st.integers(1, 4))
        if draw(st.booleans()):
            constraint["nodeTaintsPolicy"] = "Honor"
        spec["topologySpreadConstraints"] = [constraint]
    if draw(st.integers(0, 4)) == 0:
        spec["tolerations"] = [{"key": "t", "operator": "Exists"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": app},
        "spec": {
            "replicas": draw(st.integers(1, 4)),
            "selector": {"matchLabels": {"app": app}},
            "template": {"metadata": {"labels": {"app": app}}, "spec": spec},
        },
    }


def read(objects: list[dict[str, Any]], cluster: list[dict[str, Any]]) -> tuple[ManifestSet, Cluster]:
    text = "\n---\n".join(map(json.dumps, objects))
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": cluster}).encode()
    manifests = manifest_set(documents("m.yaml", text.encode(), is_read), "default")
    assert not manifests.errors
    return manifests, cluster_from([("c.json", items)], "c.json", elastic=False)


def most_placeable(facts: Facts, cap: int = 4_000) -> int | None:
    """The most pods that some order of placements gets onto the nodes; None when the search grows too large."""
    state = facts.state
    pods = [(facts.pod(w), facts.replicas(w)) for w in facts.manifests.workloads]
    seen: set[tuple[tuple[int, ...], ...]] = set()
    best = 0

    def search(counts: tuple[tuple[int, ...], ...]) -> bool:
        nonlocal best
        if counts in seen:
            return True
        seen.add(counts)
        if len(seen) > cap:
            return False
        best = max(best, sum(map(sum, counts)))
        for i, (pod, replicas) in enumerate(pods):
            if sum(counts[i]) == replicas:
                continue
            for position in positions(diagnose(pod, state).feasible):
                mark = state.mark()
                state.place(pod, position)
                row = list(counts[i])
                row[position] += 1
                finished = search((*counts[:i], tuple(row), *counts[i + 1 :]))
                state.undo(mark)
                if not finished:
                    return False
        return True

    done = search(tuple((0,) * len(facts.index) for _ in pods))
    return best if done else None


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_order_of_placements_avoids_what_is_called_an_error(data: st.DataObject) -> None:
    apps = data.draw(st.integers(1, 3))
    objects = [data.draw(workload(app)) for app in APPS[:apps]]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    manifests, cluster = read(objects, [*data.draw(nodes()), namespace])
    rulebook = Rulebook.shipped()
    report, _ = lint(manifests, cluster, Options(profile="strict"), rulebook.select("strict"))
    assert not report.errors
    errors = [f for f in report.findings if f.severity.word == "error" and f.rule not in ABOUT_LATER]
    facts = Facts(manifests.inventory, cluster)
    wanted = sum(facts.replicas(w) for w in manifests.inventory.workloads)
    reachable = most_placeable(facts)
    if reachable is None:
        return
    event(f"{'all' if reachable == wanted else 'not all'} can be placed, {'with' if errors else 'without'} an error")
    if errors:
        assert reachable < wanted, [f.message for f in errors]
    bound = _placeable(Problem(facts, demands_of(facts)), GROUPS)
    asked = sum(d.count for d in demands_of(facts))
    assert bound >= min(asked, reachable)
    if reachable < wanted and len(objects) == 1:
        assert report.findings, "pods that can never all run, and nothing is said"
