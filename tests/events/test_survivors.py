"""Pods on other nodes survive a loss: so many run in any case, unless somebody may preempt them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kubesched_lint.engine.bounds.counting import Counting
from kubesched_lint.engine.events.start.groups import group_in
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import ZONE, Value, asking, other, sketch, workload


def spread(key: str, skew: int = 1) -> Value:
    selector = {"matchLabels": {"app": "db"}}
    constraint = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint]}


EVENTS = ("node-loss", "zone-loss", "drain")


CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {}}}}


def least(rule: Value, *objects: Value, large: int, **more: Any) -> list[int]:
    """Return the least of 3 pods of db after each event.

    Six nodes in three zones, each with room for one pod: three of db, whose volumes hold it in a zone, and so many of
    another workload with ``more`` in its spec. ``objects`` are in the cluster.
    """
    values = [
        other("PriorityClass", "eager", "scheduling.k8s.io/v1", value=1_000),
        workload("StatefulSet", "db", 3, {**asking("3"), **rule}, volumeClaimTemplates=[CLAIM]),
        workload("Deployment", "large", large, {**asking("3"), **more}),
    ]
    manifests = manifest_set(documents("m.yaml", yaml.safe_dump_all(values).encode(), is_read), "default").inventory
    simulated = simulated_set_of(Scenario(manifests, sketch(2, "abc", "4", "110", *objects)))
    db = next(member for member in simulated.members if member.workload.name == "db")
    counting = Counting(simulated)
    return [counting.bounds(event, group_in(db, event), db.number).least.pods for event in EVENTS]


@pytest.mark.parametrize(
    ("rule", "pods"),
    [(spread(ZONE), [2, 2, 2]), (spread(ZONE, skew=2), [1, 1, 1]), (spread(ZONE, skew=5), [0, 0, 0])],
    ids=["one-in-each-zone", "two-in-a-zone", "all-in-a-zone"],
)
def test_a_loss_takes_what_rules_let_stand_in_one_place(rule: Value, pods: list[int]) -> None:
    """The other pod may fill the rest of a zone, where a lost pod then waits."""
    assert least(rule, large=1) == pods


def test_who_may_be_preempted_after_a_loss_is_sure_of_nothing() -> None:
    in_a = {ZONE: "a"}
    assert least(spread(ZONE), large=1, nodeSelector=in_a)[0] == 2
    assert least(spread(ZONE), large=1, nodeSelector=in_a, priorityClassName="eager")[0] == 0
    critical = other("Pod", "dns", spec={**asking("100m"), "nodeName": "w-a-1", "priority": 2_000_000_000})
    assert least(spread(ZONE), critical, large=1) == [0, 0, 0], "another pod of dns may be made when its node is lost"


def test_who_does_not_surely_run_before_a_loss_is_sure_of_nothing() -> None:
    assert least(spread(ZONE), large=2) == [0, 0, 0], "the two may fill a zone before db comes"
