"""A run that checked nothing says so and why, whoever asks: silence would read as consent."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kubesched_lint import lint
from tests.program import called

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b}]}\n"
SKETCH = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes:\n- {name: worker}\n"
REMOTE = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [https://example.com/a.yaml]\n"


def run(folder: Path, *args: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    return called(*args, cwd=folder, environ={**os.environ, **({} if path is None else {"PATH": path})})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "pod.yaml").write_text(POD)
    (tmp_path / "cluster.yaml").write_text(SKETCH)
    return tmp_path


def test_a_chart_without_helm_is_not_clean(folder: Path) -> None:
    (folder / "chart" / "templates").mkdir(parents=True)
    (folder / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 1.0.0\n")
    (folder / "chart" / "templates" / "pod.yaml").write_text(POD)
    done = run(folder, "lint", "chart", path="")
    assert done.returncode == 2
    assert "error: chart/templates: nothing was checked: Helm chart templates are not manifests" in done.stderr
    assert "helm template chart | kubesched-lint lint -" in done.stderr


@pytest.mark.parametrize(
    ("more", "what"), [((), "a cluster (ClusterSketch)"), (("--cluster", "cluster.yaml"), "the cluster (--cluster)")]
)
def test_a_cluster_is_no_manifest(folder: Path, more: tuple[str, ...], what: str) -> None:
    done = run(folder, "lint", *more, "cluster.yaml")
    assert done.returncode == 2
    assert f"no manifests, only {what}: nothing was checked" in done.stderr


def test_nodes_alone_are_no_manifests(folder: Path) -> None:
    (folder / "nodes.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    done = run(folder, "lint", "nodes.yaml")
    assert (done.returncode, "no manifests, only a cluster (Node)" in done.stderr) == (2, True)


def test_a_sketch_beside_manifests_is_no_error(folder: Path) -> None:
    assert run(folder, "lint", ".").returncode == 0


def test_objects_that_no_rule_reads_are_no_error(folder: Path) -> None:
    (folder / "config.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    assert run(folder, "lint", "config.yaml").returncode == 0


def test_a_kustomization_of_elsewhere_alone_is_not_clean(folder: Path) -> None:
    (folder / "overlay").mkdir()
    (folder / "overlay" / "kustomization.yaml").write_text(REMOTE)
    for path in ("overlay", "overlay/kustomization.yaml"):
        done = run(folder, "lint", path)
        assert done.returncode == 2, done.stdout
        assert "nothing was checked" in done.stderr


def test_exclude_is_named_where_it_leaves_nothing(folder: Path) -> None:
    (folder / "kubesched.toml").write_text('exclude = ["plain/**"]\n')
    done = run(folder, "lint", "plain")
    assert done.returncode == 2
    assert "nothing was checked: all files are excluded (exclude: plain/**)" in done.stderr
    (folder / "empty").mkdir()
    assert "is excluded" not in run(folder, "lint", "empty").stderr


def test_what_is_excluded_is_read_when_it_is_named_unless_excluding_is_forced(folder: Path) -> None:
    (folder / "kubesched.toml").write_text('exclude = ["plain/**"]\n')
    (folder / "plain" / "broken.yaml").write_text("kind: [\n")
    (folder / "other.yaml").write_text(POD)
    hook = ("lint", "--partial", "plain/broken.yaml", "other.yaml")
    assert run(folder, *hook).returncode == 2
    done = run(folder, *hook, "--force-exclude")
    assert (done.returncode, "checked 1 workload" in done.stdout) == (0, True)
    assert run(folder, "lint", "--partial", "--force-exclude", "plain/broken.yaml").returncode == 0
    alone = run(folder, "lint", "--force-exclude", "plain/broken.yaml")
    assert (alone.returncode, "are excluded (exclude: plain/**)" in alone.stderr) == (2, True)


def test_a_cluster_that_cannot_be_read_was_given(folder: Path) -> None:
    done = run(folder, "lint", "plain", "--cluster", "nope.yaml")
    assert done.returncode == 2
    assert done.stderr == "error: nope.yaml: there is no such file\n"
    assert "without a cluster (--cluster)" in run(folder, "lint", "plain").stdout


def test_a_missing_cluster_survives_quiet(folder: Path) -> None:
    done = run(folder, "lint", "plain", "--no-config", "-q")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("no cluster given (--cluster): ")
    assert done.stderr.endswith(" rules skipped\n")
    assert run(folder, "lint", "plain", "-q", "--cluster", "cluster.yaml").stderr == ""
    assert "no cluster given" not in run(folder, "lint", "plain", "-q", "--cluster", "nope.yaml").stderr


def test_a_fleet_of_nothing_is_an_error(folder: Path) -> None:
    (folder / "clusters").mkdir()
    (folder / "clusters" / "eu.yaml").write_text(SKETCH)
    done = run(folder, "fleet", "cluster.yaml", "--clusters", "clusters", "--executor", "serial")
    assert done.returncode == 2
    assert "nothing was checked" in done.stdout


def test_simulate_says_so_as_well(folder: Path) -> None:
    (folder / "empty").mkdir()
    done = run(folder, "simulate", "empty", "--cluster", "cluster.yaml")
    assert (done.returncode, "no Kubernetes object found: nothing was checked" in done.stdout + done.stderr) == (
        2,
        True,
    )
    assert "nothing was" not in run(folder, "simulate", "plain", "--cluster", "cluster.yaml").stdout


def test_simulate_judges_no_releases(folder: Path) -> None:
    release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: loki}\nspec: {}\n"
    for name, text in (("releases", release), ("settings", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")):
        (folder / name).mkdir()
        (folder / name / "a.yaml").write_text(text)
    done = run(folder, "simulate", "releases", "--cluster", "cluster.yaml")
    assert (done.returncode, "not judged: no workload was read" in done.stdout) == (2, True)
    done = run(folder, "simulate", "settings", "--cluster", "cluster.yaml")
    assert (done.returncode, done.stdout.split("\n")[0]) == (0, "no workload: nothing to simulate")


def test_the_library_says_so_as_well() -> None:
    for given in ({}, {"text": "a: b"}, {"text": {"a.yaml": ""}}, {"text": SKETCH}, {"objects": [{"a": "b"}]}):
        (error,) = lint(**given).errors
        assert "nothing" in error.message
        assert not lint(**given, partial=True).errors
    assert lint(text={"a.yaml": ""}).errors[0].path == "a.yaml"
    assert not lint(text=POD).errors
