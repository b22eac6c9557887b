"""Several processes read what one would have read: the same report, whoever did what and whoever died of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from kubesched_lint import work
from kubesched_lint.analysis import attempts
from kubesched_lint.commands.lint import sharing, together
from kubesched_lint.commands.lint.run import Request, checked
from kubesched_lint.custom.kinds import SHIPPED
from kubesched_lint.findings import Report
from kubesched_lint.linter import in_parts, lint, refuting
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading import manifest_set
from kubesched_lint.manifests.document import Document
from kubesched_lint.manifests.loader import documents
from kubesched_lint.model.inventory import Inventory, identity
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


class Outcome(Struct, frozen=True):
    """What reading makes of the files, and what the rules that need no cluster say of it."""

    report: Report
    documents: tuple[Document, ...]
    inventory: Inventory


def outcome(folder: str, jobs: int, cluster: str | None = None) -> Outcome:
    run = checked(Request((folder,), cluster, jobs=jobs), Options(profile="strict"), BOOK)
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
    monkeypatch.setattr(together, "_ENOUGH", 1)
    monkeypatch.setattr(together, "_CHUNK", 4 << 10)
    monkeypatch.setattr(together, "_ENOUGH_WORKLOADS", 1)
    monkeypatch.setattr(in_parts, "FEWEST_ERRORS", 1)


@pytest.fixture
def here_only_at_last(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """This process takes no part while others live; filled with the parts that it did at last."""
    here = os.getpid()
    done: list[int] = []

    def taken(self: Any, real: Callable[[Any], int | None] = sharing._Team._taken) -> int | None:
        return None if os.getpid() == here and self._last else real(self)

    def begun(
        self: Any, count: int, do: Callable[[int], Any], *others: Any, real: Any = sharing._Team.__init__
    ) -> None:
        def noted(number: int) -> Any:
            if os.getpid() == here:
                done.append(number)
            return do(number)

        real(self, count, noted, *others)

    monkeypatch.setattr(sharing._Team, "_taken", taken)
    monkeypatch.setattr(sharing._Team, "__init__", begun)
    return done


def stumbling(monkeypatch: pytest.MonkeyPatch, stumble: Callable[[], object]) -> None:
    """What happens to another process when it comes to one of the files, or to the first rule about a workload."""
    here = os.getpid()

    def read(self: Any, found: Any, real: Callable[..., Any] = together._Reading._entries_of) -> Any:
        if os.getpid() != here and found.path.endswith("list.yaml"):
            stumble()
        return real(self, found)

    def of_part(
        self: Any, rules: Any, workloads: Any, world: Any, real: Callable[..., Any] = in_parts._RunInParts._of_part
    ) -> Any:
        if os.getpid() != here and workloads[0] is not self.manifests.inventory.workloads[0]:
            stumble()
        return real(self, rules, workloads, world)

    monkeypatch.setattr(together._Reading, "_entries_of", read)
    monkeypatch.setattr(in_parts._RunInParts, "_of_part", of_part)


def fails() -> None:
    raise RecursionError


@pytest.mark.usefixtures("little_is_enough")
class TestTogether:
    @pytest.mark.parametrize("processes", [2, 3])
    def test_whoever_is_free_works(self, folder: str, alone: Outcome, processes: int) -> None:
        assert outcome(folder, processes) == alone

    @pytest.mark.parametrize("processes", [2, 3])
    def test_all_is_done_elsewhere(
        self, folder: str, alone: Outcome, processes: int, here_only_at_last: list[int]
    ) -> None:
        assert outcome(folder, processes) == alone
        assert not here_only_at_last

    def test_a_dead_process_loses_nothing(
        self, folder: str, alone: Outcome, here_only_at_last: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stumbling(monkeypatch, lambda: os._exit(1))
        assert outcome(folder, 2) == alone
        assert here_only_at_last

    def test_what_fails_there_is_done_here(
        self, folder: str, alone: Outcome, here_only_at_last: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stumbling(monkeypatch, fails)
        assert outcome(folder, 2) == alone
        assert here_only_at_last

    def test_no_process_is_to_be_had(self, folder: str, alone: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused() -> int:
            raise BlockingIOError("no more processes")

        monkeypatch.setattr(os, "fork", refused)
        assert outcome(folder, 2) == alone


def test_a_small_set_starts_no_process(folder: str, alone: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    assert outcome(folder, 2) == alone


# --- rules in parts -------------------------------------------------------------------------------------------------

EXCERPT = str(ROOT / "fixtures/clusters/kubectl-get-excerpt.json")
"""It has a cordoned node, so rules run twice."""


@pytest.fixture(scope="module")
def distinct(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The examples of the cards that define no object of an example before them: one process judges copies."""
    there = tmp_path_factory.mktemp("distinct")
    seen: set[object] = set()
    for number, example in enumerate(TRIAL.examples):
        found = manifest_set(documents("m.yaml", example.manifest.encode(), SHIPPED.is_read), "default")
        objects = {(name, identity(item)) for name, items in found.inventory.lists() for item in items}
        if seen.isdisjoint(objects) and not found.inventory.has_duplicates:
            seen |= objects
            (there / f"{example.slug}-{number}.yaml").write_text(example.manifest)
    return str(there)


