"""What the lint and the plan of healthy files do not import: it takes about a millisecond each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

KUSTOMIZE = "kubesched_lint.sources.manifests.kustomize"


def imported(late: set[str], *words: str) -> str:
    """What a run of the command prints, then which modules of ``late`` it imported."""
    code = (
        "import sys; from kubesched_lint.cli import linting, main\n"
        f"sys.argv[1:] = {words!r}\n"
        "import atexit, os\n"
        "leave = os._exit\n"
        f"os._exit = lambda code: (print({late!r} & sys.modules.keys(), flush=True), leave(code))\n"
        "main()\n"
    )
    run = subprocess.run([sys.executable, "-X", "utf8", "-c", code], capture_output=True, text=True, check=False)
    return run.stdout + run.stderr


def test_one_healthy_file_spells_no_name_and_reads_no_folder() -> None:
    late = {"difflib", "hashlib", "ipaddress", "pathlib", "kubesched_lint.sources.clusters.read"}
    told = imported(late, "lint", "fixtures/shop/web.yaml", "--no-cache", "--no-config", "--color", "never")
    assert "set()" in told, told


def test_where_no_tool_renders_kustomizations_nothing_makes_ready_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    late = {*("concurrent.futures", "hashlib", "tarfile", "yaml"), f"{KUSTOMIZE}.overlays", f"{KUSTOMIZE}.rendering"}
    told = imported(late, "lint", "fixtures/company/repo/apps", "--no-cache", "--no-config")
    assert "lint the rendered output" in told
    assert "set()" in told, told


def test_a_plan_without_a_rollout_that_hangs_edits_and_renders_nothing() -> None:
    package = "kubesched_lint"
    late = {
        *("hashlib", "logging", "ruamel.yaml", "tarfile", "yaml"),
        f"{package}.commands.fix.search",
        f"{package}.engine.scheduler.devices.allocator",
        f"{package}.report.html.plan",
        f"{KUSTOMIZE}.kustomizing",
    }
    agent = "fixtures/company/repo/platform/log-agent.yaml"
    told = imported(late, "plan", agent, agent, "-c", "fixtures/clusters/three-zones.yaml", "--no-config")
    assert "set()" in told, told
