"""A preempted pod of others that surely runs again takes room from the set, wherever it goes."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.others.returning import returning_beside_set
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import asking, other, sketch, workload
from tests.events.test_guests import guest
from tests.hostile.shapes import stream

TOP = other("PriorityClass", "top", "scheduling.k8s.io/v1", value=2000)
SET = (
    TOP,
    workload("DaemonSet", "agent", None, asking("100m", priorityClassName="top")),
    workload("Deployment", "web", 4, asking("900m")),
    workload("Deployment", "db", 4, asking("900m")),
)
"""7,400m of the 8,000m of two nodes."""


def rules(owner: str = "ReplicaSet dns", priority: int = 1000, cpu: str = "800m", *more: dict[str, Any]) -> set[str]:
    cluster = sketch(2, "a", "4", "110", guest("dns", "w-a-1", cpu, owner, priority))
    found = lint(objects=[*SET, *more], cluster=cluster).findings
    return {finding.rule for finding in found if finding.severity.word == "error"}


def test_a_set_does_not_fit_beside_a_pod_that_moves_and_runs_again():
    assert "set-does-not-fit" in rules()
    assert "set-does-not-fit" not in rules(cpu="500m"), "that has room"


@pytest.mark.parametrize(
    ("owner", "priority", "more"),
    [
        ("", 1000, ()),
        ("CloneSet dns", 1000, ()),
        ("ReplicaSet dns", -5, ()),
        ("ReplicaSet dns", 1000, (workload("Deployment", "big", 2, asking("3800m", priorityClassName="top")),)),
    ],
    ids=["nobody makes it again", "nobody knows", "the set preempts it", "its like may fill the nodes"],
)
def test_a_pod_that_may_stay_away_takes_no_room_for_sure(owner, priority, more):
    plain = sketch(2, "a", "4")
    alone = {f.rule for f in lint(objects=[*SET, *more], cluster=plain).findings if f.severity.word == "error"}
    assert ("set-does-not-fit" in rules(owner, priority, "800m", *more)) is ("set-does-not-fit" in alone)


def test_the_set_is_counted_once_against_all_pods_that_move(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 20
    there = [guest(f"dns{i}", "w-a-1", f"{i + 1}m", f"ReplicaSet dns{i}", 1000) for i in range(count)]
    manifests = [*SET, *(workload("Deployment", f"w{i}", 1, asking("1m")) for i in range(count))]
    found = manifest_set(documents("set.yaml", stream(manifests).encode(), is_read), "default")
    scenario = Scenario(found.inventory, sketch(2, "a", "4", "110", *there))
    staying_beside_set(scenario)
    asked: list[object] = []
    real = Scenario.member

    def member(scenario: Scenario, workload: Workload) -> Member:
        asked.append(workload)
        return real(scenario, workload)

    monkeypatch.setattr(Scenario, "member", member)
    assert len(returning_beside_set(scenario)) == count
    assert len(asked) <= 2 * len(manifests)
