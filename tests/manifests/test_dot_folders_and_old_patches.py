"""What is passed over is said: folders that begin with a dot, and patches in the form of older kustomizations."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched_lint import lint
from kubesched_lint.explaining.near_misses.well_known import TAINTS, corrected_taint
from kubesched_lint.sources.manifests.document import Skipped
from kubesched_lint.sources.manifests.files import find_files
from kubesched_lint.sources.manifests.inputs import InputFile

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: x:1}]}\n"
PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n"


def skipped(folder: Path) -> list[str]:
    return [Path(item.path).name for item in find_files([str(folder)]) if isinstance(item, Skipped)]


@pytest.mark.parametrize("inside", [".argo/a.yaml", ".argo/prod/a.yml", ".argo/x/y/a.yaml"])
def test_a_dot_folder_with_manifests_is_named(tmp_path: Path, inside: str) -> None:
    path = tmp_path / inside
    path.parent.mkdir(parents=True)
    path.write_text(POD)
    (tmp_path / "b.yaml").write_text(POD)
    assert skipped(tmp_path) == [".argo"]
    assert [skip.reason for skip in lint(tmp_path).skipped if ".argo" in skip.reason]
    assert [Path(f.path).name for f in find_files([str(tmp_path / ".argo")]) if isinstance(f, InputFile)] == [path.name]


@pytest.mark.parametrize(
    ("inside", "text"), [(".github/workflows/ci.yaml", "on: push\n"), (".git/a.yaml", POD), (".x/readme.md", POD)]
)
def test_a_dot_folder_without_any_is_not(tmp_path: Path, inside: str, text: str) -> None:
    path = tmp_path / inside
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert not skipped(tmp_path)


@pytest.mark.parametrize("field", ["patches", "patchesStrategicMerge", "patchesJson6902"])
def test_a_file_that_a_kustomization_lists_as_a_patch_is_no_object(tmp_path: Path, field: str) -> None:
    (tmp_path / "kustomization.yaml").write_text(f"resources: []\n{field}: [more.yaml]\n")
    (tmp_path / "more.yaml").write_text(PATCH)
    (found,) = (f for f in find_files([str(tmp_path)], render=False) if Path(f.path).name == "more.yaml")
    assert isinstance(found, InputFile)
    assert found.patch_of.endswith("kustomization.yaml")
    assert not lint(tmp_path / "more.yaml").findings


def test_only_slips_in_the_domains_of_kubernetes_are_taken_for_its_taints() -> None:
    assert corrected_taint("node-role.kubernetes.io/controlplane") == "node-role.kubernetes.io/control-plane"
    assert corrected_taint("node.kubernetes.io/notready") == "node.kubernetes.io/not-ready"
    others = ("infra", "worker", "etcd", "edge", "gpu", "compute", "storage")
    assert not any(corrected_taint(f"node-role.kubernetes.io/{name}") for name in others)
    assert not any(map(corrected_taint, (*TAINTS, "", "dedicated", "example.com/control-plane")))
