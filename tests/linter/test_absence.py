"""No rule claims that something is absent if it may stand in what was not read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.findings import Report
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  priorityClassName: customer-facign
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}
  containers: [{name: c, image: "r.example.com/i:1", resources: {requests: {cpu: 100m, memory: 1Gi}}}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: customer-facing}
value: 10
"""
SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 2, allocatable: {cpu: "4", memory: 16Gi}}
claims: []
pods: []
"""
BROKEN = "apiVersion: v1\nkind: Pod\nkind: Pod\n"
RELEASE = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: db}\nspec: {}\n"
OF_ABSENCE = {rule.slug for rule in Rulebook.shipped() if rule.absence}


def lint(folder: Path, **files: str) -> Report:
    for name, text in {"web": POD, "cluster": SKETCH, **files}.items():
        (folder / f"{name}.yaml").write_text(text)
    paths = [str(folder / f"{name}.yaml") for name in ("web", *files)]
    return check(Request(tuple(paths), str(folder / "cluster.yaml")), Options(), Rulebook.shipped())


def absences(report: Report) -> dict[str, str]:
    every = (one for finding in report.findings for one in (finding, *finding.also))
    return {one.rule: one.severity.word for one in every if one.rule in OF_ABSENCE}


def test_a_set_that_was_read_lacks_what_is_in_no_file(tmp_path: Path) -> None:
    assert {"affinity-selector-matches-nothing", "priority-class-missing"} <= absences(lint(tmp_path)).keys()


def test_what_could_not_be_read_is_not_absent_and_the_report_says_so(tmp_path: Path) -> None:
    report = lint(tmp_path, broken=BROKEN)
    assert report.errors
    assert not absences(report)
    (reason,) = {skip.reason for skip in report.skipped if skip.rule == "priority-class-missing"}
    assert reason == f"{tmp_path}/broken.yaml:3 could not be read, and may define what seems to be absent"


@pytest.mark.parametrize("other", [RELEASE, RELEASE.replace("helm.toolkit.fluxcd.io/v2", "x.example.com/v1")])
def test_a_release_may_define_it_and_is_named(tmp_path: Path, other: str) -> None:
    report = lint(tmp_path, release=other)
    found = [f for f in report.findings if f.rule in OF_ABSENCE]
    assert found
    for finding in found:
        words = f"what was not read does not define it: HelmRelease {tmp_path}/release.yaml:1"
        assert (words in finding.evidence.assumes) == (other is RELEASE)
        assert other is not RELEASE or finding.severity.word != "error"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")
@pytest.mark.parametrize("path", ["k", "."])
def test_files_of_a_kustomization_that_cannot_be_built_are_not_judged(tmp_path: Path, path: str) -> None:
    (tmp_path / "k").mkdir()
    (tmp_path / "k/pod.yaml").write_text(POD.replace("  priorityClassName", "  nodeName: dummy\n  priorityClassName"))
    (tmp_path / "k/kustomization.yaml").write_text(
        "resources: [pod.yaml]\nsecretGenerator:\n- {name: s, envs: [.env]}\n"
    )
    report = check(Request((str(tmp_path / path),)), Options(profile="all"), Rulebook.shipped())
    (error,) = report.errors
    assert (error.path, error.line, error.column) == (str(tmp_path / "k/kustomization.yaml"), 3, 20)
    assert error.message == (
        "it lists .env, and there is no such file: its files are not checked, because it may change them"
    )
    assert not report.findings
