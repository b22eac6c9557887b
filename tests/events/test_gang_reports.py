"""What ``simulate`` and ``why`` say of the pods of a gang."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.commands.why.explain import Explanation
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.library import lint, load_cluster, simulate
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.report.findings.explanation import as_json, as_text
from kubesched_lint.sources.manifests.loader import documents

GATES = "GenericWorkload=true,GangScheduling=true"
GROUP = """\
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: g, namespace: shop}
spec: {schedulingPolicy: {gang: {minCount: 3}}}
---
"""
OTHER = (
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: o, namespace: shop}\nspec: {containers: [{name: c, image: i}]}\n"
)


def job(name: str, pods: int, cpu: int) -> str:
    return f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: shop}}
spec:
  parallelism: {pods}
  template:
    spec:
      restartPolicy: Never
      schedulingGroup: {{podGroupName: g}}
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
"""


def sketch(cpu: int) -> str:
    nodes = f'- {{name: worker, count: 2, zones: [a], allocatable: {{cpu: "{cpu}", memory: 8Gi}}}}\n'
    return f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nelastic: false\nnodes:\n{nodes}"


MIXED = GROUP + job("small", 2, 2) + "---\n" + job("large", 1, 4)


ALL_PODS = "kinds: [Pod]\n"
"""A cluster's file that lists every pod, so that none is in a group unseen."""


def deploy_cells(manifests: str, cpu: int, gates: str = GATES, known: str = "") -> dict[str, Any]:
    cluster = load_cluster(text=sketch(cpu) + known)
    found = simulate(text=manifests, cluster=cluster, events=["deploy"], feature_gates=gates)
    return {cell.object.name: cell for cell in found.outcomes}


@pytest.mark.parametrize(
    ("manifests", "cpu", "verdict", "bound"),
    [
        (MIXED, 8, "fine", {"small": (2, 2), "large": (1, 1)}),
        (MIXED, 4, "depends", {"small": (0, 2), "large": (0, 1)}),
        (MIXED, 3, "bad", {"small": (0, 0), "large": (0, 0)}),
        (MIXED + OTHER, 4, "unknown", {"small": (0, 2), "large": (0, 1)}),
        (MIXED + OTHER, 3, "bad", {"small": (0, 0), "large": (0, 0)}),
    ],
)
def test_the_deploy_cell_is_the_answer_about_the_gang(
    manifests: str, cpu: int, verdict: str, bound: dict[str, tuple[int, int]]
) -> None:
    cells = deploy_cells(manifests, cpu)
    for name, (least, most) in bound.items():
        assert (cells[name].verdict, cells[name].bound) == (verdict, (least, most)), name


RACK = MIXED.replace("{minCount: 3}}", "{minCount: 3}}, schedulingConstraints: {topology: [{key: rack}]}")
TOPOLOGY = f"{GATES},TopologyAwareWorkloadScheduling=true"


@pytest.mark.parametrize(
    ("manifests", "gates", "why", "told"),
    [
        (MIXED, GATES, "at most 2 fit", ""),
        (MIXED.replace('"2"', '"4"'), GATES, "none fits", ""),
        (RACK, TOPOLOGY, "none fits in one rack", "no feasible placements found"),
        (RACK, GATES, "at most 2 fit", ""),
    ],
)
def test_a_bad_deploy_cell_says_how_many_fit_and_what_the_pods_say(
    manifests: str, gates: str, why: str, told: str
) -> None:
    cell = deploy_cells(manifests, 3, gates)["large"]
    assert cell.because == f"PodGroup shop/g needs 3 pods at the same time, and {why}"
    assert cell.message == told


FEW = GROUP + job("small", 1, 1) + "---\n" + job("large", 1, 1)


def counted(manifests: str, gates: str) -> list[str]:
    found = lint(text=manifests, cluster=load_cluster(text=sketch(8)), feature_gates=gates).findings
    return [f.message for f in found if f.rule == "podgroup-min-count"]


