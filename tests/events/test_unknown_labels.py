"""What a sketch does not say is no proof: neither against a workload, nor of an empty table."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.events.answers.cells import BAD, FINE, NONE, UNKNOWN
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.report.simulation.report import as_text
from tests.events.simulated import asking, cell, report_of, sketch, workload

ARM = {"nodeSelector": {"kubernetes.io/arch": "arm64"}}


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
def test_nodes_of_a_sketch_may_have_an_architecture_that_it_does_not_tell(kind):
    replicas = None if kind == "DaemonSet" else 1
    result = report_of(sketch(), workload(kind, "a", replicas, {**asking("100m"), **ARM}))
    assert not result.is_bad
    if kind == "Deployment":
        found = cell(result, "a", "deploy")
        assert found.verdict == UNKNOWN
        assert (found.bound.least, found.bound.most) == (0, 1)
        assert any("kubernetes.io/arch" in m for m in found.missing)
        assert "does not have" in as_text(result, verbose=True)
    assert {c.verdict for c in result.rows[0].cells} <= {UNKNOWN, NONE}


def test_a_label_that_is_nobodys_but_the_authors_is_told_by_its_absence():
    result = report_of(sketch(), workload("Deployment", "a", 1, {**asking("100m"), "nodeSelector": {"disk": "ssd"}}))
    assert cell(result, "a", "deploy").verdict == BAD


def test_others_are_told_on_the_premise_that_such_pods_run_elsewhere():
    objects = [workload("Deployment", "a", 1, {**asking("100m"), **ARM}), workload("Deployment", "b", 2)]
    found = cell(report_of(sketch(), *objects, events=EVENTS[:1]), "b", "deploy")
    assert found.verdict == FINE
    assert not found.proven
    assert any("Deployment default/a" in a for a in found.assumes)


def test_without_anything_that_could_be_read_there_is_no_table():
    from kubesched_lint.commands.lint.run import read_manifests
    from kubesched_lint.commands.simulate.run import simulate
    from kubesched_lint.linter.options import Options

    lines = as_text(simulate(read_manifests(["/no/such/folder"], Options()), sketch(), Options())).splitlines()
    assert lines[0].startswith("error: ")
    assert not any("rollout" in line for line in lines)
