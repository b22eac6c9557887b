"""examples/shop-repo is what its README says: clean as it stands, refused with the branch that is broken."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.program import called

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
BROKEN = EXAMPLES / "broken-branch.patch"

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLES / "shop-repo", tmp_path / "shop-repo")
    return tmp_path / "shop-repo"


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def lint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return called("lint", *arguments, cwd=folder)


@pytest.mark.parametrize("arguments", [["prod"], ["staging", "--cluster", "staging.yaml"]], ids=["prod", "staging"])
def test_both_overlays_are_clean(shop: Path, arguments: list[str]) -> None:
    overlay, *more = arguments
    done = lint(shop, f"manifests/overlays/{overlay}", *more, "--fail-on", "note")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 workloads" in done.stdout
    assert "no findings" in done.stdout


def test_the_broken_branch_is_refused_at_the_line_it_changes(shop: Path) -> None:
    run(shop, "git", "init", "-q")
    applied = run(shop, "git", "apply", str(BROKEN))
    assert applied.returncode == 0, applied.stderr
    done = lint(shop, "manifests/overlays/prod")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "error[anti-affinity-exceeds-domains]: 3 of 6 pods of Deployment shop/cache stay Pending" in done.stdout
    assert "--> manifests/base/cache.yaml:20:15" in done.stdout
    assert "::: manifests/overlays/prod/kustomization.yaml:8:24" in done.stdout
    assert done.stdout.count("error[") == 1


def test_the_rule_of_the_team_runs(shop: Path) -> None:
    tried = called("rules", "test", "ops/rules", cwd=shop)
    assert tried.returncode == 0, tried.stdout + tried.stderr
    cache = shop / "manifests" / "base" / "cache.yaml"
    cache.write_text(cache.read_text().replace("labels: {app: cache, team: shop}", "labels: {app: cache}"))
    done = lint(shop, "manifests/overlays/prod")
    assert done.returncode == 1
    assert "error[team-label-missing]: Deployment shop/cache has pods without the label team" in done.stdout
    assert "--> manifests/base/cache.yaml:15:15" in done.stdout


def test_only_what_a_branch_changes_is_told(shop: Path) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "start"], ["apply", str(BROKEN)]):
        done = run(shop, "git", *command)
        assert done.returncode == 0, done.stderr
    assert "error[anti-affinity-exceeds-domains]" in lint(shop, "manifests/overlays/prod", "--changed").stdout
    run(shop, "git", "add", "-A")
    run(shop, "git", *identity, "commit", "-q", "-m", "more caches")
    done = lint(shop, "manifests/overlays/prod", "--changed")
    assert done.returncode == 0, done.stdout
    assert "1 finding elsewhere not shown" in done.stdout


def test_what_it_shows_of_hooks_and_jobs_is_there(shop: Path) -> None:
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    used = yaml.safe_load((shop / ".pre-commit-config.yaml").read_text())
    assert {hook["id"] for repo in used["repos"] for hook in repo["hooks"]} <= hooks
    inputs = set(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])
    jobs = yaml.safe_load((shop / ".github" / "workflows" / "kubesched.yml").read_text())["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"] if "kubesched-lint" in step.get("uses", "")]
    assert steps
    assert all(set(step["with"]) <= inputs for step in steps)
    variables = set(yaml.safe_load((ROOT / "templates" / "gitlab-ci.yml").read_text())["variables"])
    assert set(yaml.safe_load((shop / ".gitlab-ci.yml").read_text())["variables"]) <= variables
    for job in jobs.values():
        for case in job["strategy"]["matrix"]["include"]:
            assert (shop / "manifests" / "overlays" / case["overlay"]).is_dir()
            assert (shop / case["cluster"]).is_file()


def test_the_hook_guards_commits_of_the_repository(shop: Path, tmp_path: Path) -> None:
    """The shown pre-commit configuration, with this work tree in place of the address."""
    pytest.importorskip("pre_commit")
    config = (shop / ".pre-commit-config.yaml").read_text()
    local = config.replace("https://github.com/example/kubesched-lint", "local")
    assert local != config
    entry = f"{sys.executable} -m kubesched_lint lint"
    hook = "language: system\n    pass_filenames: false\n    name: kubesched-lint"
    local = local.replace("  rev: TAG-OR-COMMIT\n", "").replace("local   # wherever you host it", "local")
    local = local.replace(
        "  - id: kubesched-lint-all\n", f"  - id: kubesched-lint-all\n    entry: {entry}\n    {hook}\n"
    )
    local = re.sub(r"    additional_dependencies: .*\n", "", local)  # those of this interpreter are taken
    (shop / ".pre-commit-config.yaml").write_text(local)
    run(shop, "git", "init", "-q")
    run(shop, "git", "apply", str(BROKEN))
    run(shop, "git", "add", "-A")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environ["PRE_COMMIT_HOME"] = str(tmp_path / "home")
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run"], cwd=shop, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "manifests/overlays/prod/kustomization.yaml:8:24" in done.stdout
