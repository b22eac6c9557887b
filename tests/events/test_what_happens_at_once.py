"""What does not wait for each other: objects that are applied together, pods that end, pods that a drain evicts."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, UNKNOWN
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.crowding.waiting import waiting_everywhere
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import HOSTNAME, ZONE, apart, asking, cell, other, report_of, sketch, workload
from tests.events.test_what_runs_already import running


def _guest(node: str, **spec) -> dict:
    """A pod of others that terminates."""
    pod = other("Pod", "guest", spec={**asking("3"), **spec, "nodeName": node})
    pod["metadata"] |= {
        "namespace": "default",
        "labels": {"app": "guest"},
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    }
    return pod


def _facts(cluster: Cluster, *objects: dict) -> Scenario:
    import yaml

    text = "---\n".join(yaml.safe_dump(o) for o in objects).encode()
    return Scenario(manifest_set(documents("set.yaml", text, is_read), "default").inventory, cluster)


def test_what_runs_and_grows_competes_with_what_is_new():
    old = workload("Deployment", "old", 1, asking("2"))
    cluster = sketch(1, "a", "4", "110", *running(old, "w"))
    grown = {**old, "spec": {**old["spec"], "replicas": 2}}
    new = workload("Deployment", "new", 1, asking("2"))
    found = report_of(cluster, grown, new, events=("deploy",))
    assert cell(found, "old", "deploy").verdict == DEPENDS
    assert cell(found, "new", "deploy").verdict == DEPENDS


def test_a_pod_of_others_that_terminates_leaves_its_room():
    web = workload("Deployment", "web", 2, asking("2"))
    cluster = sketch(1, "a", "4", "110", _guest("w"))
    here = cell(report_of(cluster, web, events=("deploy",)), "web", "deploy")
    assert (here.verdict, here.proven, here.bound.least) == (FINE, True, 2)
    assert "pods that terminate end: default/guest" in here.assumes
    assert not list(waiting_everywhere(_facts(cluster, web)))
    held = _guest("w")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    stuck = cell(report_of(sketch(1, "a", "4", "110", held), web, events=("deploy",)), "web", "deploy")
    assert (stuck.verdict, stuck.proven, stuck.bound.most) == (BAD, True, 0)


def test_a_pod_of_the_set_that_terminates_is_said_to_end():
    """Until it ends, its controller may make no other: a StatefulSet waits for its name."""
    db = workload("StatefulSet", "db", 2)
    owner = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u", "controller": True}]
    held = _guest("w")
    held["metadata"] |= {"name": "db-0", "labels": {"app": "db"}, "ownerReferences": owner}
    held["metadata"]["finalizers"] = ["example.com/hold"]
    deployed = cell(report_of(sketch(1, "a", "4", "110", held), db, events=("deploy",)), "db", "deploy")
    assert deployed.verdict == FINE
    assert "pods that terminate end: default/db-0" in deployed.assumes


def test_near_a_pod_that_terminates_nothing_is_proven():
    term = {"labelSelector": {"matchLabels": {"app": "guest"}}, "topologyKey": HOSTNAME}
    near = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    web = workload("Deployment", "web", 1, {**asking("100m"), **near})
    here = cell(report_of(sketch(1, "a", "4", "110", _guest("w")), web, events=("deploy",)), "web", "deploy")
    assert (here.verdict, here.proven) == (UNKNOWN, False)
    assert any("pod default/guest terminates" in missing for missing in here.missing)
    nowhere = workload("Deployment", "web", 1, {**asking("100m"), **near, "nodeSelector": {"pool": "none"}})
    there = cell(report_of(sketch(1, "a", "4", "110", _guest("w")), nowhere, events=("deploy",)), "web", "deploy")
    assert (there.verdict, there.bound.most, there.missing) == (BAD, 0, ()), "no node lets it in, whoever is there"


def test_a_budget_that_keeps_one_pod_on_a_node_keeps_no_other():
    guarded = workload("Deployment", "guarded", 1, asking("1"))
    free = workload("Deployment", "free", 1, asking("1"))
    budget = other(
        "PodDisruptionBudget", "b", "policy/v1", spec={"minAvailable": 1, "selector": guarded["spec"]["selector"]}
    )
    here = cell(report_of(sketch(1, "a"), guarded, free, budget, events=("drain",)), "free", "drain")
    assert (here.bound.least, here.bound.most) == (0, 0)


@pytest.mark.parametrize("effort", [{}, {"states": 1}])
def test_a_pod_that_tolerates_the_cordon_may_come_back_to_the_drained_node(effort):
    web = workload("Deployment", "web", 1, {**asking("1"), "tolerations": [{"operator": "Exists"}]})
    here = cell(report_of(sketch(1, "a"), web, events=("drain",), **effort), "web", "drain")
    assert here.bound.most == 1
    assert here.verdict != BAD


def test_a_trial_makes_no_more_pods_than_a_quota_grants():
    quota = other("ResourceQuota", "q", spec={"hard": {"pods": "2"}})
    web = workload("Deployment", "web", 3, asking("3"))
    (waiting,) = waiting_everywhere(_facts(sketch(1, "a", "4"), web, quota))
    assert (waiting.fewest, waiting.most, waiting.wanted) == (1, 1, 2)


@pytest.mark.parametrize("effort", [{}, {"states": 1}])
@pytest.mark.parametrize(
    ("zone", "text"),
    [("ab", "1/1 ok"), ("a", "2/2 ok")],
    ids=["every loss takes a node that it wants", "some node is none of its own"],
)
def test_a_daemon_set_wants_fewer_pods_after_each_loss(zone, text, effort):
    values = {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zone)}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": values}}
    daemon = workload("DaemonSet", "log", None, {**asking("1"), "affinity": affinity})
    cluster = sketch(1, "ab") if zone == "ab" else sketch(2, "ab")
    here = cell(report_of(cluster, daemon, events=("node-loss",), **effort), "log", "node-loss")
    assert here.text == text


def test_while_one_is_scaled_down_others_may_already_be_placed():
    """The new pods go near both pods of the one that shrinks, if they are placed before its controller looks."""
    near = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOSTNAME}
    spec = {
        "affinity": {
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]},
            **apart("web", HOSTNAME)["affinity"],
        }
    }
    live, web = workload("Deployment", "db", 2), workload("Deployment", "web", 2, spec)
    fewer = workload("Deployment", "db", 1)
    deployed = cell(report_of(sketch(1, "ab", "4", "110", *running(live, "w-a", "w-b")), fewer, web), "web", "deploy")
    assert (deployed.verdict, str(deployed.bound)) == (DEPENDS, "1–2")


def test_pods_of_another_template_may_be_driven_out_by_their_priority():
    live = workload("Deployment", "web", 1, asking("3", priority=0))
    changed = workload("Deployment", "web", 1, asking("3", priorityClassName="high"))
    rival = workload("Deployment", "db", 1, asking("3", priorityClassName="high"))
    high = other("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000)
    standing = running(live, "w")
    deployed = report_of(sketch(1, "a", "4", "110", *standing), high, changed, rival)
    assert cell(deployed, "db", "deploy").verdict == DEPENDS
