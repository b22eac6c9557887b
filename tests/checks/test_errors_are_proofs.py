"""What the rules call an error about placement, no order of scheduling avoids: held against exhaustive search.

The search takes every way: any pod of the set onto any node that passes the filters, and for a pod that fits nowhere
any preemption that helps. A pod of the set that is evicted waits again; a running pod of others is gone.
Pods with nodeName go past the scheduler: they stand in the way and are not counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import Any

from hypothesis import HealthCheck, event, settings

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.cluster.state import Placement
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.placing.together.joint import GROUPS, _placeable, demands_of
from kubesched_lint.engine.placing.together.problem import Problem
from kubesched_lint.engine.scenario.others.running import lasting_state
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scheduler.framework import diagnose
from kubesched_lint.engine.scheduler.preemption import victims_on
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents
from tests import drawn as st
from tests.drawn import given
from tests.share import examples

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APPS = ("a", "b", "c")
CLASSES = [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "low"}, "value": -10},
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "polite"},
        "value": 500,
        "preemptionPolicy": "Never",
    },
]
PRIORITY = {"high": 1000, "low": -10, "polite": 500, "": 0}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}


CPU = st.sampled_from(["1", "2", "500m"])
KEYS = st.sampled_from([ZONE, HOST])


def term(app: str, key: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}


@st.composite
def nodes(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = []
    for i in range(draw(st.integers(2, 4))):
        labels = {HOST: f"n{i}"}
        if draw(st.integers(0, 5)):
            labels[ZONE] = draw(st.sampled_from(["z1", "z2", "z3"]))
        effect = draw(st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]))
        taints = [{"key": "t", "value": "v", "effect": effect}] if draw(st.integers(0, 4)) == 0 else []
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
def running(draw: st.DrawFn, count: int) -> list[dict[str, Any]]:
    """Pods of others, alone or of a ReplicaSet, with priorities of their own; some terminate."""
    found = []
    for i in range(draw(st.integers(0, 4))):
        name = draw(st.sampled_from(["", "high", "low", "polite"]))
        spec: dict[str, Any] = {
            "nodeName": f"n{draw(st.integers(0, count - 1))}",
            "priority": PRIORITY[name],
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": draw(CPU)}}}],
        }
        if draw(st.integers(0, 3)) == 0:
            spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        if draw(st.integers(0, 3)) == 0:
            repelled = term(draw(st.sampled_from(APPS)), draw(KEYS))
            spec["affinity"] = {"podAntiAffinity": {REQUIRED: [repelled]}}
        meta: dict[str, Any] = {"name": f"r{i}", "namespace": "default"}
        meta["labels"] = {"app": draw(st.sampled_from([*APPS, "old"]))}
        if draw(st.integers(0, 5)) == 0:
            meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if draw(st.booleans()):
            meta["ownerReferences"] = [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"o{i}", "uid": f"o{i}", "controller": True}
            ]
        found.append(
            {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}
        )
    return found


@st.composite
def workload(draw: st.DrawFn, app: str) -> dict[str, Any]:
    affinity: dict[str, Any] = {}
    if draw(st.integers(0, 2)) == 0:
        affinity["podAntiAffinity"] = {REQUIRED: [term(draw(st.sampled_from(APPS)), draw(KEYS))]}
    if draw(st.integers(0, 3)) == 0:
        affinity["podAffinity"] = {REQUIRED: [term(draw(st.sampled_from(APPS)), draw(KEYS))]}
    container: dict[str, Any] = {"name": "c", "image": "i"}
    if draw(st.booleans()):
        container["resources"] = {"requests": {"cpu": draw(CPU)}}
    if draw(st.integers(0, 4)) == 0:
        container["ports"] = [{"containerPort": 80, "hostPort": 80}]
    spec: dict[str, Any] = {"containers": [container], "affinity": affinity}
    if draw(st.integers(0, 2)) == 0:
        constraint = {
            "maxSkew": draw(st.integers(1, 2)),
            "topologyKey": draw(KEYS),
            "whenUnsatisfiable": "DoNotSchedule",
        }
        constraint["labelSelector"] = {"matchLabels": {"app": app}}
        if draw(st.booleans()):
            constraint["minDomains"] = draw(st.integers(1, 4))
        if draw(st.booleans()):
            constraint["nodeTaintsPolicy"] = "Honor"
        if draw(st.integers(0, 2)) == 0:
            constraint["nodeAffinityPolicy"] = "Ignore"
        spec["topologySpreadConstraints"] = [constraint]
    if draw(st.integers(0, 4)) == 0:
        spec["tolerations"] = [{"key": "t", "operator": "Exists"}]
    name = draw(st.sampled_from(["", "", "high", "low", "polite"]))
    if name:
        spec["priorityClassName"] = name
    if draw(st.integers(0, 5)) == 0:
        spec["nodeSelector"] = {ZONE: draw(st.sampled_from(["z1", "z2"]))}
    if draw(st.integers(0, 20)) == 0:
        spec["nodeName"] = "n0"
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


def most_placeable(scenario: Scenario, cap: int = 3_000) -> int | None:
    """The most scheduled pods of the set that run at once in some course of events; None if the search grows large."""
    state = lasting_state(scenario)
    workloads = scenario.manifests.workloads
    pods = [(scenario.member(w).pod, scenario.member(w).replicas) for w in workloads]
    seen: set[tuple[tuple[str, int], ...]] = set()
    best = 0

    def search() -> bool:
        nonlocal best
        there = tuple(sorted((p.bound.name, p.position) for p in state.placements() if p.bound is not None))
        if there in seen:
            return True
        seen.add(there)
        counts = Counter(name for name, _ in there)
        best = max(best, sum(counts[w.name] for w in workloads if not w.pod.node_name))
        if len(seen) > cap:
            return False
        waiting = [i for i, w in enumerate(workloads) if counts[w.name] < pods[i][1]]
        return all(one() for i in waiting for one in steps(i)) and all(map(leave, list(state.placements())))

    def leave(placement: Placement) -> bool:
        if placement.bound is None or not placement.bound.terminating:
            return True
        mark = state.mark()
        state.remove(placement)
        finished = search()
        state.undo(mark)
        return finished

    def steps(i: int) -> Iterator[Callable[[], bool]]:
        pod = pods[i][0]
        if pod.node_name:  # past the scheduler; what its kubelet says is not asked
            yield partial(take, i, scenario.index.position(pod.node_name), ())
            return
        feasible = diagnose(pod, state).feasible
        if feasible or pod.preemption_policy == "Never":
            yield from (partial(take, i, position, ()) for position in positions(feasible))
            return
        for position in range(len(scenario.index)):
            lower = [p for p in state.pods_on(position) if (p.pod.priority or 0) < (pod.priority or 0)]
            for ranked in permutations(lower) if lower else ():
                found = victims_on(pod, position, ranked, state)
                if found is not None:
                    yield partial(take, i, position, found.victims)

    def take(i: int, position: int, victims: Sequence[Placement]) -> bool:
        mark = state.mark()
        for victim in victims:
            state.remove(victim)
        state.place(BoundPod(workloads[i].name, scenario.index.names[position], pods[i][0]), position)
        finished = search()
        state.undo(mark)
        return finished

    return best if search() else None


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_order_of_placements_avoids_what_is_called_an_error(data: st.DataObject) -> None:
    apps = data.draw(st.integers(1, 3))
    objects = [data.draw(workload(app)) for app in APPS[:apps]]
    there = data.draw(nodes())
    manifests, cluster = read(objects, [*there, *CLASSES, *data.draw(running(len(there))), NAMESPACE])
    rulebook = Rulebook.shipped()
    report, _ = lint(manifests, cluster, Options(profile="strict"), rulebook.select("strict"))
    assert not report.errors
    # The kubelet of the named node decides about these, not the scheduler.
    named = {w.ref for w in manifests.inventory.workloads if w.pod.node_name}
    proven = (f for f in report.findings if f.severity.word == "error" and f.evidence.event == "deploy")
    errors = [f for f in proven if f.object not in named]
    scenario = Scenario(manifests.inventory, cluster)
    wanted = sum(scenario.member(w).replicas for w in manifests.inventory.workloads if not w.pod.node_name)
    reachable = most_placeable(scenario)
    if reachable is None:
        return
    event(f"{'all' if reachable == wanted else 'not all'} can be placed, {'with' if errors else 'without'} an error")
    if errors:
        assert reachable < wanted, [(f.rule, f.message) for f in errors]
    bound = _placeable(Problem(scenario, demands_of(scenario)), GROUPS)
    asked = sum(d.count for d in demands_of(scenario))
    assert bound >= min(asked, reachable)
    if reachable < wanted and len(objects) == 1 and not any(w.pod.node_name for w in manifests.inventory.workloads):
        assert report.findings, "pods that can never all run, and nothing is said"
