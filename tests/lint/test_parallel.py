"""Several processes read what one would have read: the same report, whoever did what and whoever died of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.commands.lint import read_parallel
from kubesched_lint.commands.lint.run import Request, checked
from kubesched_lint.findings import Report
from kubesched_lint.linter.options import Options
from kubesched_lint.manifests.document import Document
from kubesched_lint.manifests.inputs import InputFile
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.record import Record
from kubesched_lint.rulebook.library import Rulebook
from tests.rulebook.shipped_cards import TRIAL

ROOT = Path(__file__).parents[2]
SKETCH = str(ROOT / "fixtures/clusters/three-zones.yaml")
BOOK = Rulebook.shipped()
ODD = {
    "flow.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: &a odd, labels: {app: *a}}\nspec: {containers: []}\n",
    "two.yaml": "apiVersion: v1\nkind: Secret\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: b\n",
    "list.yaml": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: in-list\n",
    "tabs.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: broken\n",
    "helm.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n",
    "named.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: '{{ .Release.Name }}'\n",
    "types.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: 7\nspec:\n  containers: x\n  priority: high\n",
    "pod.json": '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "json"}}',
    "empty.yaml": "",
    "notes.yaml": "just: values\n",
    "latin.yaml": b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: caf\xe9\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Every sixth example of the cards, and files that only the complete reader reads, or nobody.

    Most examples define one name: the linter judges each definition alone, so all of them would take ten times as long.
    """
    there = tmp_path_factory.mktemp("set")
    for number, example in enumerate(TRIAL.examples[::6]):
        (there / f"{example.slug}-{number}.yaml").write_text(example.manifest)
    for name, text in ODD.items():
        (there / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(there)


class Outcome(Record):
    """What reading makes of the files, and what the rules that need no cluster say of it."""

    report: Report
    documents: tuple[Document, ...]
    inventory: Inventory


def outcome(folder: str, jobs: int) -> Outcome:
    run = checked(Request((folder,), jobs=jobs), Options(profile="strict"), BOOK)
    return Outcome(run.report, run.manifests.documents, run.manifests.inventory)


@pytest.fixture(scope="module")
def alone(folder: str) -> Outcome:
    found = outcome(folder, 1)
    said = found.report
    assert len(found.documents) > 60
    assert len(said.findings) > 40
    assert any(finding.rule == "api-would-reject" for finding in said.findings)
    assert {"tabs.yaml", "types.yaml", "latin.yaml"} <= {os.path.basename(error.path) for error in said.errors}
    return found


@pytest.fixture
def little_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_parallel, "_ENOUGH", 1)
    monkeypatch.setattr(read_parallel, "_CHUNK", 4 << 10)


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Nothing is taken back from other processes; filled with whether each chunk came from them."""
    monkeypatch.setattr(Future, "cancel", lambda self: False)
    brought: list[bool] = []

    def noted(
        self: read_parallel._Reading, number: int, real: Callable[..., object] = read_parallel._Reading._result
    ) -> object:
        read = real(self, number)
        brought.append(read is not None)
        return read

    monkeypatch.setattr(read_parallel._Reading, "_result", noted)
    return brought


def stumbling(monkeypatch: pytest.MonkeyPatch, stumble: Callable[[], object]) -> None:
    """What happens to another process when it comes to one of the files."""

    def read(file: InputFile, *others: object, real: Callable[..., Any] = read_parallel._read) -> Any:
        if file.path.endswith("list.yaml"):
            stumble()
        return real(file, *others)

    monkeypatch.setattr(read_parallel, "_read", read)


def fails() -> None:
    raise RecursionError


@pytest.mark.usefixtures("little_is_enough")
class TestTogether:
    @pytest.mark.parametrize("processes", [2, 3])
    def test_whoever_is_first_reads(self, folder: str, alone: Outcome, processes: int) -> None:
        assert outcome(folder, processes) == alone

    def test_all_is_read_elsewhere(self, folder: str, alone: Outcome, handed_over: list[bool]) -> None:
        assert outcome(folder, 2) == alone
        assert len(handed_over) > 5
        assert all(handed_over)

    def test_a_dead_process_loses_nothing(
        self, folder: str, alone: Outcome, handed_over: list[bool], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stumbling(monkeypatch, lambda: os._exit(1))
        assert outcome(folder, 2) == alone
        assert not all(handed_over)

    def test_what_fails_there_is_read_here(
        self, folder: str, alone: Outcome, handed_over: list[bool], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stumbling(monkeypatch, fails)
        assert outcome(folder, 2) == alone
        assert handed_over.count(False) == 1

    def test_no_process_is_to_be_had(self, folder: str, alone: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused() -> int:
            raise BlockingIOError("no more processes")

        monkeypatch.setattr(os, "fork", refused)
        assert outcome(folder, 2) == alone


def test_a_small_set_starts_no_process(folder: str, alone: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    assert outcome(folder, 2) == alone


@pytest.mark.parametrize("number", ["0", "-1", "two"])
def test_jobs_are_counted_from_one(number: str) -> None:
    command = [sys.executable, "-m", "kubesched_lint", "lint", "--jobs", number, SKETCH]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 2
    assert "--jobs" in run.stderr
    assert "Traceback" not in run.stderr


SERVED = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from kubesched_lint.commands.lint.workers import serve
pool = ProcessPoolExecutor(2, get_context("fork"), initializer=serve)
list(pool.map(time.sleep, [0.05] * 4))
print(*pool._processes, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_do_not_outlive_their_parent(end: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", SERVED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    if end is signal.SIGINT:  # as a terminal does: to all of them
        os.killpg(parent.pid, end)
    else:
        parent.send_signal(end)
    _, said = parent.communicate(timeout=20)
    assert said.count("Traceback") == (end is signal.SIGINT)  # that of the script itself
    assert until(lambda: not any(map(is_running, workers)))


def until(done: Callable[[], bool]) -> bool:
    for _ in range(200):
        if done():
            return True
        time.sleep(0.05)
    return False


def is_running(pid: int) -> bool:
    """An orphan that has ended may wait for an init process that never asks for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
