"""What the model drops and what a snapshot lacks is never satisfied: unknown, or an assumption beside the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.events.answers.cells import BAD, FINE, NONE, UNKNOWN
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.findings import Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.report.simulation.report import as_text
from kubesched_lint.rulebook.own import rulebook_with
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import ZONE, apart, asking, cell, other, report_of, sketch, snapshot, workload
from tests.events.test_storage_verdicts import EVERYTHING, NODES, claim, mounting, stateful, storage_class

HOSTNAME = "kubernetes.io/hostname"
DEVICES = asking("100m", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}])
GANG = asking("100m", schedulingGroup={"podGroupName": "train"})
VOLCANO = asking("100m", schedulerName="volcano")
EXTENDED = asking("100m")
EXTENDED["containers"] = [{"name": "c", "resources": {"limits": {"example.com/gpu": "1"}}}]
CLASS = other("DeviceClass", "gpu", "resource.k8s.io/v1", spec={"extendedResourceName": "example.com/gpu"})


def without(*kinds: str) -> tuple[str, ...]:
    return tuple(kind for kind in EVERYTHING if kind not in kinds)


def said(result: SimulationReport, name: str) -> list[tuple[str, bool]]:
    row = next(r for r in result.rows if result.workloads[r.number].name == name)
    return [(c.verdict, c.proven) for c in row.cells if c.verdict != NONE]


@pytest.mark.parametrize("spec", [DEVICES, GANG, VOLCANO, EXTENDED])
@pytest.mark.parametrize("kinds", [EVERYTHING, ()])
def test_what_is_not_modelled_is_unknown(spec: dict[str, Any], kinds: tuple[str, ...]) -> None:
    result = report_of(snapshot(*NODES, CLASS, kinds=kinds), workload("Deployment", "a", 2, spec))
    assert set(said(result, "a")) == {(UNKNOWN, False)}
    assert cell(result, "a", "deploy").missing
    cells = len(said(result, "a"))
    assert f"unknown: {cells} of {cells} cells (?), which the exit code does not count" in as_text(result, verbose=True)


def test_no_scheduler_is_asked_about_pods_that_name_their_node() -> None:
    """Their unknown scheduler skips them: a bound pod is in no queue (``pkg/scheduler/eventhandlers.go``)."""
    objects = [workload("Deployment", "a", 2, {**spec, "nodeName": "n0"}) for spec in (asking("100m"), VOLCANO)]
    known, named = (report_of(snapshot(*NODES, kinds=EVERYTHING), one) for one in objects)
    assert said(named, "a") == said(known, "a")
    assert (cell(named, "a", "deploy").verdict, cell(named, "a", "deploy").proven) == (FINE, True)
    full = workload("Deployment", "a", 2, {**asking("1000"), "schedulerName": "volcano", "nodeName": "n0"})
    found = cell(report_of(snapshot(*NODES, kinds=EVERYTHING), full), "a", "deploy")
    assert (found.verdict, found.proven, found.bound.most) == (BAD, True, 0)


def test_pods_wait_behind_a_gate_as_far_as_no_controller_removes_it() -> None:
    gated = workload("Deployment", "a", 2, {**asking("100m"), "schedulingGates": [{"name": "example.com/wait"}]})
    found = cell(report_of(snapshot(*NODES, kinds=EVERYTHING), gated), "a", "deploy")
    assert (found.verdict, found.proven, found.bound.most) == (BAD, False, 0)
    assert "no controller removes the scheduling gate example.com/wait" in found.assumes


def test_a_workload_without_pods_makes_nothing_else_uncertain() -> None:
    other = workload("Deployment", "b", 0, VOLCANO)
    report = report_of(snapshot(*NODES, kinds=EVERYTHING), workload("Deployment", "a", 2, asking("1500m")), other)
    assert not [premise for premise in cell(report, "a", "deploy").assumes if "b, although" in premise]


def test_pods_that_the_api_server_refuses_are_refused_whoever_schedules_them() -> None:
    refused = workload("Deployment", "a", 2, {**VOLCANO, "runtimeClassName": "none-such"})
    found = cell(report_of(snapshot(*NODES, kinds=EVERYTHING), refused), "a", "deploy")
    assert (found.verdict, found.proven, found.bound.most) == (BAD, True, 0)


def test_devices_only_narrow_what_is_proven_bad() -> None:
    spec = {**DEVICES, **apart("a", HOSTNAME)}
    found = cell(report_of(snapshot(*NODES, kinds=EVERYTHING), workload("Deployment", "a", 3, spec)), "a", "deploy")
    assert (found.verdict, found.proven, found.bound.least, found.bound.most) == (BAD, True, 0, 2)
    elsewhere = {**VOLCANO, **apart("a", HOSTNAME)}
    found = cell(
        report_of(snapshot(*NODES, kinds=EVERYTHING), workload("Deployment", "a", 3, elsewhere)), "a", "deploy"
    )
    assert found.verdict == UNKNOWN


def test_others_in_reach_say_that_they_rest_on_it_and_those_out_of_reach_do_not() -> None:
    crowded = asking("2", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}])
    objects = (
        workload("Deployment", "a", 2, crowded),
        workload("Deployment", "b", 2, asking("2")),
    )
    result = report_of(snapshot(*NODES, kinds=EVERYTHING), *objects, events=EVENTS[:1])
    found = cell(result, "b", "deploy")
    assert (found.verdict, found.proven, found.text) == (FINE, False, "2/2 ok *")
    assert any("Deployment default/a" in premise for premise in found.assumes)
    apart_from_it = [
        workload("Deployment", name, 2, {**spec, "nodeSelector": {HOSTNAME: node}})
        for name, spec, node in (("a", DEVICES, "n0"), ("b", asking("100m"), "n1"))
    ]
    assert cell(report_of(snapshot(*NODES, kinds=EVERYTHING), *apart_from_it), "b", "deploy").proven


@pytest.mark.parametrize("kind", ["Pod", "ResourceQuota", "LimitRange", "Namespace"])
def test_a_snapshot_without_a_kind_proves_nothing_fine_and_keeps_what_is_bad_whatever_it_holds(kind: str) -> None:
    cluster = snapshot(*NODES, kinds=without(kind))
    result = report_of(cluster, workload("Deployment", "a", 1), workload("Deployment", "b", 3, apart("b", HOSTNAME)))
    assert set(said(result, "a")) == {(UNKNOWN, False)}
    assert any(kind in m for m in cell(result, "a", "deploy").missing)
    bad = cell(result, "b", "deploy")
    assert (bad.verdict, bad.proven, bad.bound.most) == (BAD, True, 2)
    whole = report_of(snapshot(*NODES, kinds=EVERYTHING), workload("Deployment", "a", 1))
    assert cell(whole, "a", "deploy").proven


def test_running_pods_that_were_not_captured_may_answer_an_affinity() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": HOSTNAME}
    near = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    deployment = workload("Deployment", "a", 1, near)
    assert cell(report_of(snapshot(*NODES, kinds=without("Pod")), deployment), "a", "deploy").verdict == UNKNOWN
    on_nodes = report_of(snapshot(*NODES, kinds=()), deployment)
    assert (cell(on_nodes, "a", "deploy").verdict, on_nodes.is_bad) == (BAD, False)
    assert report_of(snapshot(*NODES, kinds=EVERYTHING), deployment).is_bad


def test_a_budget_that_was_not_captured_makes_drains_unknown_alone() -> None:
    result = report_of(snapshot(*NODES, kinds=without("PodDisruptionBudget")), workload("Deployment", "a", 1))
    assert cell(result, "a", "drain").verdict == UNKNOWN
    assert cell(result, "a", "deploy").proven
    assert cell(result, "a", "hpa-max").verdict == NONE


def test_an_autoscaler_that_was_not_captured_makes_its_maximum_unknown() -> None:
    result = report_of(snapshot(*NODES, kinds=without("HorizontalPodAutoscaler")), workload("Deployment", "a", 1))
    assert cell(result, "a", "hpa-max").verdict == UNKNOWN
    assert cell(result, "a", "deploy").proven


@pytest.mark.parametrize("cluster", [sketch(), snapshot(*NODES, kinds=())])
def test_a_sketch_or_a_list_of_nodes_yields_one_assumption(cluster: Any) -> None:
    result = report_of(cluster, workload("Deployment", "a", 1))
    deploy = cell(result, "a", "deploy")
    assert (deploy.verdict, deploy.proven) == (FINE, True)
    premises = [p for p in deploy.assumes if "are known" in p]
    assert premises == ["no running pods, volumes or quotas are known beyond the manifests"]
    assert as_text(result, verbose=True).count("running pods") == 1


def near(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOSTNAME}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def test_of_what_a_loss_leaves_running_pods_may_be_those_that_an_affinity_waits_for() -> None:
    """Each lost zone takes a pod that web must be near; nobody makes it again, but others may run in its place."""
    caches = [other("Pod", f"cache-{z}", spec=asking("1", nodeSelector={ZONE: z})) for z in "abc"]
    for cache in caches:
        cache["metadata"]["labels"] = {"app": "cache"}
    spec = {"affinity": {"podAffinity": near("cache"), "podAntiAffinity": near("web")}}
    result = report_of(sketch(), *caches, workload("Deployment", "web", 3, spec))
    loss, deploy = cell(result, "web", "zone-loss"), cell(result, "web", "deploy")
    assert (loss.verdict, loss.bound.most, loss.proven) == (BAD, 2, False)
    assert deploy.proven
    alone = report_of(sketch(1), workload("Deployment", "web", 3, apart("web", HOSTNAME)))
    assert cell(alone, "web", "zone-loss").proven, "more pods help no anti-affinity"


def test_nodes_that_come_may_be_the_domains_that_were_too_few() -> None:
    """With fewer nodes than minDomains no running pod helps; with enough of them, pods on the small one would."""
    spread = {"maxSkew": 1, "minDomains": 3, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
    spread["labelSelector"] = {"matchLabels": {"app": "a"}}
    first, second = NODES
    small = {**second, "status": {"allocatable": {"cpu": "1m", "memory": "16Gi", "pods": "110"}}}
    cluster = snapshot(first, small, kinds=without("Pod"))
    web = workload("Deployment", "a", 9, {"topologySpreadConstraints": [spread]})
    result = report_of(cluster, web, events=("deploy",), suppose=[("add", "node/n0=2")])
    assert (cell(result, "a", "deploy").verdict, cell(result, "a", "deploy").proven) == (BAD, True)
    added = cell(result, "a", "add node/n0=2")
    assert (added.verdict, len(added.missing)) == (UNKNOWN, 1)


def test_nodes_that_were_not_captured_leave_nothing_to_say() -> None:
    cluster = snapshot(kinds=without("Node"))
    result = report_of(cluster, workload("Deployment", "a", 2), workload("DaemonSet", "d", None))
    assert set(said(result, "a")) == set(said(result, "d")) == {(UNKNOWN, False)}
    assert not result.is_bad
    assert "they were not captured" in as_text(result, verbose=True)


NO_NODES = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      schedulerName: SCHEDULER
      nodeSelector: {pool: blue}
      containers: [{name: c, image: "x:1", ports: [{containerPort: 80, hostPort: 80}]}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ds}
spec:
  selector: {matchLabels: {app: ds}}
  template: {metadata: {labels: {app: ds}}, spec: {containers: [{name: c, image: "x:1"}]}}
"""


