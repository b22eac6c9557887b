"""What a disruption budget that allows nothing says of the drain of any one node."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.events.answers.cells import BAD, FINE, UNKNOWN
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.pod import BoundPod, Owner
from tests.events.simulated import HOSTNAME, asking, cell, other, report_of, sketch, workload

KEEP = other("PodDisruptionBudget", "keep", "policy/v1", spec={"maxUnavailable": 0})
KEEP["spec"]["selector"] = {"matchLabels": {"app": "web"}}


def test_it_stops_the_drain_of_a_node_that_has_pods_and_counting_proves_no_more():
    """Two pods may both be on one of two nodes, and the other is drained without asking the budget."""
    result = report_of(sketch(2, "a"), workload("Deployment", "web", 2), KEEP, events=("drain",), states=1)
    drained = cell(result, "web", "drain")
    assert (drained.verdict, drained.proven, drained.text) == (BAD, False, "blocked (PDB keep)")


def test_a_budget_that_a_replacement_satisfies_lets_the_drain_go_on():
    """Five pods spread over three nodes: after the first eviction the drain waits for the new pod, and goes on.

    The spread counts the empty node, so the last pod stays Pending, which no budget causes.
    """
    spread = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
    spec = {"topologySpreadConstraints": [{**spread, "labelSelector": {"matchLabels": {"app": "web"}}}]}
    one = other("PodDisruptionBudget", "keep", "policy/v1", spec={**KEEP["spec"], "maxUnavailable": 1})
    drained = cell(report_of(sketch(1), workload("Deployment", "web", 5, spec), one, events=("drain",)), "web", "drain")
    assert (drained.verdict, drained.text, drained.stuck) == (BAD, "4/5 −1", False)
    assert "gives up" not in " ".join(drained.worst.lines)


@pytest.mark.parametrize("holds", [0, 3, 5])
def test_the_trace_names_the_node_on_which_the_pod_runs(holds: int) -> None:
    """The search swaps equal nodes; a reader knows where the pods run."""
    web, cluster = workload("ReplicaSet", "web", 1), sketch(2)
    name = cluster.inventory.nodes[holds].name
    pod = BoundPod("web-a", name, decode_workload(web, "default").pod, Owner("ReplicaSet", "web"))
    inventory = replace(cluster.inventory, pods=(pod,))
    drained = cell(report_of(replace(cluster, inventory=inventory), web, KEEP, events=("drain",)), "web", "drain")
    assert drained.worst is not None
    assert drained.worst.lines[-1] == f"{name} is drained: the drain gives up"
    assert drained.worst.where == name


@pytest.mark.parametrize(
    ("beside", "bound", "verdict"),
    [
        (workload("DaemonSet", "agent", None), {"maxUnavailable": 1}, BAD),  # the controller asks for its scale
        (workload("DaemonSet", "agent", None), {"minAvailable": 1}, FINE),
        (workload("Deployment", "huge", 1, asking("64")), {"maxUnavailable": 1}, BAD),  # it is missing
        (workload("Deployment", "small", 1), {"maxUnavailable": 1}, FINE),
        (workload("Deployment", "small", 1), {"minAvailable": 2}, FINE),
    ],
)
def test_a_budget_counts_the_pods_of_all_that_it_selects(beside, bound, verdict) -> None:
    """The other workload shares nothing with the first but the budget, so each alone would be judged apart."""
    all_of_them = other("PodDisruptionBudget", "keep", "policy/v1", spec={"selector": {}, **bound})
    result = report_of(sketch(2, "a"), workload("Deployment", "web", 2), beside, all_of_them, events=("drain",))
    assert cell(result, "web", "drain").verdict == verdict


def test_a_drain_may_go_on_for_ever() -> None:
    """Its pods tolerate the cordon: each comes back before the budget lets the next go, and no state is the last."""
    budget = other("PodDisruptionBudget", "keep", "policy/v1", spec={**KEEP["spec"], "maxUnavailable": 1})
    web = workload("Deployment", "web", 4, asking("1", tolerations=[{"operator": "Exists"}]))
    drained = cell(report_of(sketch(1, "a"), web, budget, events=("drain",)), "web", "drain")
    assert (drained.verdict, drained.proven) == (UNKNOWN, False)
