"""The same 30 mistakes and 13 healthy manifests on the nodes of ten platforms: what is error, warning, silent.

``fixtures/clouds/expected.json`` was written from first principles before any run; ``changed`` says where the
expectation was wrong, and ``gaps`` where lint falls short of it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from kubesched_lint.findings import Finding, Severity
from scripts.cloud_table import DECISIONS, ESTABLISHED, FIXED, expected, gap, mistakes
from tests.clouds.cloud_worlds import CLOUDS, nodes_of, report_of, templates, text_for
from tests.program import called
from tests.share import every

GROUP_AT_ZERO = "12-group-at-zero"
MAKES_WHAT_PODS_ASK_FOR = ("gke-autopilot",)
"""Clusters that make node pools with accelerators without anybody declaring one."""
ELASTIC = [cloud for cloud in CLOUDS if cloud not in FIXED]
DECIDED = pytest.mark.parametrize(
    ("cloud", "decision"), every(11, product(CLOUDS, DECISIONS)), ids=lambda part: part or "undecided"
)
"""In CI each decision on one of three platforms."""


def worst(findings: tuple[Finding, ...]) -> tuple[str, frozenset[str]]:
    """Return the highest severity, or ``silent``, and the rules that found it."""
    if not findings:
        return "silent", frozenset()
    top = max(finding.severity for finding in findings)
    return top.word, frozenset(finding.rule for finding in findings if finding.severity is top)


def test_every_manifest_has_an_expectation() -> None:
    assert list(mistakes()) == list(templates("mistakes"))
    assert len(mistakes()) == 30
    assert len(templates("healthy")) == 13


@DECIDED
def test_mistakes_are_what_they_must_be(cloud: str, decision: str) -> None:
    wrong = {}
    for name in mistakes():
        severity, rule = expected(cloud, decision, name)
        severity = gap(cloud, decision, name) or severity
        found, rules = worst(report_of(cloud, decision, "mistakes", name).findings)
        if found != severity or (rules and rule not in rules):
            wrong[name] = f"{found} of {', '.join(rules)} instead of {severity} of {rule}"
    assert wrong == {}


@DECIDED
def test_healthy_manifests_get_no_warning(cloud: str, decision: str) -> None:
    for name in templates("healthy"):
        if name != GROUP_AT_ZERO:
            found = report_of(cloud, decision, "healthy", name).findings
            assert [f.message for f in found if f.severity >= Severity.WARNING] == [], name


def lint_here(folder: Path, cloud: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Lint ``m.yaml`` of the folder against a cloud, with the configuration of the folder."""
    return lint_at(folder, nodes_of(cloud), *options)


def lint_at(folder: Path, cluster: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return called("lint", "m.yaml", "--cluster", cluster, *options, cwd=folder)


def declared(cloud: str) -> str:
    """Return the line of kubesched.toml that names the group at zero."""
    group = CLOUDS[cloud]["zero"]
    labels = ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in group["labels"].items())
    fields = f'name = "{group["name"]}", labels = {{{labels}}}, taints = {json.dumps(group["taints"])}'
    return f'declared-groups = [{{{fields}, machine = "{group["machine"]}"}}]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kubesched.toml").write_text("", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("cloud", [cloud for cloud in ELASTIC if CLOUDS[cloud]["zero"]])
def test_the_workload_of_a_group_at_zero_is_an_error_only_if_a_complete_list_lacks_the_group(
    cloud: str, folder: Path
) -> None:
    (folder / "m.yaml").write_text(text_for(cloud, "healthy", GROUP_AT_ZERO), encoding="utf-8")
    open_list = lint_here(folder, cloud, "--node-groups", "open")
    assert (open_list.returncode, "error[" in open_list.stdout) == (0, False), open_list.stdout
    undeclared = lint_here(folder, cloud, "--node-groups", "complete")
    made = cloud in MAKES_WHAT_PODS_ASK_FOR
    assert (undeclared.returncode, "error[" in undeclared.stdout) == (int(not made), not made), undeclared.stdout
    (folder / "kubesched.toml").write_text(declared(cloud), encoding="utf-8")
    named = lint_here(folder, cloud, "--node-groups", "complete", "--fail-on", "warning")
    assert named.returncode == 0, named.stdout


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_gate_does_not_pass_before_somebody_decided(cloud: str, folder: Path) -> None:
    (folder / "m.yaml").write_text(text_for(cloud, "mistakes", "01-label-value-typo"), encoding="utf-8")
    done = lint_here(folder, cloud, "--require-node-groups")
    if cloud in FIXED or cloud in ESTABLISHED:
        assert (done.returncode, "node-groups" in done.stderr) == (1, False), done.stderr
    else:
        assert (done.returncode, "node-groups" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("version", ["", "-before-1.30"])
@pytest.mark.parametrize("cloud", [cloud for cloud in CLOUDS if "autoscaler" in CLOUDS[cloud]])
def test_the_status_of_cluster_autoscaler_decides_once_its_group_at_zero_is_declared(
    cloud: str, version: str, folder: Path
) -> None:
    (folder / "m.yaml").write_text(text_for(cloud, "mistakes", "01-label-value-typo"), encoding="utf-8")
    snapshot = folder / "cluster"
    snapshot.mkdir()
    shutil.copy(nodes_of(cloud), snapshot)
    shutil.copy(nodes_of(cloud).parents[1] / "cluster-autoscaler" / f"{cloud}{version}.yaml", snapshot)
    waits = lint_at(folder, snapshot, "--require-node-groups")
    assert (waits.returncode, "gpu" in waits.stderr) == (2, True), waits.stderr
    (folder / "kubesched.toml").write_text(declared(cloud), encoding="utf-8")
    decided = lint_at(folder, snapshot, "--require-node-groups")
    assert (decided.returncode, "error[pool-cannot-provide-label]" in decided.stdout) == (1, True), decided.stderr
