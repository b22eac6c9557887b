"""No error rests on a running pod that the scheduler may evict, or that terminates already."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubesched_lint.engine.placing.together.joint import GROUPS, _placeable, demands_of
from kubesched_lint.engine.placing.together.problem import Problem
from kubesched_lint.engine.placing.trial import trials_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from tests.checks.test_errors_are_proofs import CLASSES, HOST, NAMESPACE, PRIORITY, REQUIRED, ZONE, read, term


def node(name: str, zone: str = "z1", cpu: str = "2", **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "labels": {HOST: name, ZONE: zone}}
    room = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": {"allocatable": room}}


def pod(name: str, at: str, priority: int = 0, cpu: str = "500m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    meta: dict[str, Any] = {"name": name, "namespace": "default", "labels": {"app": name}}
    if spec.pop("terminating", False):
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    body = {"nodeName": at, "priority": priority, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": body, "status": {"phase": "Running"}}


def deployment(name: str, replicas: int = 1, cpu: str = "1", priority: str = "", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    if priority:
        spec["priorityClassName"] = priority
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **spec}}
    body = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": body}


def near(app: str, key: str = HOST) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: [term(app, key)]}}


def apart(app: str, key: str = HOST) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: [term(app, key)]}}


def errors(objects: list[dict[str, Any]], cluster: list[dict[str, Any]]) -> set[str]:
    manifests, known = read(objects, [*cluster, *CLASSES, NAMESPACE])
    report, _ = lint(manifests, known, Options(profile="strict"), Rulebook.shipped().select("strict"))
    assert not report.errors
    return {f"{f.rule} {f.object.name}" for f in report.findings if f.severity.word == "error"}


@pytest.mark.parametrize(("batch", "said"), [(-10, False), (0, True)])
def test_room_that_is_made_beside_the_target_of_an_affinity(batch: int, said: bool) -> None:
    running = [node("w1"), pod("writer", "w1"), pod("batch", "w1", batch, cpu="1")]
    found = errors([deployment("reader", affinity=near("writer"))], running)
    assert ("affinity-colocation-no-room reader" in found) is said


@pytest.mark.parametrize("priority", PRIORITY)
def test_a_domain_is_held_by_who_cannot_be_evicted(priority: str) -> None:
    both = {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["ad", "old"]}]}}
    affinity = {"podAntiAffinity": {REQUIRED: [{**both, "topologyKey": HOST}]}}
    found = errors([deployment("ad", priority=priority, affinity=affinity)], [node("w1"), pod("old", "w1")])
    assert ("anti-affinity-exceeds-domains ad" in found) is (priority != "high")


@pytest.mark.parametrize(("priority", "said"), [("high", False), ("polite", True), ("", True)])
def test_running_pods_that_repel_may_be_evicted(priority: str, said: bool) -> None:
    running = [node("w1"), node("w2"), *(pod(f"old{i}", f"w{i}", affinity=apart("web")) for i in (1, 2))]
    found = errors([deployment("web", priority=priority)], running)
    assert ("anti-affinity-symmetry web" in found) is said


def test_only_pods_on_nodes_that_it_can_use_are_evicted() -> None:
    taint: dict[str, Any] = {"taints": [{"key": "t", "value": "v", "effect": "NoSchedule"}]}
    running = [node("w1"), node("w2", **taint), pod("old", "w2", affinity=apart("web", ZONE))]
    assert "anti-affinity-symmetry web" in errors([deployment("web", priority="high")], running)


def test_another_workload_of_the_set_may_evict() -> None:
    running = [node("w1"), pod("old", "w1", affinity=apart("web"))]
    web, urgent = deployment("web"), deployment("urgent", cpu="2", priority="high")
    assert "anti-affinity-symmetry web" in errors([web], running)
    assert "anti-affinity-symmetry web" not in errors([web, urgent], running)


def test_who_is_evicted_comes_back_and_evicts_in_turn() -> None:
    """``middle`` must leave w1 for ``urgent``; its successor may then evict ``old`` from w2."""
    owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "middle", "uid": "1", "controller": True}]
    middle = pod("middle", "w1", 100, cpu="2")
    running = [node("w1", cpu="4"), node("w2"), pod("old", "w2", affinity=apart("web"))]
    web = deployment("web", nodeSelector={HOST: "w2"})
    urgent = deployment("urgent", cpu="4", priority="high", nodeSelector={HOST: "w1"})
    assert "anti-affinity-symmetry web" in errors([web, urgent], [*running, middle])
    middle["metadata"]["ownerReferences"] = owner
    assert "anti-affinity-symmetry web" not in errors([web, urgent], [*running, middle])


def test_a_terminating_pod_goes_by_itself() -> None:
    repels = apart("web")
    for terminating in (False, True):
        running = [node("w1"), pod("old", "w1", affinity=repels, terminating=terminating)]
        assert ("anti-affinity-symmetry web" in errors([deployment("web")], running)) is not terminating


@pytest.mark.parametrize("held", [False, True])
def test_a_trial_ends_when_terminating_pods_have_gone(held: bool) -> None:
    old = pod("old", "w1", cpu="2", terminating=True)
    old["metadata"]["finalizers"] = ["example.com/hold"] if held else []
    assert bool(trial([deployment("web")], [node("w1"), old])) is held


@pytest.mark.parametrize("changed", [False, True])
def test_a_trial_begins_with_the_pods_that_stay(changed: bool) -> None:
    """Both pods run where the selector led when the node had the label; a third one goes to the other node."""
    web = deployment("web", 3, cpu="1", nodeSelector={ZONE: "z1"})
    template = copy.deepcopy(web["spec"]["template"])
    template["metadata"]["labels"]["pod-template-hash"] = "h"
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": True}
    revision = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web-h", "namespace": "default", "ownerReferences": [owner], "uid": "r"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    running = [pod(f"web-h-{i}", "w2", cpu="1", nodeSelector={ZONE: "z1"}) for i in range(2)]
    for one in running:
        one["metadata"]["labels"] = {"app": "web", "pod-template-hash": "h"}
        one["metadata"]["ownerReferences"] = [{**owner, "kind": "ReplicaSet", "name": "web-h", "uid": "r"}]
    if changed:
        web["spec"]["template"]["metadata"]["labels"]["version"] = "2"
    left = trial([web], [node("w1", cpu="1"), node("w2", "z2"), revision, *running])
    assert left == ([2] if changed else [])


@pytest.mark.parametrize("priority", ["", "high"])
@pytest.mark.parametrize(
    ("finalizer", "said"), [("example.com/hold", True), ("batch.kubernetes.io/job-tracking", False)]
)
def test_a_terminating_pod_that_a_finalizer_holds_stays(finalizer: str, said: bool, priority: str) -> None:
    """Nobody evicts what is being deleted already; the Job controller takes its own finalizer away."""
    old = pod("old", "w1", affinity=apart("web"), terminating=True)
    old["metadata"]["finalizers"] = [finalizer]
    found = errors([deployment("web", priority=priority)], [node("w1"), old])
    assert ("anti-affinity-symmetry web" in found) is said


def test_counts_of_pods_that_may_be_evicted_bound_no_spread() -> None:
    """One pod of others in z1; z2 is there, tainted. At most one more pod fits z1, but for an eviction."""
    taint: dict[str, Any] = {"taints": [{"key": "t", "value": "v", "effect": "NoSchedule"}]}
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    spread["labelSelector"] = {"matchLabels": {"team": "x"}}
    running = [node("w1"), node("w2", "z2", **taint), pod("old", "w1")]
    running[-1]["metadata"]["labels"]["team"] = "x"
    for priority in ("", "high"):
        web = deployment("web", priority=priority, topologySpreadConstraints=[spread])
        web["spec"]["template"]["metadata"]["labels"]["team"] = "x"
        assert ("spread-tainted-domain-blocks web" in errors([web], running)) is not bool(priority)


def test_a_pod_with_a_node_name_meets_no_filter() -> None:
    web = deployment("web", 3, nodeName="w1", affinity=apart("web"))
    assert errors([web], [node("w1", cpu="8"), node("w2")]) == set()
    web["spec"]["template"]["spec"]["affinity"] = near("nobody")
    assert errors([web], [node("w1", cpu="8"), node("w2")]) == set()


def findings(objects: list[dict[str, Any]], cluster: list[dict[str, Any]]) -> dict[str, str]:
    """``rule object`` → message, under the default profile."""
    manifests, known = read(objects, [*cluster, *CLASSES, NAMESPACE])
    report, _ = lint(manifests, known, Options(), Rulebook.shipped().select("default"))
    return {f"{f.rule} {f.object.name}": f.message for f in report.findings}


def test_a_pod_of_the_set_that_is_evicted_waits_again() -> None:
    """``urgent`` takes the whole of z2 from ``web``, which may not have 3 in z1."""
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    web = deployment("web", 3, topologySpreadConstraints=[{**spread, "labelSelector": {"matchLabels": {"app": "web"}}}])
    urgent = deployment("urgent", cpu="2", priority="high", nodeSelector={ZONE: "z2"})
    found = findings([web, urgent], [node("a", cpu="4"), node("b", "z2")])
    assert "1 of 3 pods of Deployment default/web" in found["deploy-leaves-pending web"]


def trial(objects: list[dict[str, Any]], cluster: list[dict[str, Any]]) -> list[int]:
    """Pods that the first trial leaves over, for each workload that lacks some."""
    manifests, known = read(objects, [*cluster, *CLASSES, NAMESPACE])
    return [left for left, _ in trials_of(Scenario(manifests.inventory, known))[0].values()]


def daemon(name: str, **spec: Any) -> dict[str, Any]:
    found = deployment(name, cpu="100m", **spec)
    del found["spec"]["replicas"]
    return {**found, "kind": "DaemonSet"}


def test_what_a_daemonset_cannot_have_alone_is_not_blamed_on_others() -> None:
    nodes = [node("a"), node("b"), node("c")]
    web = deployment("web", 2, cpu="100m")
    found = findings([web, daemon("agent", affinity=apart("agent", ZONE))], nodes)
    assert "daemonset-zone-anti-affinity agent" in found
    assert not [one for one in found if one.startswith("set-does-not-fit")]


def test_a_daemonset_is_pinned_to_nodes_whatever_its_spread() -> None:
    """Three of four nodes are in z1, and each pod of the DaemonSet counts its own zone alone."""
    spread: dict[str, Any] = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    spread["labelSelector"] = {"matchLabels": {"app": "agent"}}
    nodes = [node("a"), node("b"), node("c"), node("d", "z2")]
    agent, web = daemon("agent", topologySpreadConstraints=[spread]), deployment("web", 5, cpu="1")
    manifests, known = read([agent, web], [*nodes, *CLASSES, NAMESPACE])
    scenario = Scenario(manifests.inventory, known)
    only_agent = [d for d in demands_of(scenario) if d.one_a_node]
    assert _placeable(Problem(scenario, only_agent), GROUPS) == 4


def test_what_does_not_fit_alone_hides_nobody_else_who_waits() -> None:
    """``big`` asks for more than there is, and fills the nodes that ``near`` must share with it."""
    near_big = deployment("near", 2, cpu="1", affinity=near("big"))
    found = findings([deployment("big", 3, cpu="2"), near_big], [node("a"), node("b")])
    assert "pods-stay-pending near" in found


def test_the_resource_is_named_only_where_it_is_short() -> None:
    web = deployment("web", 2, cpu="100m", affinity=near("db"))
    web["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    found = findings([web], [node("a"), node("b"), pod("db", "a")])
    assert "1 of 2 pods of Deployment default/web" in found["affinity-colocation-no-room web"]
    assert "a host port or its anti-affinity lets in one per node" in found["affinity-colocation-no-room web"]


@pytest.mark.parametrize(("replicas", "rule"), [(2, "rollout-surge-deadlock"), (3, "anti-affinity-exceeds-domains")])
def test_apart_from_its_own_and_near_others_needs_a_domain_of_these_for_each(replicas: int, rule: str) -> None:
    nodes = [node(f"n{i}") for i in range(4)]
    web = deployment("web", replicas, cpu="100m", affinity={**near("redis"), **apart("web")})
    redis = deployment("redis", 2, cpu="100m", affinity=apart("redis"))
    assert f"{rule} web" in errors([web, redis], nodes)
    redis["spec"]["replicas"] = 4
    assert f"{rule} web" not in errors([web, redis], nodes)


def test_who_must_be_near_pods_that_may_be_evicted_may_find_more_of_them_later() -> None:
    nodes = [node(f"n{i}") for i in range(4)]
    web = deployment("web", 3, cpu="100m", affinity={**near("redis"), **apart("web")})
    redis = deployment("redis", 2, cpu="100m", affinity=apart("redis"))
    urgent = deployment("urgent", cpu="2", priority="high")
    assert "anti-affinity-exceeds-domains web" not in errors([web, redis, urgent], nodes)


def test_a_pod_on_a_node_without_the_key_is_no_company() -> None:
    """Then a pod that answers its own affinity is the first one, and may start anywhere."""
    old = node("old")
    del old["metadata"]["labels"][ZONE]
    assert errors([deployment("web", affinity=near("web", ZONE))], [node("a"), old, pod("web", "old")]) == set()
    assert errors([deployment("web", affinity=near("db", ZONE))], [node("a"), old, pod("db", "old")]) == {
        "affinity-colocation-no-room web"
    }


def test_an_affinity_keeps_a_preemptor_away_from_who_repels_it() -> None:
    """``urgent`` must be near ``b`` in z1, so that it never evicts ``a`` from z2, which ``web`` must be near."""
    taint: dict[str, Any] = {"taints": [{"key": "t", "value": "v", "effect": "NoSchedule"}]}
    running = [node("w1"), node("w2", "z2", **taint), pod("a", "w2"), pod("b", "w1")]
    everywhere = [{"operator": "Exists"}]
    urgent = deployment("urgent", priority="high", tolerations=everywhere, affinity=near("b", ZONE))
    web = deployment("web", affinity=near("a"))
    web["spec"]["template"]["metadata"]["labels"]["app"] = "a"
    web["spec"]["selector"]["matchLabels"]["app"] = "a"
    said = "affinity-colocation-no-room web"
    assert said in errors([web, urgent], running)
    free = deployment("urgent", priority="high", tolerations=everywhere)
    assert said not in errors([web, free], running)
    # What made b makes it anew, perhaps in z2, where a pod that waits may go as well.
    running[-1]["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "b", "uid": "1", "controller": True}
    ]
    assert said not in errors([web, urgent], running)
    del running[-1]["metadata"]["ownerReferences"]
    waits = pod("b2", "")
    waits["metadata"]["labels"]["app"] = "b"
    assert said not in errors([web, urgent], [*running, waits])


@pytest.mark.parametrize("priority", ["", "high"])
def test_a_spread_places_nothing_where_a_pod_repels_that_stays(priority: str) -> None:
    """w3 counts and is tainted, ``old`` keeps w2 free of ``web``, so that w1 takes the only one."""
    taint: dict[str, Any] = {"taints": [{"key": "t", "value": "v", "effect": "NoSchedule"}]}
    spread: dict[str, Any] = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule"}
    spread["labelSelector"] = {"matchLabels": {"app": "web"}}
    web = deployment("web", 2, cpu="100m", priority=priority, topologySpreadConstraints=[spread])
    running = [node("w1"), node("w2"), node("w3", **taint), pod("old", "w2", affinity=apart("web"))]
    assert ("spread-tainted-domain-blocks web" in errors([web], running)) is (priority == "")


def test_a_pod_that_waits_may_answer_an_affinity_elsewhere() -> None:
    running = [node("a", cpu="600m"), node("b"), pod("db", "a")]
    said = "affinity-colocation-no-room web"
    web = deployment("web", affinity=near("db"))
    assert said in errors([web], running)
    waits = pod("db-1", "")
    waits["metadata"]["labels"]["app"] = "db"
    assert said not in errors([web], [*running, waits])