def findings(cluster: Any, scheduler: str = "default-scheduler") -> Any:
    text = NO_NODES.replace("SCHEDULER", scheduler)
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    return lint(found, cluster, Options(), rulebook_with().select("default", (), ()))[0]


def test_lint_skips_rules_about_nodes_where_none_were_captured() -> None:
    report = findings(snapshot(kinds=without("Node")))
    assert not report.errors
    assert not [f for f in report.findings if f.severity is Severity.ERROR]
    assert any(skip.reason == "needs nodes, which the snapshot does not hold" for skip in report.skipped)


def test_a_cluster_of_no_nodes_is_no_crash() -> None:
    assert not findings(snapshot(kinds=EVERYTHING)).errors


def test_what_another_scheduler_does_is_no_error() -> None:
    assert [f.severity for f in findings(snapshot(*NODES, kinds=EVERYTHING)).findings] == [Severity.ERROR]
    (other_one,) = (
        f for f in findings(snapshot(*NODES, kinds=EVERYTHING), "volcano").findings if f.rule.startswith("nodesel")
    )
    assert other_one.severity is Severity.WARNING
    assert "volcano decides as kube-scheduler does" in other_one.evidence.assumes


def test_a_claim_that_was_not_captured_is_unknown_and_no_missing_claim() -> None:
    objects = (workload("Deployment", "a", 1, mounting("data")), stateful("db", 1, "fast"))
    result = report_of(snapshot(*NODES, kinds=without("PersistentVolumeClaim")), *objects)
    assert cell(result, "a", "deploy").verdict == UNKNOWN


