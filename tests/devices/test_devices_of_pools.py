"""Nodes that a pool could add have the devices that the pool states; if it states none, they are unknown."""

from __future__ import annotations

import pytest

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodepools.known import KnownGroups
from kubesched_lint.engine.model.devices.devices import Device, DeviceClaim, DeviceOffer
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.scenario.devices.devices import devices_unknown
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.devices.requests import must_know_devices
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from tests.devices.sets import GPU_CLASS, manifests_of, template, using
from tests.events.simulated import asking, workload

HEAD = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
kinds: [ResourceClaim, ResourceClaimTemplate, DeviceClass]
"""
POOL = """\
nodes:
- {{name: worker, zones: [a], allocatable: {{cpu: "4", memory: 8Gi}}, devices: []}}
pools:
- {{name: p, zones: [a], shapes: [m5.xlarge]{devices}}}
"""
GPUS = ", devices: [{class: gpu, driver: gpu.example.com, count: 2}]"


def scenario_with(devices: str, more: str = "") -> Scenario:
    cluster = cluster_from([("c.yaml", (HEAD + (POOL + more).format(devices=devices)).encode())], "c.yaml")
    return Scenario(manifests_of(template(count=1), GPU_CLASS, using(5)).inventory, cluster)


def test_devices_of_a_pool_that_states_none_are_unknown() -> None:
    assert devices_unknown(scenario_with("")) == "which devices new nodes of pool p have"


def test_a_pool_that_no_such_pod_may_use_need_not_state_its_devices() -> None:
    closed = '- {{name: q, zones: [a], shapes: [m5.xlarge], taints: ["t:NoSchedule"]}}\n'
    scenario = scenario_with(GPUS, closed)
    assert not devices_unknown(scenario)
    must_know_devices(scenario.member(scenario.manifests.workloads[0]))
    assert devices_unknown(scenario_with("", closed.replace("taints", "devices: [], taints"))).endswith("pool p have")


STATED = "new nodes of pool p have the devices that the cluster file states"


def test_verdicts_name_the_assumption_about_devices_of_new_nodes() -> None:
    cluster = cluster_from([("c.yaml", (HEAD + POOL.format(devices=GPUS)).encode())], "c.yaml")
    claims = manifests_of(template(count=3), GPU_CLASS, using(5))
    report, _ = lint(claims, cluster, Options(), [Rulebook.shipped().get("devices-too-few")])
    assert [f.evidence.assumes[-1].partition(", and ")[2] for f in report.findings] == [STATED]
    assert f"assumed: {STATED}" in report.summary.notes
    (row,) = simulate(claims, cluster, Options(), ["deploy"]).rows
    assert STATED in row.cells[0].assumes
    assert f"assumed: {STATED}" in answer(Question("train"), claims.inventory, cluster).notes
    other = manifests_of(workload("Deployment", "web", 1, asking("100m")))
    assert STATED not in simulate(other, cluster, Options(), ["deploy"]).rows[0].cells[0].assumes
    assert f"assumed: {STATED}" not in answer(Question("web"), other.inventory, cluster).notes


@pytest.mark.parametrize(
    ("devices", "kind", "nodes"),
    [(", devices: []", "no pool can help", 0), (GPUS, "fits after growing", 3)],
)
def test_a_pool_adds_as_many_nodes_as_its_devices_need(devices: str, kind: str, nodes: int) -> None:
    scenario = scenario_with(devices)
    assert not devices_unknown(scenario)
    (verdict,) = growth_plan(scenario).verdicts
    assert (verdict.kind, sum(each.count for each in verdict.added)) == (kind, nodes)


def test_there_are_potential_nodes_for_every_pod_on_a_node_of_its_own() -> None:
    """A claim may take all devices of a node: no count by resources tells how many pods share one."""
    assert len(scenario_with(GPUS).potential.nodes) > 5


def test_pools_of_other_devices_are_other_kinds_of_nodes() -> None:
    two = POOL + "- {{name: q, zones: [a], shapes: [m5.xlarge], devices: []}}\n"
    cluster = cluster_from([("c.yaml", (HEAD + two.format(devices=GPUS)).encode())], "c.yaml")
    scenario = Scenario(manifests_of(template(count=1), GPU_CLASS, using(2)).inventory, cluster)
    assert {scenario.potential.by_name[node.name].template.pool.name for node in scenario.potential.nodes} == {"p", "q"}
    (verdict,) = growth_plan(scenario).verdicts
    assert [each.pool for each in verdict.added] == ["p"]


@pytest.mark.parametrize(("field", "known"), [("devices: [{driver: d}]", True), ("count: 1", False)])
def test_a_group_that_only_nodes_show_has_the_devices_of_its_entry(field: str, known: bool) -> None:
    labels = "{eks.amazonaws.com/nodegroup: g}"
    text = f"{HEAD}nodes:\n- {{name: x, zones: [a], labels: {labels}, {field}}}\n"
    (group,) = KnownGroups(cluster_from([("c.yaml", text.encode())], "c.yaml")).inferred
    assert (group.devices is not None) == known


def test_announced_devices_are_added_once_and_keep_the_claims() -> None:
    offer = DeviceOffer("d", (Device("g"),))
    nodes = [Node("a", devices=(offer,)), Node("b")]
    empty = Devices()
    found = empty.announced_on(nodes)
    assert [each.name for each in found.slices] == ["a-d"]
    assert found.announced_on(nodes) is found
    assert empty.announced_on(nodes[1:]) is empty
    claimed = empty.with_claims([DeviceClaim("ns", "c")])
    assert claimed.announced_on(nodes).claims.keys() == {("ns", "c")}
    assert claimed.announced_on(nodes).lasting is found.lasting is not empty.lasting
