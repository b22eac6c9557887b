"""Paused Deployments and suspended Jobs: pods that nobody makes fail nowhere, and those that run stay."""

from __future__ import annotations

import pytest
import yaml

from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import BAD, FINE, NONE
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.findings import Finding, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import HOSTNAME, ZONE, Value, apart, asking, cell, other, report_of, sketch, workload


def batch(kind: str, name: str, cpu: str, *, suspend: bool, within: bool = False, **more) -> Value:
    spec = asking(cpu, restartPolicy="Never")
    job = {"parallelism": 9, "template": {"spec": spec}, **more}
    if kind == "Job":
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": name}, "spec": {**job, "suspend": suspend}}
    inner = {**job, "suspend": suspend} if within else job
    body = {"schedule": "0 * * * *", "jobTemplate": {"spec": inner}, **({} if within else {"suspend": suspend})}
    return {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": name}, "spec": body}


def live(*pods: Value) -> Cluster:
    """Three nodes in three zones, 1 cpu each."""
    nodes = [
        other("Node", f"n{i}", status={"allocatable": {"cpu": "1", "memory": "16Gi", "pods": "110"}})
        | {"metadata": {"name": f"n{i}", "labels": {HOSTNAME: f"n{i}", ZONE: zone}}}
        for i, zone in enumerate("abc")
    ]
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]})
    return cluster_from([("live.yaml", text.encode())], "live.yaml")


