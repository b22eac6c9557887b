"""What a disruption budget that allows nothing says of the drain of any one node."""

from __future__ import annotations

from kubesched_lint.lifecycle.verdicts import BAD
from tests.lifecycle.simulated import cell, other, report_of, sketch, workload

KEEP = other("PodDisruptionBudget", "keep", "policy/v1", spec={"maxUnavailable": 0})
KEEP["spec"]["selector"] = {"matchLabels": {"app": "web"}}


def test_it_stops_the_drain_of_a_node_that_has_pods_and_counting_proves_no_more():
    """Two pods may both be on one of two nodes, and the other is drained without asking the budget."""
    result = report_of(sketch(2, "a"), workload("Deployment", "web", 2), KEEP, events=("drain",), states=1)
    drained = cell(result, "web", "drain")
    assert (drained.verdict, drained.proven, drained.text) == (BAD, False, "blocked (PDB keep)")
