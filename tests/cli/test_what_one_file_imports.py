"""What the lint and the plan of healthy files do not import: it takes about a millisecond each."""

from __future__ import annotations

import subprocess
import sys


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


def test_a_plan_without_a_rollout_that_hangs_edits_and_renders_nothing() -> None:
    package = "kubesched_lint"
    late = {
        *("hashlib", "logging", "ruamel.yaml", "tarfile", "yaml"),
        f"{package}.commands.fix.search",
        f"{package}.engine.scheduler.devices.allocator",
        f"{package}.report.html.plan",
        f"{package}.sources.manifests.kustomize.kustomizing",
    }
    agent = "fixtures/company/repo/platform/log-agent.yaml"
    told = imported(late, "plan", agent, agent, "-c", "fixtures/clusters/three-zones.yaml", "--no-config")
    assert "set()" in told, told
