"""How many of a workload's pods its budgets let go at a time."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.controllers.pdb import covers
from kubesched_lint.model.policy import DisruptionBudget
from kubesched_lint.model.workload import Workload


def budgets_of(workload: Workload, facts: Facts) -> Iterator[DisruptionBudget]:
    """Budgets of the set, else of the cluster, that select its pods."""
    labels = facts.pod(workload).labels
    live = () if facts.cluster is None else facts.cluster.inventory.budgets
    seen = set()
    for budget in (*facts.manifests.budgets, *live):
        if budget.name not in seen and covers(budget, workload.namespace, labels):
            seen.add(budget.name)
            yield budget


def is_linted(budget: DisruptionBudget, facts: Facts) -> bool:
    """Whether a budget is one of the manifests: a finding points at no line of a snapshot."""
    return any(budget is ours for ours in facts.manifests.budgets)


def guards_others(budget: DisruptionBudget, workload: Workload, facts: Facts) -> bool:
    """Whether a budget also selects pods of other workloads: then its sums are not this workload's alone."""
    return any(
        w is not workload and covers(budget, w.namespace, facts.pod(w).labels) for w in facts.manifests.workloads
    )