@pytest.fixture
def as_one(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Filled with whether each run in parts was as one process would have been."""
    done: list[bool] = []

    def concluded(*given: Any, real: Callable[..., Any] = in_parts.concluded) -> Any:
        done.append(False)
        found = real(*given)
        done[-1] = not work.limits_reached()
        return found

    monkeypatch.setattr(in_parts, "concluded", concluded)
    monkeypatch.setattr(work._LIMITS, "reached", 0)
    return done


@cache
def of_one_process(folder: str, cluster: str | None) -> Outcome:
    return outcome(folder, 1, cluster)


@pytest.fixture(scope="module", params=[None, SKETCH, EXCERPT], ids=["none", "sketch", "cordoned"])
def judged(request: pytest.FixtureRequest, distinct: str) -> tuple[str | None, Outcome]:
    """A cluster, and what one process says of the distinct objects on it."""
    found = of_one_process(distinct, request.param)
    assert len(found.report.findings) > 40
    return request.param, found


@pytest.mark.usefixtures("little_is_enough")
class TestInParts:
    @pytest.mark.parametrize("processes", [2, 3])
    def test_the_rules_say_the_same(
        self, distinct: str, judged: tuple[str | None, Outcome], processes: int, as_one: list[bool]
    ) -> None:
        cluster, wanted = judged
        assert outcome(distinct, processes, cluster) == wanted
        assert as_one == [True]

    def test_errors_are_refuted_everywhere(
        self, distinct: str, as_one: list[bool], here_only_at_last: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(attempts, "raising", False)
        monkeypatch.setattr(refuting.Attempts, "ended", lambda _, attempt: f"{attempt.one.finding.object} runs")
        wanted = outcome(distinct, 1, SKETCH)
        refuted = [f for f in wanted.report.findings if f"yet {f.object} runs" in f.evidence.text]
        assert len(refuted) > 5
        assert outcome(distinct, 2, SKETCH) == wanted
        assert as_one == [True]
        assert not here_only_at_last

    @pytest.mark.usefixtures("here_only_at_last")
    @pytest.mark.parametrize("stumble", [fails, lambda: os._exit(1)])
    def test_a_worker_that_fails_loses_nothing(
        self,
        distinct: str,
        stumble: Callable[[], object],
        as_one: list[bool],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        wanted = of_one_process(distinct, SKETCH)
        stumbling(monkeypatch, stumble)
        assert outcome(distinct, 2, SKETCH) == wanted
        assert as_one == [True]

    @pytest.mark.parametrize("most", [10_000, 40_000, 160_000, 800_000])
    def test_one_process_works_where_a_limit_is_near(
        self, distinct: str, most: int, as_one: list[bool], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lint, "MOST_STEPS", most)
        monkeypatch.setattr(lint, "STEPS_EACH", 0)
        monkeypatch.setattr(lint, "LEAST_STEPS", 100)
        wanted = outcome(distinct, 1, SKETCH)
        monkeypatch.setattr(work._LIMITS, "reached", 0)
        assert outcome(distinct, 2, SKETCH) == wanted
        is_cut = any(skip.cut for skip in wanted.report.skipped)
        assert is_cut == (most < 200_000)
        assert as_one != [True] or not is_cut


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
from kubesched_lint.commands.lint.sharing import serve
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
