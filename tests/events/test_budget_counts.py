"""Which budgets a phase counts."""

from __future__ import annotations

from types import SimpleNamespace

from kubesched_lint.engine.events.states.states import PodTypes
from kubesched_lint.engine.events.transitions.budget_counts import BudgetCounts
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.model.workloads.workload import Workload


def _budget(app: str) -> DisruptionBudget:
    return DisruptionBudget("shop", app, Selector((Requirement("app", "In", (app,)),)), min_available=1)


class Phase(SimpleNamespace):
    """A phase with bound pods of these apps: (app, number of pods) pairs."""

    def __init__(self, *apps: tuple[str, int]) -> None:
        super().__init__(pod_types=PodTypes(), desired_states=(), model=self, bound={})
        for app, count in apps:
            self.add(app, count)

    def add(self, app: str, count: int) -> None:
        pod = Pod("shop", {"app": app})
        number = self.pod_types.join(Workload("ReplicaSet", "shop", app, pod, replicas=count), pod, None)
        self.bound[self.pod_types.slot(number, 0)] = count

    def pod(self, slot: int) -> Pod:
        return self.pod_types.joined[slot]

    def counts(self, state: object) -> tuple[dict[int, int], dict[int, int]]:
        return self.bound, {}


def test_a_budget_that_selects_no_pod_is_not_counted() -> None:
    budgets = [_budget(app) for app in ("web", "cache", "queue")]
    counts = BudgetCounts(Phase(("web", 3), ("db", 1)), budgets)
    assert [(budget.name, left) for budget, left in counts.allowed(None)] == [("web", 2)]
    assert counts.counted(budgets[1], None) == (0, 0)


def test_pods_that_appear_later_are_counted() -> None:
    phase = Phase(("web", 3))
    web, db = _budget("web"), _budget("db")
    counts = BudgetCounts(phase, [web, db])
    assert counts.guards(0) == (web,)
    phase.add("db", 2)
    assert counts.guards(1) == (db,)
    assert [(budget.name, left) for budget, left in counts.allowed(None)] == [("web", 2), ("db", 1)]


def test_without_budgets_nothing_guards() -> None:
    counts = BudgetCounts(Phase(("web", 3)), [])
    assert (counts.guards(0), list(counts.allowed(None))) == ((), [])
