"""Which budgets select a workload: as one that asks each pair would say, and without asking each pair."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.controllers.bounds import covers
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.model.workloads.workload import Custom, Workload
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining import disruption
from kubesched_lint.explaining.disruption import (
    Covering,
    budgets_of,
    budgets_of_no_other,
    first_and_last_budget,
    is_linted,
    unscaled_budgets,
)

REQUIREMENTS = (
    Requirement("app", "In", ("a",)),
    Requirement("app", "In", ("a", "b")),
    Requirement("tier", "In", ("x",)),
    Requirement("tier", "Exists"),
    Requirement("tier", "NotIn", ("x",)),
    Requirement("app", "DoesNotExist"),
    Requirement("tier", "Equals", ("x",)),  # no operator of the API: it selects nothing
)


def budget(name: str, namespace: str, *requirements: Requirement, absent: bool = False) -> DisruptionBudget:
    return DisruptionBudget(namespace, name, selector=None if absent else Selector(requirements))


def workload(name: str, namespace: str, labels: dict[str, str]) -> Workload:
    return Workload("Deployment", namespace, name, Pod(namespace, labels), replicas=2)


def drawn(seed: int, most: int = 8, live: str = "b") -> Scenario:
    random = Random(seed)

    def budgets(called: str = "b") -> Iterator[DisruptionBudget]:
        for number in range(random.randint(0, most)):
            chosen = random.sample(REQUIREMENTS, random.randint(0, 2))
            yield budget(f"{called}{number}", random.choice("mn"), *chosen, absent=random.random() < 0.1)

    def labels() -> dict[str, str]:
        return {key: random.choice(values) for key, values in (("app", "abc"), ("tier", "xy")) if random.random() < 0.8}

    workloads = tuple(workload(f"w{n}", random.choice("mn"), labels()) for n in range(6))
    cluster = Cluster(Inventory(budgets=tuple(budgets(live))))
    return Scenario(Inventory(workloads=workloads, budgets=tuple(budgets())), cluster)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("live", ["b", "live"])
def test_the_first_and_the_last_are_those_of_all(seed: int, live: str) -> None:
    """Also where a budget of the cluster has the name of one of the set, so that the pods of both are asked."""
    scenario = drawn(seed, most=20, live=live)
    for one in scenario.manifests.workloads:
        it = scenario.member(one)
        every = tuple(budgets_of(it))
        ours = [budget for budget in every if is_linted(budget, scenario)]
        assert first_and_last_budget(it, 3) == Covering(len(every), every[:3], ours[-1] if ours else None)


@pytest.mark.parametrize("seed", range(60))
def test_the_index_says_what_each_pair_says(seed: int) -> None:
    scenario = drawn(seed)
    assert scenario.cluster is not None
    every = (*scenario.manifests.budgets, *scenario.cluster.inventory.budgets)
    for one in scenario.manifests.workloads:
        it = scenario.member(one)
        named: dict[str, DisruptionBudget] = {}
        for found in every:
            if covers(found, one.namespace, it.pod.labels):
                named.setdefault(found.name, found)
        assert list(budgets_of(it)) == list(named.values())
        others = [(w.namespace, scenario.member(w).pod.labels) for w in scenario.manifests.workloads if w is not one]
        alone = [b for b in named.values() if not any(covers(b, namespace, labels) for namespace, labels in others)]
        assert list(budgets_of_no_other(it)) == alone
        for found in named.values():
            assert is_linted(found, scenario) == any(found is ours for ours in scenario.manifests.budgets)


@pytest.mark.parametrize(
    ("kinds", "bound", "found"),
    [
        (("Job",), {"max_unavailable": 1}, {"Job": "Job"}),
        (("CronJob", "Job"), {"min_available": "50%"}, {"CronJob": "Job", "Job": "CronJob"}),
        (("Deployment", "Job"), {"max_unavailable": "10%"}, {"Job": "Deployment"}),
        (("DaemonSet", "Job", "StatefulSet"), {"max_unavailable": 1}, {"DaemonSet": "Job", "Job": "StatefulSet"}),
        (("DaemonSet",), {"max_unavailable": 1}, {}),
        (("DaemonSet", "RayCluster"), {"max_unavailable": 1}, {"DaemonSet": "RayCluster"}),
        (("RayCluster",), {"max_unavailable": 1}, {}),
        (("Pod",), {"max_unavailable": 1}, {"Pod": "Pod"}),
        (("Pod", "Job"), {"max_unavailable": 1}, {"Job": "Pod"}),
        (("Pod", "Deployment"), {"max_unavailable": 1}, {}),
        (("Pod", "runs"), {"max_unavailable": 1}, {}),
        (("Job", "none"), {"max_unavailable": 1}, {}),
        (("Deployment", "Job"), {"min_available": 1}, {}),
        (("Deployment", "Job"), {"max_unavailable": "0%"}, {}),
        (("Deployment", "Job"), {"min_available": "100%"}, {}),
        (("Deployment", "Job"), {}, {}),
    ],
)
def test_a_budget_needs_a_scale_of_each_controller(kinds, bound, found) -> None:
    """getExpectedScale of ``pkg/controller/disruption``: it fails at the first controller without one."""
    pod, custom = Pod("m", {"app": "a"}), Custom(ObjectRef("RayCluster", "m", "RayCluster"), owner="RayCluster")
    workloads = tuple(
        Workload("ReplicaSet", "m", kind, pod, custom=custom)
        if kind == "RayCluster"
        else Workload(kind, "m", kind, pod, replicas=int("none" not in kinds and kind != "DaemonSet"))
        for kind in kinds
        if kind not in ("none", "runs")
    )
    running = [BoundPod("other", "n1", pod, owner=Owner("ReplicaSet", "other"))] if "runs" in kinds else []
    budgets = (DisruptionBudget("m", "all", Selector((REQUIREMENTS[0],)), **bound),)
    scenario = Scenario(Inventory(workloads=workloads, budgets=budgets), Cluster(Inventory(pods=tuple(running))))
    each = {one.name: [u.hits.name for u in unscaled_budgets(scenario.member(one))] for one in workloads}
    assert {name: hits[0] for name, hits in each.items() if hits} == found


def asked(count: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a budget is held against a pod where each of ``count`` workloads of a namespace has its own."""
    calls = 0

    def counted(*arguments: Any) -> bool:
        nonlocal calls
        calls += 1
        return covers(*arguments)

    monkeypatch.setattr(disruption, "covers", counted)
    workloads = tuple(workload(f"w{n}", "shop", {"app": f"w{n}", "tier": "x"}) for n in range(count))
    budgets = tuple(budget(f"w{n}", "shop", Requirement("app", "In", (f"w{n}",))) for n in range(count))
    scenario = Scenario(Inventory(workloads=workloads, budgets=budgets))
    for one in workloads:
        (found,) = budgets_of_no_other(scenario.member(one))
        assert found.name == one.name
    return calls


def test_pairs_are_not_asked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(60, monkeypatch) <= 2 * 60
    assert asked(240, monkeypatch) <= 2 * 240
