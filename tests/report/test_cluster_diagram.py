"""The picture of the cluster tells of nodes what the rules say of them, and stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched_lint.commands.limits import MOST_DRAWN
from kubesched_lint.commands.lint.cluster_diagram import FULL, TAINTED, UNMATCHED, USABLE, Domain
from kubesched_lint.commands.lint.report_extras import ReportExtras
from kubesched_lint.commands.lint.run import LintRun, Request, checked
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook

ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")

CLUSTER = """apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: node, count: COUNT, zones: [eu-west-1a, eu-west-1b], allocatable: {cpu: "4", memory: 16Gi}, labels: {rack: r1}}
- {name: gpu, count: 1, zones: [eu-west-1c], taints: ["gpu=true:NoSchedule"], allocatable: {cpu: "4", memory: 16Gi}}
- {name: small, count: 1, zones: [eu-west-1c], allocatable: {cpu: "1", memory: 16Gi}, labels: {rack: r2}}
- {name: metal, count: 1, zones: [eu-west-1c], allocatable: {cpu: "8", memory: 16Gi}, labels: {pool: metal}}
"""

WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions: [{key: pool, operator: DoesNotExist}]
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector: {matchLabels: {app: web}}
            topologyKey: KEY
      containers:
      - {name: c, image: "web:1", resources: {requests: {cpu: "2"}}}
"""


def seen(
    folder: Path, *, count: int = 2, replicas: int = 6, key: str = "topology.kubernetes.io/zone"
) -> tuple[LintRun, ReportExtras]:
    manifest, cluster = folder / "web.yaml", folder / "cluster.yaml"
    manifest.write_text(WEB.replace("REPLICAS", str(replicas)).replace("KEY", key))
    cluster.write_text(CLUSTER.replace("COUNT", str(count)))
    run = checked(Request((str(manifest),), str(cluster)), Options(), Rulebook.shipped())
    extras = run.extras()
    assert extras is not None
    return run, extras


def test_each_node_shows_how_far_it_lets_the_workload_in(tmp_path: Path) -> None:
    _, extras = seen(tmp_path)
    diagram = extras.diagram
    levels = {group.names[0]: level for group, level in zip(diagram.groups, diagram.reach[0], strict=True)}
    assert {level for name, level in levels.items() if name.startswith("node")} == {USABLE}
    assert {name.split("-")[0]: level for name, level in levels.items()} | {"node": USABLE} == {
        "node": USABLE,
        "gpu": TAINTED,
        "small": FULL,
        "metal": UNMATCHED,
    }
    assert diagram.counts[0] == {USABLE: 4, FULL: 1, TAINTED: 1, UNMATCHED: 1}


def test_a_finding_lights_the_domains_of_the_term_it_points_to(tmp_path: Path) -> None:
    run, extras = seen(tmp_path)
    diagram = extras.diagram
    at = next(i for i, f in enumerate(run.report.findings) if f.rule == "anti-affinity-exceeds-domains")
    focus = diagram.focuses[at]
    assert focus is not None
    assert focus.key == "topology.kubernetes.io/zone"
    assert diagram.domains[focus] == (
        Domain("eu-west-1a", 2, 2),
        Domain("eu-west-1b", 2, 2),
        Domain("eu-west-1c", 3, 0),
    )
    usable = [domain.value for domain in diagram.domains[focus] if domain.usable]
    assert f"({', '.join(usable)})" in run.report.findings[at].evidence.text, "the picture and the proof say the same"


def test_nodes_without_the_key_are_counted_apart(tmp_path: Path) -> None:
    run, extras = seen(tmp_path, key="rack")
    focus = next(focus for focus in extras.diagram.focuses if focus is not None and focus.key == "rack")
    assert extras.diagram.domains[focus] == (Domain("r1", 4, 4), Domain("r2", 1, 0), Domain("", 2, 0))
    assert run.report.findings


