"""A gang needs devices for all of its pods at once."""

from __future__ import annotations

from typing import Any

from kubesched_lint.engine.placing.gangs.answers import CERTAIN, IMPOSSIBLE, UNKNOWN, Answer
from kubesched_lint.engine.placing.gangs.fit import answers
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from tests.checks.test_gangs import GATES, IN_GROUP, group, job
from tests.devices.sets import GPU_CLASS, Value, claim, cluster_of, devices_on, manifests_of, node, template

NODES = (node("n0"), node("n1"), GPU_CLASS)


def answer(count: int, *objects: Value, cluster: tuple[Value, ...], **claims: Any) -> Answer:
    reference = {"name": "gpu", **(claims or {"resourceClaimTemplateName": "gpu"})}
    gang = job("train", count, 0.1, resourceClaims=[reference], **IN_GROUP)
    manifests = manifests_of(group(count), gang, *objects)
    (found,) = answers(Scenario(manifests.inventory, cluster_of(*NODES, *cluster), Premises(feature_gates=GATES)))
    return found


def test_devices_decide_whether_a_gang_fits() -> None:
    assert answer(3, template(), cluster=(devices_on("n0", 2), devices_on("n1", 1))).verdict == CERTAIN
    short = answer(3, template(), cluster=(devices_on("n0", 1), devices_on("n1", 1)))
    assert (short.verdict, short.most) == (IMPOSSIBLE, 2)
    assert answer(2, template(count=2), cluster=(devices_on("n0", 3), devices_on("n1", 1))).verdict == IMPOSSIBLE


def test_where_it_matters_which_device_a_pod_gets_there_is_no_answer() -> None:
    shared = answer(2, claim(), cluster=(devices_on("n0", 1), devices_on("n1", 1)), resourceClaimName="gpu")
    assert shared.verdict == UNKNOWN
    assert shared.reason == "it is not known which devices pods of Job default/train get"