@pytest.mark.parametrize(("known", "proven", "severity"), [("", False, "warning"), (ALL_PODS, True, "error")])
def test_a_gang_with_too_few_pods_is_reported_once_and_never_starts(known: str, proven: bool, severity: str) -> None:
    """Where not all pods are known, one of another workload may run in the group."""
    (finding,) = lint(text=FEW, cluster=load_cluster(text=sketch(8) + known), feature_gates=GATES).findings
    assert (finding.rule, finding.severity.word) == ("podgroup-min-count", severity)
    assert finding.message.endswith("needs 3 pods, and there will never be more than 2")
    cells = deploy_cells(FEW, 8, known=known)
    assert {(cell.verdict, cell.bound, cell.proven) for cell in cells.values()} == {("bad", (0, 0), proven)}
    assert cells["small"].because == "PodGroup shop/g needs 3 pods before any is tried, and the manifests create 2"
    assert "no other workload has pods in the group" in cells["small"].assumes


@pytest.mark.parametrize("gates", ["", "GenericWorkload=true,GangScheduling=false"])
def test_too_few_pods_do_not_matter_without_the_gates(gates: str) -> None:
    assert not counted(FEW, gates)


def test_an_autoscaler_may_add_the_pods_that_a_gang_lacks() -> None:
    web = (
        job("web", 2, 1)
        .replace("batch/v1\nkind: Job", "apps/v1\nkind: Deployment")
        .replace("parallelism: 2", "replicas: 2\n  selector: {matchLabels: {a: b}}")
        .replace("    spec:\n", "    metadata: {labels: {a: b}}\n    spec:\n")
        .replace("Never", "Always")
    )
    scaler = (
        "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: shop}\n"
        "spec: {minReplicas: 2, maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"
    )
    assert counted(GROUP + web, GATES)
    assert not counted(GROUP + web + scaler, GATES)


def test_without_gates_the_pods_are_tried_one_by_one() -> None:
    assert deploy_cells(MIXED, 3, "GenericWorkload=false")["small"].bound == (2, 2)
    assert deploy_cells(MIXED, 3, "")["small"].verdict == "unknown"


def explained(cpu: int, manifests: str = MIXED, name: str = "shop/large") -> Explanation:
    found = manifest_set(documents("set.yaml", manifests.encode(), is_read), "shop")
    return answer(Question(name, feature_gates=GATES), found.inventory, load_cluster(text=sketch(cpu)))


@pytest.mark.parametrize(
    ("manifests", "cpu", "text", "is_negative"),
    [
        (MIXED, 8, "The group starts: every course of the scheduler binds 3 pods of PodGroup shop/g.", False),
        (MIXED, 4, "The group may not start: PodGroup shop/g fits, but the scheduler may miss the placement.", False),
        (MIXED, 3, "No pod of the group starts: PodGroup shop/g needs 3 pods at the same time, and none fits.", True),
        (FEW, 8, "No pod of the group starts: PodGroup shop/g needs 3 pods before any is tried", True),
    ],
)
def test_why_answers_for_the_gang_before_the_pod(manifests: str, cpu: int, text: str, is_negative: bool) -> None:
    found = explained(cpu, manifests.replace('"2"', '"4"') if cpu == 3 else manifests, "shop/small")
    assert found.group is not None
    assert found.group.text.startswith(text)
    assert found.is_negative == is_negative
    shown = as_text(found)
    assert shown.startswith(text)
    assert "\n\nFor this pod alone:\n" in shown
    assert json.loads(as_json(found))["group"]["neverStarts"] == is_negative
    assert not any(said.startswith("not known: what becomes of PodGroup") for said in found.notes)


def test_why_shows_the_placement_and_the_course_that_misses_it() -> None:
    group = explained(4).group
    assert group is not None
    on = dict(group.placement)
    assert on["small-0"] == on["small-1"] != on["large-0"]
    tried, end = group.course
    assert set(tried.split()) >= {"small-0", "small-1"}
    assert end.startswith("large-0 finds no room: 0/2 nodes are available: 2 Insufficient cpu.")