def on_named_node(mode: str, binding: str) -> Any:
    """The deploy of two pods that name their node and share a claim that has no volume yet."""
    disks = storage_class("disks", "ebs.csi.aws.com", binding)
    known = snapshot(*NODES, disks, claim("shared", mode, storageClassName="disks"), kinds=EVERYTHING)
    pods = {**mounting("shared"), "nodeName": "n0"}
    return cell(report_of(known, workload("Deployment", "a", 2, pods)), "a", "deploy")


def test_nobody_knows_how_a_kubelet_mounts_the_claims_of_pods_that_pass_the_scheduler_by():
    found = on_named_node("ReadWriteMany", "Immediate")
    assert (found.verdict, found.proven, found.bound.most) == (UNKNOWN, False, 2)
    assert "nodeName bypasses the scheduler" in found.missing[0]


@pytest.mark.parametrize(
    ("mode", "binding", "why"),
    [
        ("ReadWriteMany", "WaitForFirstConsumer", "class disks waits for the scheduler"),
        ("ReadWriteOncePod", "Immediate", "2 replicas > 1 pod of a ReadWriteOncePod claim"),
    ],
)
def test_no_kubelet_binds_a_claim_or_shares_one_of_a_single_pod(mode: str, binding: str, why: str) -> None:
    """Only the scheduler names a node to a claim that waits for one (``pkg/controller/volume/persistentvolume``).

    A kubelet mounts a ReadWriteOncePod claim for one pod (``pkg/volume/util/operationexecutor/operation_generator.go``,
    GenerateMountVolumeFunc).
    """
    found = on_named_node(mode, binding)
    assert (found.verdict, found.proven, found.missing) == (BAD, True, ())
    assert why in found.why


def test_nodes_of_a_sketch_have_ephemeral_storage_that_it_does_not_write():
    pod = asking("100m")
    pod["containers"][0]["resources"]["requests"]["ephemeral-storage"] = "1Gi"
    web = workload("Deployment", "web", 2, pod)
    assert set(said(report_of(sketch(), web), "web")) == {(FINE, True)}
    assert (BAD, True) in said(report_of(snapshot(*NODES, kinds=EVERYTHING), web), "web")
