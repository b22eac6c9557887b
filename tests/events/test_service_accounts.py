"""That the ServiceAccount of a pod exists is assumed, and said once, if the set does not create it."""

from __future__ import annotations

import pytest

from tests.events.simulated import report_of, sketch, workload


def naming(name: str) -> dict[str, object]:
    return {"serviceAccountName": name, "containers": [{"name": "c", "image": "i"}]}


@pytest.mark.parametrize(("account", "said"), [("robot", True), ("default", False)])
def test_a_service_account_of_its_own_is_assumed_to_exist(account: str, said: bool) -> None:
    result = report_of(sketch(), workload("Deployment", "web", 1, naming(account)), events=("deploy",))
    line = "assumed to exist: ServiceAccount default/robot"
    assert (line in result.notes) == said
    created = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    result = report_of(sketch(), workload("Deployment", "web", 1, naming(account)), created, events=("deploy",))
    assert line not in result.notes
