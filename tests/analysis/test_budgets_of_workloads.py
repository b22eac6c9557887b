"""Which budgets select a workload: as one that asks each pair would say, and without asking each pair."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kubesched_lint.analysis import disruption
from kubesched_lint.analysis.disruption import budgets_of, guards_others, is_linted
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.controllers.bounds import covers
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.labels import Requirement, Selector
from kubesched_lint.model.pod import Pod
from kubesched_lint.model.policy import DisruptionBudget
from kubesched_lint.model.workload import Workload
from kubesched_lint.world.world import World

REQUIREMENTS = (
    Requirement("app", "In", ("a",)),
    Requirement("app", "In", ("a", "b")),
    Requirement("tier", "In", ("x",)),
    Requirement("tier", "Exists"),
    Requirement("tier", "NotIn", ("x",)),
    Requirement("app", "DoesNotExist"),
)


def budget(name: str, namespace: str, *requirements: Requirement, absent: bool = False) -> DisruptionBudget:
    return DisruptionBudget(namespace, name, selector=None if absent else Selector(requirements))


def workload(name: str, namespace: str, labels: dict[str, str]) -> Workload:
    return Workload("Deployment", namespace, name, Pod(namespace, labels), replicas=2)


def drawn(seed: int) -> World:
    random = Random(seed)

    def budgets() -> Iterator[DisruptionBudget]:
        for number in range(random.randint(0, 8)):
            chosen = random.sample(REQUIREMENTS, random.randint(0, 2))
            yield budget(f"b{number}", random.choice("mn"), *chosen, absent=random.random() < 0.1)

    def labels() -> dict[str, str]:
        return {key: random.choice(values) for key, values in (("app", "abc"), ("tier", "xy")) if random.random() < 0.8}

    workloads = tuple(workload(f"w{n}", random.choice("mn"), labels()) for n in range(6))
    cluster = Cluster(Inventory(budgets=tuple(budgets())))
    return World(Inventory(workloads=workloads, budgets=tuple(budgets())), cluster)


@pytest.mark.parametrize("seed", range(60))
def test_the_index_says_what_each_pair_says(seed: int) -> None:
    world = drawn(seed)
    assert world.cluster is not None
    every = (*world.manifests.budgets, *world.cluster.inventory.budgets)
    for one in world.manifests.workloads:
        it = world.member(one)
        named: dict[str, DisruptionBudget] = {}
        for found in every:
            if covers(found, one.namespace, it.pod.labels):
                named.setdefault(found.name, found)
        assert list(budgets_of(it)) == list(named.values())
        for found in named.values():
            others = [w for w in world.manifests.workloads if w is not one]
            held = any(covers(found, w.namespace, world.member(w).pod.labels) for w in others)
            assert guards_others(found, it) == held
            assert is_linted(found, world) == any(found is ours for ours in world.manifests.budgets)


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
    world = World(Inventory(workloads=workloads, budgets=budgets))
    for one in workloads:
        (found,) = budgets_of(world.member(one))
        assert not guards_others(found, world.member(one))
    return calls


def test_pairs_are_not_asked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(60, monkeypatch) <= 2 * 60
    assert asked(240, monkeypatch) <= 2 * 240
