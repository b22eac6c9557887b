"""The real pre-commit installs this work tree as a hook into a scratch repository, and the hook guards its commits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import Struct

from tests.dependencies import linked

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not on PATH")

ROOT = Path(__file__).parent.parent.parent
SKETCH = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 1, zones: [a, b], labels: {pool: general}, allocatable: {cpu: "4", memory: 16Gi}}
"""
CONFIG = """
repos:
- repo: REPOSITORY
  rev: REVISION
  hooks:
  - id: kubesched-lint
    files: ^manifests/
    args: [--cluster, sketch.yaml]
  - id: kubesched-lint-all
    args: [manifests, --cluster, sketch.yaml]
    stages: [manual]
  - id: kubesched-lint-fix
    args: [--cluster, sketch.yaml]
    stages: [manual]
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: NAME}}
spec:
  nodeSelector: {pool: POOL}
  containers:
  - {name: main, image: "registry.example.com/main:1.0"}
"""


class Scratch(Struct, frozen=True):
    """A repository with the hook installed; commands run in it, with pre-commit's cache in a folder of their own."""

    folder: Path
    home: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environ |= {
            "PRE_COMMIT_HOME": str(self.home),
            "PYTHONPATH": str(self.home / "dependencies"),  # pip need not fetch them
            "PIP_NO_COMPILE": "0",  # pip's way to say --no-compile: few of the installed modules are imported
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")
        done = self.run("git", *identity, *arguments)
        assert done.returncode == 0, done.stdout
        return done.stdout.strip()

    def commit(self, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
        for name, text in files.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text)
        self.git("add", "-A")
        return self.run(
            "git",
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "commit.gpgsign=false",
            "commit",
            "-m",
            "x",
        )


def hook_repository(folder: Path) -> str:
    """This work tree as it is, committed to a repository of its own; returns the revision."""
    source = Scratch(ROOT, folder)
    names: Sequence[str] = source.git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    folder.mkdir()
    for name in names:
        if (ROOT / name).is_file() and not name.startswith(("fixtures/", "tests/", "benchmarks/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    copy = Scratch(folder, folder)
    copy.git("init", "-q")
    copy.git("add", "-A")
    copy.git("commit", "-q", "-m", "as it is")
    return copy.git("rev-parse", "HEAD")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    base = tmp_path_factory.mktemp("precommit")
    revision = hook_repository(base / "hook")
    repository = Scratch(base / "scratch", base / "home")
    repository.folder.mkdir()
    linked(repository.home / "dependencies")
    config = CONFIG.replace("REPOSITORY", str(base / "hook")).replace("REVISION", revision)
    (repository.folder / ".pre-commit-config.yaml").write_text(config)
    (repository.folder / "sketch.yaml").write_text(SKETCH)
    repository.git("init", "-q")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "start")
    installed = repository.run(sys.executable, "-m", "pre_commit", "install", "--install-hooks")
    assert installed.returncode == 0, installed.stdout
    return repository


def pod(name: str, pool: str) -> str:
    return textwrap.dedent(POD).lstrip().replace("NAME", name).replace("POOL", pool)


def test_a_commit_with_a_hazard_is_refused_at_its_line_and_passes_when_mended(scratch: Scratch) -> None:
    before = scratch.git("rev-parse", "HEAD")
    refused = scratch.commit({"manifests/web.yaml": pod("web", "gpu")})
    assert refused.returncode == 1, refused.stdout
    assert "error[nodeselector-matches-nothing]" in refused.stdout
    assert "--> manifests/web.yaml:5:24" in refused.stdout
    assert "- exit code: 1" in refused.stdout
    assert scratch.git("rev-parse", "HEAD") == before
    accepted = scratch.commit({"manifests/web.yaml": pod("web", "general")})
    assert accepted.returncode == 0, accepted.stdout
    assert "kubesched-lint...........................................................Passed" in accepted.stdout


def test_a_commit_without_manifests_does_not_start_the_linter(scratch: Scratch) -> None:
    done = scratch.commit({"notes.txt": "nothing of interest"})
    assert done.returncode == 0, done.stdout
    assert "(no files to check)Skipped" in done.stdout


def test_a_commit_of_which_nothing_was_judged_does_not_pass(scratch: Scratch) -> None:
    release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec: {interval: 1h}\n"
    refused = scratch.commit({"manifests/release.yaml": release})
    assert refused.returncode == 1, refused.stdout
    assert "- exit code: 2" in refused.stdout
    assert "not judged: no workload was read, and 1 of 1 release not read (web)" in refused.stdout
    assert "name them in its `exclude`" in refused.stdout
    mixed = scratch.commit({"manifests/release.yaml": release, "manifests/beside.yaml": pod("beside", "general")})
    assert mixed.returncode == 0, mixed.stdout


def test_broken_yaml_is_refused_with_its_line(scratch: Scratch) -> None:
    done = scratch.commit({"manifests/broken.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: [}\n"})
    (scratch.folder / "manifests/broken.yaml").unlink()
    assert done.returncode == 1, done.stdout
    assert "- exit code: 2" in done.stdout
    assert "manifests/broken.yaml:3:" in done.stdout


def test_the_hook_for_the_whole_set_reads_the_folders_and_not_the_changed_files(scratch: Scratch) -> None:
    command = (sys.executable, "-m", "pre_commit", "run", "kubesched-lint-all", "--hook-stage", "manual", "--files")
    (scratch.folder / "manifests").mkdir(exist_ok=True)
    (scratch.folder / "manifests" / "web.yaml").write_text(pod("web", "general"))
    clean = scratch.run(*command, "manifests/web.yaml")
    assert clean.returncode == 0, clean.stdout
    (scratch.folder / "manifests" / "other.yaml").write_text(pod("other", "gpu"))
    found = scratch.run(*command, "manifests/web.yaml")
    (scratch.folder / "manifests" / "other.yaml").unlink()
    assert found.returncode == 1, found.stdout
    assert "manifests/other.yaml:5:24" in found.stdout


def deployment(pool: str) -> str:
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: fix}\nspec:\n  selector: {matchLabels: {app: fix}}\n"
        "  template:\n    metadata: {labels: {app: fix}}\n    spec:\n"
        f"      nodeSelector: {{pool: {pool}}}\n      containers: [{{name: main, image: registry.example.com/fix:1}}]\n"
    )


def test_the_fixing_hook_mends_the_file_fails_once_and_then_passes(scratch: Scratch) -> None:
    command = (sys.executable, "-m", "pre_commit", "run", "kubesched-lint-fix", "--hook-stage", "manual", "--files")
    file = scratch.folder / "manifests" / "fix.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(deployment("General"))
    scratch.git("add", "manifests/fix.yaml")
    mended = scratch.run(*command, "manifests/fix.yaml")
    assert mended.returncode == 1, mended.stdout
    assert "files were modified by this hook" in mended.stdout
    assert "fixed 1 of 1 finding in 1 file" in mended.stdout
    assert file.read_text() == deployment("general")
    again = scratch.run(*command, "manifests/fix.yaml")
    scratch.git("rm", "-q", "-f", "manifests/fix.yaml")
    assert again.returncode == 0, again.stdout
