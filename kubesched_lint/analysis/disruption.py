"""How many of a workload's pods its budgets let go at a time."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.controllers.pdb import covers
from kubesched_lint.model.policy import DisruptionBudget
from kubesched_lint.world.world import Member, World


def budgets_of(it: Member) -> Iterator[DisruptionBudget]:
    """Budgets of the set, else of the cluster, that select its pods."""
    labels = it.pod.labels
    live = () if it.world.cluster is None else it.world.cluster.inventory.budgets
    seen = set()
    for budget in (*it.world.manifests.budgets, *live):
        if budget.name not in seen and covers(budget, it.workload.namespace, labels):
            seen.add(budget.name)
            yield budget


def is_linted(budget: DisruptionBudget, world: World) -> bool:
    """Whether a budget is one of the manifests: a finding points at no line of a snapshot."""
    return any(budget is ours for ours in world.manifests.budgets)


def guards_others(budget: DisruptionBudget, it: Member) -> bool:
    """Whether a budget also selects pods of other workloads: then its sums are not this workload's alone."""
    return any(
        w is not it.workload and covers(budget, w.namespace, it.world.member(w).pod.labels)
        for w in it.world.manifests.workloads
    )