def test_why_of_a_waiting_pod_of_the_cluster_says_that_its_group_is_not_followed() -> None:
    pod = OTHER.removeprefix("---\n").replace("{containers", "{schedulingGroup: {podGroupName: g}, containers")
    snapshot = f"{sketch(4)}---\n{pod}"
    found = answer(Question("shop/o"), manifest_set([], "shop").inventory, load_cluster(text=snapshot))
    assert "not known: what becomes of PodGroup g, whose pods are tried together" in found.notes


@pytest.mark.parametrize(("manifests", "cpu", "verdict"), [(FEW, 8, "bad"), (MIXED, 3, "bad"), (MIXED, 4, "unknown")])
def test_a_loss_does_not_start_a_gang_that_never_starts(manifests: str, cpu: int, verdict: str) -> None:
    cluster, events = load_cluster(text=sketch(cpu)), ["node-loss", "drain"]
    found = simulate(text=manifests, cluster=cluster, events=events, feature_gates=GATES)
    assert {(cell.verdict, cell.bound[0]) for cell in found.outcomes} == {(verdict, 0)}


def test_a_pod_too_large_for_every_node_is_reported_once() -> None:
    cluster = load_cluster(text=sketch(3))
    found = lint(text=GROUP + job("huge", 3, 9), cluster=cluster, feature_gates=GATES, ignore=["api-would-reject"])
    assert [f.rule for f in found.findings] == ["resource-exceeds-any-node"]


LOW = """\
---
apiVersion: v1
kind: Pod
metadata: {name: low, namespace: shop}
spec: {nodeName: worker-a-1, priority: -5, containers: [{name: c, image: i}]}
status: {phase: Running}
"""
ASSUMED = "assumed: the feature gate WorkloadAwarePreemption is off, as it is by default"
OPEN = "not known: what becomes of PodGroup g, whose pods are tried together: "


@pytest.mark.parametrize(
    ("more", "gates", "note"),
    [
        (LOW, GATES, ASSUMED),
        (LOW, f"{GATES},WorkloadAwarePreemption=false", ""),
        (LOW, f"{GATES},WorkloadAwarePreemption=true", f"{OPEN}with WorkloadAwarePreemption it may evict running pods"),
        ("", GATES, ""),
        (LOW.replace("priority: -5", "schedulingGroup: {podGroupName: g}"), GATES, f"{OPEN}pods of it are in the clus"),
    ],
)
def test_preemption_by_a_whole_group_is_an_assumption_or_a_reason(more: str, gates: str, note: str) -> None:
    cluster = load_cluster(text=sketch(4) + more)
    found = manifest_set(documents("set.yaml", MIXED.encode(), is_read), "shop")
    notes = answer(Question("shop/small", feature_gates=gates), found.inventory, cluster).notes
    assert [said.startswith(note) for said in notes if "Preemption" in said or said.startswith(OPEN)] == [True] * bool(
        note
    )
    findings = lint(text=MIXED, cluster=cluster, feature_gates=gates, select=["gang-may-miss"]).findings
    assert any(ASSUMED.removeprefix("assumed: ") in f.evidence.assumes for f in findings) == (note == ASSUMED)


PROFILES = """\
---
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: default-scheduler}, {schedulerName: other}]
"""


@pytest.mark.parametrize(("name", "verdict"), [("other", "unknown"), ("default-scheduler", "fine")])
def test_pods_of_two_schedulers_are_no_group_that_is_followed(name: str, verdict: str) -> None:
    """Upstream refuses an attempt whose pods name different schedulers, whatever room there is."""
    mixed = (
        GROUP
        + job("small", 2, 1)
        + "---\n"
        + job("large", 1, 1).replace("Never\n", f"Never\n      schedulerName: {name}\n")
    )
    cluster = load_cluster(text=sketch(8) + PROFILES)
    cells = simulate(text=mixed, cluster=cluster, events=["deploy"], feature_gates=GATES).outcomes
    assert {cell.verdict for cell in cells} == {verdict}
