"""ServiceAccounts are not read: that a pod's own one exists is assumed, and said once."""

from __future__ import annotations

import pytest

from tests.lifecycle.simulated import report_of, sketch, workload


def naming(name: str) -> dict[str, object]:
    return {"serviceAccountName": name, "containers": [{"name": "c", "image": "i"}]}


@pytest.mark.parametrize(("account", "said"), [("robot", True), ("default", False)])
def test_a_service_account_of_its_own_is_assumed_to_exist(account: str, said: bool) -> None:
    result = report_of(sketch(), workload("Deployment", "web", 1, naming(account)), events=("deploy",))
    line = "ServiceAccounts are not read and assumed to exist: default/robot"
    assert (line in result.notes) == said
