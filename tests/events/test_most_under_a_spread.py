"""The most pods under a hard spread constraint: rules and matrix count the pods of others alike."""

from __future__ import annotations

import pytest

from kubesched_lint import load_cluster
from kubesched_lint.checks import spread_tainted_domain_blocks, spread_unsatisfiable
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.findings import Severity
from tests import drawn as st
from tests.drawn import given
from tests.events import simulated
from tests.events.enclosed import is_enclosed, thorough
from tests.events.made_sets import nodes
from tests.events.made_sets import workload as made

ZONE = "topology.kubernetes.io/zone"
SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
NODES = f"""
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {{name: a1, labels: {{{ZONE}: a}}}}
  spec: {{taints: [{{key: gpu, effect: NoSchedule}}]}}
  status: {{allocatable: {{cpu: "4", pods: "110"}}}}
- apiVersion: v1
  kind: Node
  metadata: {{name: b1, labels: {{{ZONE}: b}}}}
  status: {{allocatable: {{cpu: "4", pods: "110"}}}}
- apiVersion: v1
  kind: Pod
  metadata: {{name: other, namespace: default, labels: {{app: web}}}}
  spec: {{OF_OTHER, tolerations: [{{operator: Exists}}], containers: [{{name: c, image: x}}]}}
"""


def _web(replicas: int):
    spec = {"topologySpreadConstraints": [SPREAD]}
    return decode_workload(simulated.workload("Deployment", "web", replicas, spec), "default")


def _scenario(other: str, replicas: int) -> Scenario:
    return Scenario(Inventory(workloads=(_web(replicas),)), load_cluster(text=NODES.replace("OF_OTHER", other)))


def test_pods_of_others_that_a_spread_counts_take_room_in_the_matrix_as_in_the_rule():
    """One pod of others in zone b and none in zone a, which is tainted: no pod of web is within maxSkew."""
    scenario = _scenario("nodeName: b1", 1)
    (hazard,) = spread_tainted_domain_blocks.check(scenario.member(scenario.manifests.workloads[0]))
    assert hazard.values["pending"] == 1
    bounds = count(simulated_set_of(scenario).member(0), "deploy")
    assert (bounds.most.pods, bounds.is_bad) == (0, True), bounds.most.why
    assert (
        count(simulated_set_of(scenario).member(0), "node-loss").most.pods == 1
    )  # the other pod may come back elsewhere


def test_no_error_rests_on_a_waiting_pod_of_others_that_may_fill_the_least_full_domain():
    """If it lands in zone a, zone b takes a second pod."""
    scenario = _scenario("nodeSelector: {topology.kubernetes.io/zone: a}", 2)
    (hazard,) = spread_tainted_domain_blocks.check(scenario.member(scenario.manifests.workloads[0]))
    assert hazard.severity is Severity.WARNING
    assert count(simulated_set_of(scenario).member(0), "deploy").most.pods == 2


@pytest.mark.parametrize(("runs", "severity"), [(False, None), (True, None)])
def test_a_spread_that_running_pods_do_not_widen_is_as_severe_beside_them(runs, severity):
    """Zone a is tolerated, and holds one pod by its cpu; the rule said a warning wherever any pod ran."""
    text = NODES.replace("  spec: {taints: [{key: gpu, effect: NoSchedule}]}\n", "").replace('cpu: "4"', 'cpu: "1"', 1)
    text = text.replace("labels: {app: web}", "labels: {app: db}").replace("OF_OTHER", "nodeName: b1")
    text = text if runs else text[: text.index("- apiVersion: v1\n  kind: Pod")]
    spec = simulated.asking("1", topologySpreadConstraints=[SPREAD])
    web = decode_workload(simulated.workload("Deployment", "web", 4, spec), "default")
    scenario = Scenario(Inventory(workloads=(web,)), load_cluster(text=text))
    (hazard,) = spread_unsatisfiable.check(scenario.member(web))
    assert (hazard.values["pending"], hazard.severity) == (1, severity)


@st.composite
def others(draw, names):
    """A few pods of nobody or of another controller that selectors of ``web`` may count; some wait or terminate."""
    pods = []
    for number in range(draw(st.integers(1, 3))):
        labels, cpu = {"app": draw(st.sampled_from(["web", "db"]))}, draw(st.sampled_from([0, 600]))
        pod = Pod("default", labels, requests={"cpu": cpu})
        owner = draw(st.sampled_from([None, Owner("ReplicaSet", "other")]))
        pods.append(BoundPod(f"other-{number}", draw(st.sampled_from(names)), pod, owner))
    return tuple(pods)


@thorough
@given(st.data(), nodes(), made("web", ("Deployment", "StatefulSet")), st.sampled_from(EVENTS))
def test_bounds_enclose_every_end_beside_pods_of_others_that_selectors_count(data, cluster, web, event):
    pods = data.draw(others([node.name for node in cluster]))
    is_enclosed(SimulatedSet(cluster, Inventory(pods=pods), (web,)), event)
