"""The jobs of examples/deploy-gates run against a stand-in API server, each as its service runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched_lint.sources.capture.role import cluster_role
from tests.check.conftest import live as live
from tests.check.live import Live
from tests.program import called

ROOT = Path(__file__).parents[2]
GATES = ROOT / "examples" / "deploy-gates"


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((GATES / name).read_text()))


def test_the_pages_name_every_file() -> None:
    pages = "".join((ROOT / "docs" / name).read_text() for name in ("check.md", "ci-more.md"))
    assert not [file.name for file in GATES.iterdir() if f"`{file.name}`" not in pages]


@pytest.fixture
def work(live: Live) -> Path:
    """A checkout with manifests whose rollout has no room; ``kubesched-lint`` is on the PATH."""
    live.lacks_room_for_a_surge()
    folder = live.folder / "manifests" / "overlays" / "prod"
    folder.mkdir(parents=True)
    (live.folder / "apps.yaml").rename(folder / "apps.yaml")
    tool = live.folder / "bin" / "kubesched-lint"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m kubesched_lint "$@"\n')
    tool.chmod(0o755)
    return live.folder


def ran(work: Path, script: str, *flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PATH": f"{work / 'bin'}:{os.environ['PATH']}", **variables}
    command = ["bash", "--noprofile", "--norc", *flags, "-c", script]
    return subprocess.run(command, cwd=work, env=environ, capture_output=True, text=True, check=False)


def github(work: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    (workflow,) = documents("github-actions.yml")
    (step,) = (one for one in workflow["jobs"]["check"]["steps"] if one.get("name") == "Check")
    assert workflow["jobs"]["deploy"]["needs"] == "check"
    assert "${{" not in step["run"], "an input pasted into a script is a command of whoever wrote it"
    assert set(step["env"]) == {"CONFIG", "REASON"}
    (work / "temp").mkdir(exist_ok=True)
    given = {"CONFIG": (work / "kubeconfig").read_text(), "REASON": "", "RUNNER_TEMP": str(work / "temp")}
    given |= {"GITHUB_STEP_SUMMARY": str(work / "summary.md"), "KUBECONFIG": "/nowhere"}
    return ran(work, step["run"], "-eo", "pipefail", **{**given, **variables})


def test_the_job_of_github_stops_the_deployment_and_fills_the_summary(work: Path) -> None:
    done = github(work)
    assert done.returncode == 1, done.stderr
    summary = (work / "summary.md").read_text()
    assert "⛔ blocked: 1 workload must not be applied (shop/web)" in summary
    assert (work / "temp" / "kubeconfig").stat().st_mode & 0o077 == 0


def test_broken_glass_of_github_goes_on_with_its_reason(work: Path) -> None:
    done = github(work, REASON='INC-42: "all" down; $(touch owned)')
    assert done.returncode == 0, done.stderr
    assert "INC-42" in (work / "summary.md").read_text()
    assert not (work / "owned").exists()


@pytest.mark.parametrize(("reason", "code"), [("", 1), ("INC-42", 0)])
def test_the_job_of_gitlab_keeps_the_report_whatever_it_says(work: Path, reason: str, code: int) -> None:
    (pipeline,) = documents("gitlab-ci.yml")
    job = pipeline["kubesched-check"]
    assert pipeline["stages"].index(job["stage"]) < pipeline["stages"].index(pipeline["deploy"]["stage"])
    assert job["variables"] == {"KUBECONFIG": "$KUBECONFIG_OF_CHECK"}
    script = "\n".join(job["script"])
    done = ran(work, script, "-eo", "pipefail", KUBECONFIG=str(work / "kubeconfig"), BREAK_GLASS=reason)
    assert done.returncode == code, done.stderr
    for path in job["artifacts"]["paths"]:
        assert "shop/web" in (work / path).read_text()


def test_the_workflows_are_what_the_services_schemas_ask_for() -> None:
    checker = pytest.importorskip("check_jsonschema")
    runner = pytest.importorskip("click.testing").CliRunner()
    for schema, name in (("github-workflows", "github-actions.yml"), ("gitlab-ci", "gitlab-ci.yml")):
        done = runner.invoke(checker.main, ["--builtin-schema", f"vendor.{schema}", str(GATES / name)])
        assert done.exit_code == 0, done.output


def test_the_hook_of_argo_cd_stops_the_sync(work: Path) -> None:
    """The arguments of its container, with the clone where the init container puts it."""
    account, binding = documents("argocd-account.yaml")
    (job,) = documents("argocd-presync.yaml")
    assert binding["roleRef"]["name"] == yaml.safe_load(cluster_role("kubesched-lint-check"))["metadata"]["name"]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]
    spec = job["spec"]["template"]["spec"]
    assert spec["serviceAccountName"] == account["metadata"]["name"]
    assert job["metadata"]["annotations"]["argocd.argoproj.io/hook"] == "PreSync"
    assert job["spec"]["backoffLimit"] == 0, "a second try would only find the same"
    fetch, (container,) = spec["initContainers"][0], spec["containers"]
    assert fetch["command"][-1] == container["volumeMounts"][0]["mountPath"] == "/manifests"
    arguments = [word.replace("/manifests/", f"{work}/", 1) for word in container["args"]]
    done = called(*arguments, cwd=work)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("blocked: 1 workload must not be applied (shop/web)")


def test_the_hook_itself_has_no_finding(work: Path) -> None:
    shutil.copy(GATES / "argocd-presync.yaml", work / "presync.yaml")
    done = called("lint", "presync.yaml", "--partial", cwd=work)
    assert done.returncode == 0, done.stdout
    assert "no findings" in done.stdout


def test_flux_applies_the_application_after_the_check() -> None:
    check, application = documents("flux.yaml.example")
    assert application["spec"]["dependsOn"] == [{"name": check["metadata"]["name"]}]
    assert check["spec"]["wait"]
    assert check["spec"]["force"], "a Job cannot be changed"
