"""What a cell says that neither a search nor a trace decides: what counting had found, and no more."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.base import work
from kubesched_lint.engine.events.answers.cells import BAD, UNKNOWN
from kubesched_lint.engine.verdicts.matrix import Matrix
from tests.events.simulated import ZONE, apart, asking, cell, other, report_of, sketch, workload


@pytest.fixture
def cut(monkeypatch):
    """Each search and each trace ends at its limit."""

    def never_ends(*_):
        work.spend(10**9)

    monkeypatch.setattr(Matrix, "_followed", never_ends)


SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "a"}},
        }
    ]
}


@pytest.mark.usefixtures("cut")
def test_a_cell_that_is_cut_short_keeps_the_proof_of_counting():
    result = report_of(sketch(2, "abc"), workload("Deployment", "a", 5, apart("a") | SPREAD), events=("deploy",))
    found = cell(result, "a", "deploy")
    assert (found.verdict, found.proven, found.bound.most) == (BAD, True, 3)
    assert result.is_bad


@pytest.mark.usefixtures("cut")
def test_a_cell_that_is_cut_short_keeps_the_bounds_of_counting():
    several = [workload("Deployment", f"w{i}", 2, asking("1900m")) for i in range(6)]
    found = cell(report_of(sketch(1, "abc", "4"), *several, events=("deploy",)), "w0", "deploy")
    assert (found.verdict, found.proven) == (UNKNOWN, False)
    assert " pods run: " in found.why
    assert found.missing == (work.WHY,)
    assert found.text.endswith(" ?")


def test_no_trace_is_followed_for_a_cell_that_open_preemption_leaves_unknown(monkeypatch):
    asked, followed = set(), Matrix._followed

    def noted(matrix, event, members, number, bounds):
        asked.add((event, matrix.simulated.workloads[number].name))
        return followed(matrix, event, members, number, bounds)

    monkeypatch.setattr(Matrix, "_followed", noted)
    ranks = [other("PriorityClass", f"p{i}", "scheduling.k8s.io/v1", value=i) for i in range(2)]
    guest = other("Pod", "guest", spec={"nodeName": "w-a", "containers": [{"name": "c"}], "priority": 0})
    owner = {"apiVersion": "example.org/v1", "kind": "Game", "name": "go", "uid": "1", "controller": True}
    guest["metadata"].update(namespace="default", ownerReferences=[owner])
    strong = workload("Deployment", "strong", 3, asking("2500m", priorityClassName="p1"))
    weak = workload("Deployment", "weak", 3, asking("2500m", priorityClassName="p0"))
    result = report_of(sketch(1, "abc", "4", "110", guest), *ranks, weak, strong, events=("deploy", "node-loss"))
    found = cell(result, "weak", "deploy")
    assert found.verdict == UNKNOWN
    assert [missing.partition(":")[0] for missing in found.missing] == ["preemption"]
    assert ("deploy", "weak") not in asked