def running(number: int, node: str, revision: str = "r1", cpu: str = "900m") -> Value:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"web-{revision}", "controller": True}
    meta = {
        "name": f"web-{revision}-{number}",
        "labels": {"app": "web", "pod-template-hash": revision},
        "ownerReferences": [owner],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": node, **asking(cpu)}}


def read(*objects: Value) -> ManifestSet:
    text = "---\n".join(yaml.safe_dump(o) for o in objects)
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    assert not found.errors
    return found


def findings(cluster: Cluster, *objects: Value) -> list[Finding]:
    rules = [r for r in Rulebook.shipped().select("ci") if r.slug != "api-would-reject"]  # images are left out here
    report, _ = lint(read(*objects), cluster, Options(), rules)
    assert not report.errors
    return list(report.findings)


def severities(found: list[Finding], slug: str) -> set[Severity]:
    return {f.severity for f in found if f.rule == slug}


# --- simulate -------------------------------------------------------------------------------------------------------


def test_a_new_paused_deployment_has_no_pods_and_takes_no_room():
    paused = workload("Deployment", "web", 9, asking("900m"), paused=True)
    result = report_of(sketch(1, cpu="1"), paused, workload("Deployment", "ok", 3, asking("900m")))
    assert {(c.text, c.verdict) for c in result.rows[0].cells} == {("paused: no pods", NONE)}
    assert cell(result, "ok", "deploy").text == "3/3 ok"
    resumed = report_of(sketch(1, cpu="1"), {**paused, "spec": {**paused["spec"], "paused": False}}, events=("deploy",))
    assert resumed.is_bad


def test_an_autoscaler_makes_no_pods_of_a_paused_deployment_that_has_none():
    scaler = other(
        "HorizontalPodAutoscaler",
        "web",
        "autoscaling/v2",
        spec={"maxReplicas": 9, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    )
    paused = workload("Deployment", "web", 1, asking("900m"), paused=True)
    result = report_of(sketch(1, cpu="1"), paused, scaler, workload("Deployment", "ok", 3, asking("900m")))
    assert cell(result, "web", "hpa-max").text == "paused: no pods"
    assert cell(result, "ok", "deploy").proven


def test_a_suspended_job_has_no_pods():
    result = report_of(sketch(1, cpu="1"), batch("Job", "train", "9", suspend=True))
    assert {(c.text, c.verdict) for c in result.rows[0].cells} == {("suspended", NONE)}
    assert report_of(sketch(1, cpu="1"), batch("Job", "train", "9", suspend=False), events=("deploy",)).is_bad


def test_a_paused_deployment_that_runs_keeps_its_template_and_starts_no_rollout():
    unfit = workload("Deployment", "web", 2, asking("9"), paused=True)
    result = report_of(live(running(1, "n0"), running(2, "n1")), unfit)
    assert cell(result, "web", "deploy").text == "2/2 ok"
    assert cell(result, "web", "deploy").verdict == FINE
    assert (cell(result, "web", "rollout").text, cell(result, "web", "rollout").verdict) == ("paused", NONE)
    assert cell(result, "web", "node-loss").text == "2/2 ok"  # one of n0, n1 goes, and n2 is free
    assert any("simulated with the running template" in note for note in result.notes)


def test_a_paused_deployment_that_runs_is_scaled():
    result = report_of(live(running(1, "n0")), workload("Deployment", "web", 3, asking("9"), paused=True))
    assert cell(result, "web", "deploy").text == "3/3 ok"
    result = report_of(live(running(1, "n0")), workload("Deployment", "web", 4, asking("9"), paused=True))
    assert cell(result, "web", "deploy").text == "3/4 −1"


def test_pods_that_a_changed_node_would_not_let_in_again_stay():
    pod = running(1, "n0")
    pod["spec"]["nodeSelector"] = {"gone": "yes"}
    result = report_of(live(pod), workload("Deployment", "web", 1, paused=True), events=("deploy",))
    assert cell(result, "web", "deploy").verdict != BAD
    assert not result.is_bad


def test_a_deployment_paused_amid_a_rollout_is_left_out_and_its_pods_stay():
    cluster = live(running(1, "n0"), running(2, "n1", "r2"))
    paused = workload("Deployment", "web", 2, asking("9"), paused=True)
    result = report_of(cluster, paused, workload("Deployment", "ok", 2, asking("900m")), events=("deploy",))
    assert [w.name for w in result.workloads] == ["ok"]
    assert cell(result, "ok", "deploy").text == "1/2 −1"
    assert any("(paused amid a rollout): Deployment default/web" in note for note in result.notes)


def test_no_event_of_a_held_workload_is_bad():
    held = [
        workload("Deployment", "web", 9, asking("99"), paused=True),
        batch("Job", "train", "99", suspend=True),
        batch("CronJob", "nightly", "99", suspend=True),
    ]
    result = report_of(sketch(1, cpu="1"), *held, events=EVENTS)
    assert not result.is_bad
    assert all(c.verdict == NONE for row in result.rows for c in row.cells)


# --- lint -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slug", "make"),
    [
        ("anti-affinity-exceeds-domains", lambda on: workload("Deployment", "x", 9, apart("x"), paused=on)),
        ("resource-exceeds-any-node", lambda on: workload("Deployment", "x", 1, asking("9"), paused=on)),
        ("resource-exceeds-any-node", lambda on: batch("Job", "x", "9", suspend=on)),
        ("resource-exceeds-any-node", lambda on: batch("CronJob", "x", "9", suspend=on)),
        ("resource-exceeds-any-node", lambda on: batch("CronJob", "x", "9", suspend=on, within=True)),
    ],
)
def test_what_is_an_error_of_a_workload_is_a_warning_while_it_is_held(slug, make):
    assert severities(findings(sketch(1, cpu="1"), make(False)), slug) == {Severity.ERROR}
    found = findings(sketch(1, cpu="1"), make(True))
    assert severities(found, slug) == {Severity.WARNING}
    (one,) = [f for f in found if f.rule == slug]
    assert "is resumed: while spec." in one.evidence.assumes[-1]


@pytest.mark.parametrize("paused", [True, False])
def test_pods_that_nobody_makes_crowd_out_no_others(paused):
    recreate = {"strategy": {"type": "Recreate"}}
    crowd = workload("Deployment", "crowd", 2, asking("900m"), paused=paused, **recreate)
    found = findings(sketch(1, cpu="1"), crowd, workload("Deployment", "ok", 2, asking("900m"), **recreate))
    assert severities(found, "set-does-not-fit") == {Severity.WARNING if paused else Severity.ERROR}
    (one,) = [f for f in found if f.rule == "set-does-not-fit"]
    assert ("resumed: Deployment default/crowd (paused)" in one.evidence.assumes) == paused


def test_an_error_of_another_workload_stays_an_error():
    held = workload("Deployment", "held", 9, asking("9"), paused=True)
    found = findings(sketch(1, cpu="1"), held, workload("Deployment", "big", 1, asking("9")))
    assert {(str(f.object), f.severity) for f in found if f.rule == "resource-exceeds-any-node"} == {
        ("Deployment default/held", Severity.WARNING),
        ("Deployment default/big", Severity.ERROR),
    }


def test_why_says_that_nobody_makes_the_pod_yet():
    found = answer(Question("train"), read(batch("Job", "train", "1", suspend=True)).inventory, sketch())
    assert "spec.suspend is true: no pod is created until somebody resumes the Job" in found.notes
