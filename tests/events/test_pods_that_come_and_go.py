"""Pods that no cell follows, of CronJobs and waiting ones of others, may help by affinity and under a spread."""

from __future__ import annotations

import pytest

from kubesched_lint import lint, load_cluster
from kubesched_lint.engine.events.answers.cells import BAD
from kubesched_lint.findings import Severity
from tests.events import simulated

SELECTOR = {"labelSelector": {"matchLabels": {"app": "cron"}}}
NEAR = {
    "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname", **SELECTOR}]
        }
    }
}
SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"tier": "shop"}},
        }
    ]
}
CLUSTER = simulated.sketch(1, "a", "4", "110")


def _cron_job(labels: dict) -> dict:
    template = {"metadata": {"labels": labels}, "spec": {**simulated.asking("1"), "restartPolicy": "Never"}}
    spec = {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": template}}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cron"}, "spec": spec}


def _web(replicas: int, labels: dict, **spec) -> dict:
    web = simulated.workload("Deployment", "web", replicas, simulated.asking("100m", **spec))
    web["spec"]["template"]["metadata"]["labels"] |= labels
    return web


def test_affinity_to_pods_of_a_cronjob_is_met_when_it_runs():
    """It was an error: no pod that the affinity selects. With the CronJob's label misspelt, web waits."""
    web = _web(1, {}, **NEAR)
    met = lint(objects=[web, _cron_job({"app": "cron"})], cluster=CLUSTER).findings
    assert all(finding.severity < Severity.ERROR for finding in met)
    found = simulated.report_of(CLUSTER, web, _cron_job({"app": "cron"}), events=("deploy",))
    assert "when pods of CronJob default/cron run" in simulated.cell(found, "web", "deploy").missing[0]
    unmet = simulated.report_of(CLUSTER, web, _cron_job({"app": "corn"}), events=("deploy",))
    assert simulated.cell(unmet, "web", "deploy").verdict == BAD


TAINTED = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: a, zones: [a], allocatable: {cpu: "4", pods: "110"}, taints: ["gpu:NoSchedule"]}
- {name: b, zones: [b], allocatable: {cpu: "4", pods: "110"}}
"""


@pytest.mark.parametrize(("labels", "proven"), [({"tier": "shop"}, False), ({"tier": "other"}, True)])
def test_a_bad_end_under_a_spread_rests_on_no_pod_of_a_cronjob_being_counted(labels, proven):
    """While one runs in the tainted zone, which it may tolerate, zone b takes a second pod."""
    cluster, web = load_cluster(text=TAINTED), _web(2, {"tier": "shop"}, **SPREAD)
    found = simulated.cell(simulated.report_of(cluster, web, _cron_job(labels), events=("deploy",)), "web", "deploy")
    premise = "no pods of CronJob default/cron run, which its spread counts"
    assert (found.bound.most, premise in found.assumes) == (1, not proven)
    errors = [
        f for f in lint(objects=[web, _cron_job(labels)], cluster=cluster).findings if f.severity is Severity.ERROR
    ]
    assert bool(errors) is proven


def test_a_proof_that_rests_on_no_other_pods_holds_beside_them():
    """Three pods of 2 CPUs on one node of 4: a bound by room holds whatever else the spread counts."""
    web = simulated.workload("Deployment", "web", 3, {**simulated.asking("2"), **SPREAD})
    web["spec"]["template"]["metadata"]["labels"]["tier"] = "shop"
    job = _cron_job({"app": "cron", "tier": "shop"})
    found = simulated.cell(simulated.report_of(CLUSTER, web, job, events=("deploy",)), "web", "deploy")
    assert (found.verdict, found.proven, found.bound.most, found.rests_on) == (BAD, True, 2, frozenset())


def _node(name: str) -> dict:
    amounts = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


@pytest.mark.parametrize("selected", [False, True])
def test_what_is_not_known_of_others_helps_no_pod_that_none_of_them_can_help(selected: bool) -> None:
    """Beside pods with a claim that nobody has read, only the deploy was proven, and only by lint."""
    claim = [{"name": "data", "persistentVolumeClaim": {"claimName": "unread"}}]
    other = simulated.workload("Deployment", "other", 2, simulated.asking("3", volumes=claim))
    other["spec"]["template"]["metadata"]["labels"] |= {"app": "cron"} if selected else {}
    other["spec"]["selector"]["matchLabels"] |= {"app": "cron"} if selected else {}
    bare = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "bare", "namespace": "default"},
        "spec": {"nodeName": "a", **simulated.asking("1")},
        "status": {"phase": "Running"},
    }
    cluster = simulated.snapshot(_node("a"), _node("b"), bare, kinds=())
    web = simulated.workload("Deployment", "web", 2, simulated.asking("2", **NEAR))
    report = simulated.report_of(cluster, web, other)
    cells = {event: simulated.cell(report, "web", event) for event in simulated.EVENTS if event != "hpa-max"}
    proven = {event for event, cell in cells.items() if (cell.verdict, cell.proven) == (BAD, True)}
    assert proven == (set() if selected else set(cells))
