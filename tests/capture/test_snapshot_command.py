"""``snapshot`` and ``--cluster live`` as a person types them, with the real client and a kubeconfig."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture.stand_in import ApiServer, reset, status
from tests.program import called

ROOT = Path(__file__).parents[2]


def run(*args: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return called(*args, cwd=cwd, environ={**os.environ, **environ}, as_patched=True)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands sleep in earnest before they try again."""
    monkeypatch.setattr("kubesched_lint.sources.capture.connection._FIRST_PAUSE", 0.01)


@pytest.fixture
def folder(kubeconfig: Path) -> Path:
    work = kubeconfig.parent / "work"
    work.mkdir()
    return work


def test_a_snapshot_is_taken_and_linted_with(api: ApiServer, folder: Path) -> None:
    scheduler = folder.parent / "scheduler.yaml"
    scheduler.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "percentageOfNodesToScore: 70\nclientConnection: {kubeconfig: hunter2}\n"
    )
    done = run("snapshot", "--scheduler-config", str(scheduler), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("cluster.json.gz: 60 Node, 199 Pod, ")
    assert "missing" not in done.stderr
    assert [f.name for f in folder.iterdir()] == ["cluster.json.gz"], "no temporary file is left"
    packed = (folder / "cluster.json.gz").read_bytes()
    assert b"hunter2" not in gzip.decompress(packed)
    assert b'"percentageOfNodesToScore":70' in gzip.decompress(packed)
    assert len(packed) < 20_000
    assert all("limit=500" in path for path in api.asked("pods"))

    by_file = run("lint", str(ROOT / "fixtures/shop"), "-c", "cluster.json.gz", "-f", "json", cwd=folder)
    live = run("lint", str(ROOT / "fixtures/shop"), "-c", "live", "-f", "json", cwd=folder)
    named = run("lint", str(ROOT / "fixtures/shop"), "-c", "live:here", "-f", "json", cwd=folder)
    reports = [json.loads(found.stdout) for found in (by_file, live, named)]
    assert reports[0]["findings"] == reports[1]["findings"] == reports[2]["findings"]
    assert reports[0]["findings"]
    assert "60 nodes and 199 pods from live, captured just now" in live.stdout


def test_lint_says_why_a_live_cluster_cannot_be_asked(folder: Path) -> None:
    done = run("lint", str(ROOT / "fixtures/shop"), "-c", "live:nowhere", cwd=folder)
    assert done.returncode == 2
    assert "there is no context `nowhere`" in done.stderr
    assert "Traceback" not in done.stderr


def test_gaps_are_told_with_what_to_do(api: ApiServer, folder: Path) -> None:
    api.fails("/api/v1/persistentvolumes", status(403))
    done = run("snapshot", "-o", "c.json", cwd=folder)
    assert done.returncode == 0
    assert "missing: persistentvolumes: forbidden (403)\n`kubesched-lint check --rbac` prints" in done.stderr
    said = run("lint", str(ROOT / "fixtures/shop"), "-c", "c.json", "-v", cwd=folder)
    assert "gaps: persistentvolumes: forbidden (403)" in said.stdout


def test_failure_leaves_the_old_file_and_no_other(api: ApiServer, folder: Path) -> None:
    (folder / "c.json").write_text("old")
    api.fails("/version", *[reset] * 4)
    done = run("snapshot", "-o", "c.json", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {api.url}: the connection broke while version was read")
    assert done.stderr.count("\n") == 1
    assert [(f.name, f.read_text()) for f in folder.iterdir()] == [("c.json", "old")]


def test_a_folder_that_is_not_there_is_one_message(api: ApiServer, folder: Path) -> None:
    done = run("snapshot", "-o", "none/c.json", cwd=folder)
    assert (done.returncode, done.stderr) == (2, "error: none/c.json: cannot be written: No such file or directory\n")


def test_redaction_on_the_command_line(api: ApiServer, folder: Path) -> None:
    shop = re.compile(r"\bshop\b")  # a word of its own: seven random letters may contain it
    assert shop.search(run("snapshot", "-o", "-", cwd=folder).stdout)
    one = run("snapshot", "--redact", "-o", "-", cwd=folder)
    other = run("snapshot", "--redact", "-o", "-", cwd=folder)
    assert one.returncode == other.returncode == 0
    assert '"redacted":true' in one.stdout
    assert not shop.search(one.stdout)
    assert one.stdout.partition("items")[2] != other.stdout.partition("items")[2], "a key of its own each time"
    keyed = [run("snapshot", "-o", "-", cwd=folder, KUBESCHED_LINT_REDACT_KEY="k").stdout for _ in range(2)]
    assert keyed[0].partition("items")[2] == keyed[1].partition("items")[2]
    assert not shop.search(keyed[0])


_AT_ONCE = """
from kubesched_lint import cli, progress
progress.AFTER = progress._PAUSE = 0.0
cli.main()
"""
"""The program, whose line of progress does not wait for its third second."""


def test_progress_is_shown_on_a_terminal_only(api: ApiServer, folder: Path) -> None:
    quiet = run("snapshot", cwd=folder)
    assert "\r" not in quiet.stderr
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", _AT_ONCE, "snapshot"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        stderr=theirs,
        timeout=60,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert done.returncode == 0
    assert b"capturing the cluster: pods (199 of 199), 0 s" in shown
    assert b"\r\x1b[Kcluster.json.gz: 60 Node" in shown, "the line of progress is cleared first"


def test_a_snapshot_without_nodes_is_a_failure_and_leaves_the_old_file(api: ApiServer, folder: Path) -> None:
    (folder / "c.json").write_text("old")
    api.fails("/api/v1/nodes", status(403))
    done = run("snapshot", "-o", "c.json", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "error: nodes: forbidden (403): nothing is written without nodes "
        "(`kubesched-lint check --rbac` prints the ClusterRole)"
    )
    assert (folder / "c.json").read_text() == "old"
