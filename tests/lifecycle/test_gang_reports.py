"""What ``simulate`` and ``why`` say of the pods of a gang."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.library import lint, load_cluster, simulate
from kubesched_lint.linter.reading import manifest_set
from kubesched_lint.manifests.loader import documents
from kubesched_lint.model.decode.objects import is_read

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


def deploy_cells(manifests: str, cpu: int, gates: str = GATES) -> dict[str, Any]:
    cluster = load_cluster(text=sketch(cpu))
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


def test_a_gang_with_too_few_pods_is_reported_once_and_never_starts() -> None:
    assert [m.partition("needs ")[2] for m in counted(FEW, GATES)] == ["3 pods, and there will never be more than 2"]
    cells = deploy_cells(FEW, 8)
    assert {(cell.verdict, cell.bound, cell.proven) for cell in cells.values()} == {("bad", (0, 0), True)}
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


@pytest.mark.parametrize(
    ("cpu", "note"),
    [
        (8, "its pods start with PodGroup shop/g or not at all, 3 at the same time: they fit in every order"),
        (4, "they fit, but the scheduler may miss the placement"),
        (3, "at most 2 fit"),
    ],
)
def test_why_says_whether_the_gang_fits(cpu: int, note: str) -> None:
    found = manifest_set(documents("set.yaml", MIXED.encode(), is_read), "shop")
    explained = answer(Question("shop/large", feature_gates=GATES), found.inventory, load_cluster(text=sketch(cpu)))
    assert any(note in said for said in explained.notes), explained.notes
    assert not any(said.startswith("not known: what becomes of PodGroup") for said in explained.notes)


@pytest.mark.parametrize(("manifests", "cpu", "verdict"), [(FEW, 8, "bad"), (MIXED, 3, "bad"), (MIXED, 4, "unknown")])
def test_a_loss_does_not_start_a_gang_that_never_starts(manifests: str, cpu: int, verdict: str) -> None:
    cluster, events = load_cluster(text=sketch(cpu)), ["node-loss", "drain"]
    found = simulate(text=manifests, cluster=cluster, events=events, feature_gates=GATES)
    assert {(cell.verdict, cell.bound[0]) for cell in found.outcomes} == {(verdict, 0)}


def test_a_pod_too_large_for_every_node_is_reported_once() -> None:
    cluster = load_cluster(text=sketch(3))
    found = lint(text=GROUP + job("huge", 3, 9), cluster=cluster, feature_gates=GATES, ignore=["api-would-reject"])
    assert [f.rule for f in found.findings] == ["resource-exceeds-any-node"]
