"""How many of a workload's pods its budgets let go at a time."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.controllers.pdb import covers
from kubesched_lint.model.labels import Labels
from kubesched_lint.model.policy import DisruptionBudget
from kubesched_lint.model.workload import Workload
from kubesched_lint.world.world import Member, World


def budgets_of(it: Member) -> Iterator[DisruptionBudget]:
    """Budgets of the set, else of the cluster, that select its pods."""
    seen = set()
    for budget in it.world.memo(_Budgets).that_cover(it.workload.namespace, it.pod.labels):
        if budget.name not in seen:
            seen.add(budget.name)
            yield budget


def is_linted(budget: DisruptionBudget, world: World) -> bool:
    """Whether a budget is one of the manifests: a finding points at no line of a snapshot."""
    return id(budget) in world.memo(_linted)


def guards_others(budget: DisruptionBudget, it: Member) -> bool:
    """Whether a budget also selects pods of other workloads: then its sums are not this workload's alone."""
    return any(workload is not it.workload for workload in it.world.memo(_guarded).get(id(budget), ()))


class _Budgets:
    """The budgets of a world by a label that each asks for, so that a pod is held against few of them."""

    def __init__(self, world: World) -> None:
        live = () if world.cluster is None else world.cluster.inventory.budgets
        self._all = (*world.manifests.budgets, *live)
        self._by_label: dict[tuple[str, str, str], list[int]] = {}
        self._others: dict[str, list[int]] = {}
        for number, budget in enumerate(self._all):
            label = _asked_for(budget)
            if label is None:
                self._others.setdefault(budget.namespace, []).append(number)
            else:
                self._by_label.setdefault((budget.namespace, *label), []).append(number)

    def that_cover(self, namespace: str, labels: Labels) -> Iterator[DisruptionBudget]:
        """Budgets that select a pod, in their order: those of the set first."""
        found = [*self._others.get(namespace, ())]
        for key, value in labels.items():
            found += self._by_label.get((namespace, key, value), ())
        for number in sorted(found):
            if covers(self._all[number], namespace, labels):
                yield self._all[number]


def _asked_for(budget: DisruptionBudget) -> tuple[str, str] | None:
    """A label, key and value, without which the budget selects no pod; None where no single one is needed."""
    requirements = () if budget.selector is None else budget.selector.requirements
    return next(((r.key, r.values[0]) for r in requirements if r.operator == "In" and len(r.values) == 1), None)


def _guarded(world: World) -> dict[int, list[Workload]]:
    """Budget, by its ``id``, → workloads of the set whose pods it selects."""
    found: dict[int, list[Workload]] = {}
    for workload in world.manifests.workloads:
        labels = world.member(workload).pod.labels
        for budget in world.memo(_Budgets).that_cover(workload.namespace, labels):
            found.setdefault(id(budget), []).append(workload)
    return found


def _linted(world: World) -> frozenset[int]:
    return frozenset(map(id, world.manifests.budgets))