def test_pods_stand_where_they_fit_and_the_rest_waits(tmp_path: Path) -> None:
    run, extras = seen(tmp_path)
    diagram = extras.diagram
    placed = sum(count for group in diagram.groups for _, count in group.pods)
    assert placed == 2
    (waiting,) = diagram.waiting
    assert waiting.pods == 4
    assert "node(s) didn't match pod anti-affinity rules" in waiting.message
    assert run.cluster is not None


def test_a_thousand_alike_nodes_are_few_boxes(tmp_path: Path) -> None:
    _, extras = seen(tmp_path, count=500)
    diagram = extras.diagram
    assert diagram.nodes == 1_003
    assert len(diagram.groups) == 5
    assert {(group.domain, group.count) for group in diagram.groups[:2]} == {("eu-west-1a", 500), ("eu-west-1b", 500)}
    assert all(len(group.names) <= 3 for group in diagram.groups)


def test_few_nodes_are_drawn_one_by_one(tmp_path: Path) -> None:
    _, extras = seen(tmp_path, count=MOST_DRAWN // 2 - 2)
    assert {group.count for group in extras.diagram.groups} == {1}


def test_too_many_pods_are_told_not_drawn(tmp_path: Path) -> None:
    _, extras = seen(tmp_path, count=500, replicas=2_000)
    assert any("pods are not drawn: placing 2,000 on 1,003 nodes" in note for note in extras.diagram.notes)
    assert not any(group.pods for group in extras.diagram.groups)


def test_what_passes_and_what_pools_add_is_marked(tmp_path: Path) -> None:
    sketch = tmp_path / "cluster.yaml"
    sketch.write_text(
        """apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: node, zones: [eu-west-1a], allocatable: {cpu: "1", memory: 4Gi}}
- {name: away, zones: [eu-west-1b], unschedulable: true, allocatable: {cpu: "1", memory: 4Gi}}
pools:
- name: general
  zones: [eu-west-1a]
  shapes: [{name: m6i.large, allocatable: {cpu: 3930m, memory: 7Gi}}]
"""
    )
    (tmp_path / "web.yaml").write_text(WEB.replace("REPLICAS", "1").replace("KEY", "kubernetes.io/hostname"))
    run = checked(Request((str(tmp_path / "web.yaml"),), str(sketch)), Options(), Rulebook.shipped())
    assert run.cluster is not None, run.report.errors
    extras = run.extras()
    assert extras is not None
    marks = {group.names[0]: group.mark for group in extras.diagram.groups}
    assert [mark for name, mark in marks.items() if name.startswith("away")] == ["cordoned"]
    assert [mark for name, mark in marks.items() if not name.startswith(("away", "node"))] == ["to be added"]


def test_there_is_no_panorama_without_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB.replace("REPLICAS", "1").replace("KEY", "rack"))
    assert checked(Request((str(tmp_path / "web.yaml"),)), Options(), Rulebook.shipped()).extras() is None


def test_where_not_all_workloads_are_told_those_with_findings_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubesched_lint.commands.lint.report_extras.MOST_ROWS", 10)
    container = 'containers: [{name: c, image: "a:1", resources: {requests: {cpu: 1m}}}]'
    calm = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: calm{i}, namespace: shop}}\nspec:\n  {container}\n"
        for i in range(11)
    )
    web = WEB.replace("REPLICAS", "3").replace("KEY", "topology.kubernetes.io/zone")
    (tmp_path / "web.yaml").write_text("---\n".join((*calm, web)))
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("COUNT", "12"))
    run = checked(Request((str(tmp_path / "web.yaml"),), str(tmp_path / "cluster.yaml")), Options(), Rulebook.shipped())
    extras = run.extras()
    assert extras is not None
    assert extras.simulation is not None
    drawn = {extras.simulation.workloads[row.number].name for row in extras.simulation.rows}
    assert len(drawn) == 10
    assert "web" in drawn, "its findings bring it in"
    assert any("10 of 12 workloads" in note for note in extras.notes)


@pytest.mark.parametrize("findings", [0, 3])
def test_the_same_run_gives_the_same_picture(tmp_path: Path, findings: int) -> None:
    run, extras = seen(tmp_path, replicas=1 + findings)
    again = run.extras()
    assert again is not None
    assert again.diagram == extras.diagram
