"""A fix of a rendered object is made in the file that sets the value, if kubectl then renders what helps."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.program import called

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

BASE = """\
# Owned by the shop team.
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector:
        pool: generel   # where it runs
      containers:
      - {name: web, image: "registry.example.com/shop/web:1.0", resources: {requests: {cpu: 100m}}}
"""
CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodeGroups: complete
nodes:
- {name: w, count: 2, zones: [a, b, c], labels: {pool: general}, allocatable: {cpu: "4", memory: 8Gi, pods: 20}}
"""
PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {nodeSelector: {pool: genral}}}}
"""
OPERATION = "- op: replace\n  path: /spec/template/spec/nodeSelector/pool\n  value: genral\n"
ELSEWHERE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions: [{key: pool, operator: NotIn, values: [general]}]
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    files = {"base/web.yaml": BASE, "base/kustomization.yaml": "resources: [web.yaml]\n", "cluster.yaml": CLUSTER}
    for name in ("prod", "staging"):
        files[f"{name}/kustomization.yaml"] = f"resources: [../base]\nnamespace: {name}\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def fixed(repo: Path, *options: str, path: str = ".") -> str:
    done = called("lint", path, "-c", "cluster.yaml", "--no-config", "--no-cache", "--unsafe-fixes", *options, cwd=repo)
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def with_patch(repo: Path, patch: str, how: str = "patches: [{path: p.yaml}]\n") -> None:
    (repo / "base/web.yaml").write_text(BASE.replace("generel", "general"))
    (repo / "prod/p.yaml").write_text(patch)
    text = (repo / "prod/kustomization.yaml").read_text()
    (repo / "prod/kustomization.yaml").write_text(text + how)


def test_a_base_is_fixed_once_for_all_that_build_on_it(repo: Path) -> None:
    assert "--diff proposes fixes" in called("lint", ".", "-c", "cluster.yaml", "--no-config", cwd=repo).stdout
    found = fixed(repo, "--fix")
    assert "fixed 1 of 1 finding in 1 file" in found
    assert (repo / "base/web.yaml").read_text() == BASE.replace("generel", "general")
    assert "error[" not in found


@pytest.mark.parametrize("patch", [PATCH, OPERATION])
def test_a_patch_is_fixed_where_it_sets_the_value(repo: Path, patch: str) -> None:
    with_patch(repo, patch, "patches: [{path: p.yaml, target: {kind: Deployment}}]\n")
    fixed(repo, "--fix")
    assert (repo / "prod/p.yaml").read_text() == patch.replace("genral", "general")
    assert (repo / "base/web.yaml").read_text() == BASE.replace("generel", "general")


def test_a_patch_inside_a_kustomization_is_named(repo: Path) -> None:
    lines = OPERATION.replace("\n", "\n    ")
    with_patch(repo, "", f"patches:\n- target: {{kind: Deployment}}\n  patch: |\n    {lines.rstrip()}\n")
    found = fixed(repo, "--diff")
    words = "a tool rendered it; in prod/kustomization.yaml:8, write pool: general"
    assert words in found
    assert "would fix none of 1 finding" in found
    assert "--diff proposes fixes" not in called("lint", ".", "-c", "cluster.yaml", "--no-config", cwd=repo).stdout


def test_what_breaks_another_overlay_is_not_written(repo: Path) -> None:
    (repo / "staging/p.yaml").write_text(ELSEWHERE)
    text = (repo / "staging/kustomization.yaml").read_text()
    (repo / "staging/kustomization.yaml").write_text(f"{text}patches: [{{path: p.yaml}}]\n")
    fixed(repo, "--fix")
    assert (repo / "base/web.yaml").read_text() == BASE


@pytest.mark.parametrize("place", ["in a repository", "outside one"])
def test_a_base_outside_the_named_folder_is_not_written(repo: Path, place: str) -> None:
    if place == "in a repository":
        (repo / ".git").mkdir()  # which may hold overlays that the run does not read
        found = fixed(repo, "--fix", path="prod")
    else:
        (repo / "cluster.yaml").rename(repo / "prod/cluster.yaml")
        found = fixed(repo / "prod", "--fix")
    assert "a tool rendered it" in found
    assert "base/web.yaml:12, write pool: general" in found
    assert "fixed none of 1 finding" in found
    assert (repo / "base/web.yaml").read_text() == BASE


def test_a_base_behind_a_link_out_of_the_named_folder_is_not_written(repo: Path) -> None:
    (repo / ".git").mkdir()
    (repo / "base").rename(repo / "elsewhere")
    (repo / "prod/base").symlink_to("../elsewhere")
    (repo / "prod/kustomization.yaml").write_text("resources: [base]\n")
    assert "elsewhere/web.yaml:12, write pool: general" in fixed(repo, "--fix", path="prod")
    assert (repo / "elsewhere/web.yaml").read_text() == BASE


def test_an_excluded_base_is_not_written(repo: Path) -> None:
    assert "not fixed: the file is excluded" in fixed(repo, "--fix", "--exclude", "base")
    assert (repo / "base/web.yaml").read_text() == BASE


def test_a_base_that_is_read_without_rendering_too_is_fixed_once(repo: Path) -> None:
    done = called("lint", "base/web.yaml", ".", "-c", "cluster.yaml", "--unsafe-fixes", "--fix", cwd=repo)
    assert "error[" not in done.stdout
    assert (repo / "base/web.yaml").read_text() == BASE.replace("generel", "general")
