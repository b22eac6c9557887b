"""One set against many clusters: the same results whoever does the work, and nothing lost when somebody dies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.fleet import judge as judging
from kubesched_lint.commands.fleet import run as module
from kubesched_lint.commands.fleet.executors import OwnWorkers, RemoteWorkers, TaskExecutor, executor_of
from kubesched_lint.commands.fleet.judge import PairOutcome, judge_as_data, judge_pair, judge_task
from kubesched_lint.commands.fleet.plan import FleetError, Pair, clusters_in
from kubesched_lint.commands.fleet.tasks import Task
from kubesched_lint.commands.lint.run import Request, Shared, check
from kubesched_lint.findings import Report, Severity
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.results.causes import one_per_cause
from kubesched_lint.report.findings import as_json
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import exit_code
from kubesched_lint.report.fleet import render_json, render_text
from tests.fleet.judging import BOOK, fleet_of, on_clusters
from tests.program import called

ROOT = Path(__file__).parents[2]
SHOP = str(ROOT / "fixtures/shop")
CLUSTERS = ROOT / "fixtures/clusters"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four clusters: a sketch, a dump, the same dump as a folder in another format, and a broken file. Only read."""
    there = tmp_path_factory.mktemp("fleet") / "clusters"
    (there / "whole").mkdir(parents=True)
    shutil.copy(CLUSTERS / "three-zones.yaml", there / "sketch.yaml")
    shutil.copy(CLUSTERS / "kubectl-get.json.gz", there / "dump.json.gz")
    shutil.copy(CLUSTERS / "kubectl-get.yaml.gz", there / "whole" / "all.yaml.gz")
    (there / "broken.json").write_text("{")
    (there / "notes.txt").write_text("not a cluster")
    return there


def results(outcomes: tuple[PairOutcome, ...]) -> list[tuple[str, Report]]:
    """Without the age of the snapshot, which grows while we look."""
    return [(o.name, replace(o.report, summary=replace(o.report.summary, cluster=""))) for o in outcomes]


def run(
    folder: Path, chosen: TaskExecutor | None = None, lost: Callable[[str], None] = pytest.fail
) -> tuple[PairOutcome, ...]:
    return on_clusters(SHOP, str(folder), chosen, lost).outcomes


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> tuple[PairOutcome, ...]:
    """Of one process, without an executor."""
    return run(folder)


@pytest.fixture(scope="module")
def alone(outcomes: tuple[PairOutcome, ...]) -> list[tuple[str, Report]]:
    return results(outcomes)


def test_every_cluster_gets_the_report_of_lint(outcomes: tuple[PairOutcome, ...]) -> None:
    assert [o.name for o in outcomes] == ["broken", "dump", "sketch", "whole"]
    for outcome in outcomes:
        single = check(Request((SHOP,), outcome.cluster), Options(), BOOK)
        # How to mend is said where it can be done: by lint.
        notes = tuple(note for note in single.summary.notes if "--diff shows how" not in note)
        single = replace(single, summary=replace(single.summary, notes=notes))
        assert results((outcome,)) == results((replace(outcome, report=single),))
    assert outcomes[0].report.errors
    assert [f.message for f in outcomes[1].report.findings] == [f.message for f in outcomes[3].report.findings]


@pytest.mark.parametrize("name", ["processes:2", "threads:3", "serial"])
def test_the_executor_does_not_matter(folder: Path, alone: list[tuple[str, Report]], name: str) -> None:
    with executor_of(name, 4) as chosen:
        assert results(run(folder, chosen)) == alone


def test_workers_that_do_not_see_our_files_are_sent_them(folder: Path, alone: list[tuple[str, Report]]) -> None:
    with ThreadPoolExecutor(1) as executor:
        seen: list[Task] = []

        class Elsewhere(Executor):
            def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
                seen.extend(args)
                return executor.submit(fn, *args, **kwargs)

        assert results(run(folder, RemoteWorkers(Elsewhere(), 4))) == alone
    assert all(task.brought.files[pair.request.cluster or ""] for task in seen for pair in task.pairs)


# --- workers that die -----------------------------------------------------------------------------------------------


def _dies(parent: int, task: Task) -> tuple[PairOutcome, ...]:
    """In a worker, of the task with ``dump``."""
    if any(pair.name == "dump" for pair in task.pairs) and os.getpid() != parent:
        os._exit(9)
    return judge_task(task)


def _as_data(function: Callable[[Task], Any], task: Task) -> bytes:
    import msgspec

    return msgspec.msgpack.encode(function(task))


class Replacing(Executor):
    """Hands ``judge_task`` over as another function, to a remote worker as one that brings back data."""

    def __init__(self, inner: Executor, function: Callable[[Task], Any]) -> None:
        self._inner, self._function = inner, function

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        assert fn in (judge_task, judge_as_data)
        function = self._function if fn is judge_task else partial(_as_data, self._function)
        return self._inner.submit(function, *args, **kwargs)


def test_a_process_that_dies_loses_nothing(folder: Path, alone: list[tuple[str, Report]]) -> None:
    reasons: list[str] = []
    with ProcessPoolExecutor(2) as executor:
        chosen = OwnWorkers(Replacing(executor, partial(_dies, os.getpid())), 2)
        assert results(run(folder, chosen, reasons.append)) == alone
    (reason,) = reasons
    assert "dump" in reason
    assert "a worker died" in reason


def _of_another_version(task: Task) -> tuple[PairOutcome, ...]:
    return judge_task(replace(task, version="0.0.1"))


def test_a_worker_of_another_version_is_not_trusted(folder: Path, alone: list[tuple[str, Report]]) -> None:
    reasons: list[str] = []
    with ThreadPoolExecutor(1) as executor:
        assert results(run(folder, OwnWorkers(Replacing(executor, _of_another_version)), reasons.append)) == alone
    assert len(reasons) == 1
    assert reasons[0].startswith("broken, dump, sketch and whole: linted in this process, because")
    assert "the worker has kubesched-lint" in reasons[0]


def test_work_that_nobody_does_any_more_is_done_here(
    folder: Path, alone: list[tuple[str, Report]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            return Future()

    monkeypatch.setattr(module, "_LOOK_AFTER", 0.01)
    reasons: list[str] = []
    assert results(run(folder, OwnWorkers(Silent(), 4, is_alive=lambda: False), reasons.append)) == alone
    assert "a worker died" in reasons[0]


@pytest.mark.parametrize("is_serial", [False, True])
def test_what_fails_here_too_is_an_error_of_that_cluster_alone(
    folder: Path, is_serial: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(pair: Pair, task: Task, shared: Shared) -> PairOutcome:
        if pair.name == "dump":
            raise MemoryError("too much")
        return judge_pair(pair, task, shared)

    monkeypatch.setattr(judging, "judge_pair", fails)
    with ThreadPoolExecutor(1) as executor:
        outcomes = run(folder, None if is_serial else OwnWorkers(executor, 4), lambda _: None)
    by_name = {outcome.name: outcome.report for outcome in outcomes}
    assert by_name["dump"].errors[0].message == "linting failed with MemoryError: too much"
    assert by_name["sketch"].findings


# --- a real Dask cluster --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
    ):
        yield cluster


@pytest.mark.thorough
def test_a_real_dask_cluster_gives_the_same_and_survives_the_loss_of_a_worker(
    dask: Any, folder: Path, alone: list[tuple[str, Report]]
) -> None:
    name = f"dask://{dask.scheduler_address.removeprefix('tcp://')}"
    with executor_of(name, 4) as chosen:
        assert isinstance(chosen, RemoteWorkers)
        assert (chosen.workers, chosen.sees_files, chosen.is_alive()) == (2, False, True)
        assert results(run(folder, chosen)) == alone
        # Whichever worker takes the dump is killed as often as Dask tries it; then we do it.
        reasons: list[str] = []
        dying = RemoteWorkers(Replacing(chosen.pool, partial(_dies, os.getpid())), 2, chosen.is_alive)
        assert results(run(folder, dying, reasons.append)) == alone
        assert any("dump" in line and "KilledWorker" in line for line in reasons)


def test_a_scheduler_that_does_not_answer_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    from kubesched_lint.commands.fleet import executors

    monkeypatch.setattr(executors, "_DASK_SECONDS", 0.5)
    with (
        pytest.raises(FleetError, match=r"dask://127.0.0.1:9: no Dask scheduler answers"),
        executor_of("dask://127.0.0.1:9", 2),
    ):
        pass


# --- what people see ------------------------------------------------------------------------------------------------


def test_the_table_has_rules_by_clusters(outcomes: tuple[PairOutcome, ...]) -> None:
    text = "".join(render_text(fleet_of(outcomes), RenderContext()))
    lines = text.splitlines()
    head = next(line for line in lines if line.split() == ["broken", "dump", "sketch", "whole"])
    row = next(line for line in lines if line.startswith("anti-affinity-exceeds-domains"))
    assert row.split() == ["anti-affinity-exceeds-domains", "skip", "1W", "1E", "1W"]
    assert len(row) == len(head), "columns stand under their heads"
    total = next(line for line in lines if line.startswith("total"))
    assert "!" in total, "a cluster that cannot be read is marked"
    assert any("error[anti-affinity-exceeds-domains]" in line and line.endswith("(in sketch)") for line in lines)
    assert "sketch: 6 nodes from " in text
    assert text.endswith("4 clusters, 0 without errors\n")


def test_zones_and_numbers_are_those_of_the_clusters_named(tmp_path: Path) -> None:
    """One cluster has two zones, one has one: each line tells of the cluster behind it."""
    manifest, clusters = tmp_path / "web.yaml", tmp_path / "clusters"
    clusters.mkdir()
    manifest.write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 4\n"
        "  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n"
        "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: "
        "{matchLabels: {app: web}}, topologyKey: topology.kubernetes.io/zone}]}}\n"
        "      containers: [{name: c, image: i}]\n"
    )
    for name, zones in (("big", "[a, b]"), ("small", "[c]"), ("tiny", "[c]")):
        head = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n"
        (clusters / f"{name}.yaml").write_text(f"{head}nodes: [{{name: w, zones: {zones}}}]\n")
    text = "".join(render_text(on_clusters(str(manifest), str(clusters)), RenderContext()))
    reasons = [line for line in text.splitlines() if "error[anti-affinity-exceeds-domains]" in line]
    assert [line.partition(" default/web ")[2] for line in reasons] == [
        "stay Pending: each needs a zone of its own, and there are 2 that it can use (in big)",
        "stay Pending: each needs a zone of its own, and there is one that it can use (in small, tiny)",
    ]
    assert ["2 of 4 pods" in line for line in reasons] == [True, False]


def test_many_clusters_become_several_tables_that_fit(outcomes: tuple[PairOutcome, ...]) -> None:
    many = tuple(replace(outcomes[2], name=f"cluster-number-{n}") for n in range(9))
    lines = "".join(render_text(fleet_of(many), RenderContext(width=80))).splitlines()
    tables = [line for line in lines if line.startswith(" ") and "cluster-number" in line and ":" not in line]
    assert len(tables) > 2
    assert all(len(line) <= 80 for line in tables)
    assert " ".join(tables).split() == [f"cluster-number-{n}" for n in range(9)]


def test_json_holds_the_reports_and_the_table(outcomes: tuple[PairOutcome, ...]) -> None:
    found = json.loads("".join(render_json(fleet_of(outcomes), RenderContext())))
    assert found["table"]["anti-affinity-exceeds-domains"]["sketch"] == {"error": 1}
    assert [c["name"] for c in found["clusters"]] == ["broken", "dump", "sketch", "whole"]
    assert found["clusters"][0]["exitCode"] == 2
    assert found["clusters"][2]["report"]["findings"]
    merged = json.loads("".join(as_json.render(one_per_cause(fleet_of(outcomes).report), RenderContext())))
    assert {key: found[key] for key in merged} == merged, "it has all that lint prints of targets"
    assert {tuple(finding["targets"]) for finding in found["findings"]} >= {("sketch",), ("dump", "whole")}


def test_the_exit_code_is_the_worst(outcomes: tuple[PairOutcome, ...]) -> None:
    of = {o.name: o for o in outcomes}
    assert exit_code(fleet_of((of["sketch"],)).report, Severity.ERROR) == 1
    assert exit_code(fleet_of((of["sketch"], of["broken"])).report, None) == 2
    assert exit_code(fleet_of((of["sketch"],)).report, None) == 0


def test_names_that_would_be_one_keep_their_endings(tmp_path: Path) -> None:
    for name in ("a.json", "a.yaml", "b.json.gz", ".hidden.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "empty").mkdir()
    assert [name for name, _ in clusters_in(str(tmp_path))] == ["a.json", "a.yaml", "b"]
    (tmp_path / "a.yaml.yaml").write_text("{}")
    names = [name for name, _ in clusters_in(str(tmp_path))]
    assert names == ["a.json", "a.yaml", "a.yaml.yaml", "b"], "two clusters of one name had one report"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--clusters", "nowhere"], "error: nowhere: cannot be listed: No such file or directory"),
        (["--clusters", "."], "error: .: no cluster found: "),
        (["--clusters", "two", "--executor", "ray"], "error: --executor ray: unknown; use processes[:N], threads[:N],"),
        (["--clusters", "two", "--executor", "processes:0"], "error: --executor processes:0: unknown; use"),
        (["--clusters", "two", "--select", "nosuch"], "error: there is no rule or family `nosuch`"),
        (["--clusters", "two", "--format", "sarif"], "'sarif' is not one of text, json"),
    ],
)
def test_what_cannot_be_is_one_message(tmp_path: Path, args: list[str], words: str) -> None:
    (tmp_path / "two").mkdir()
    for name in ("a", "b"):
        shutil.copy(CLUSTERS / "three-zones.yaml", tmp_path / "two" / f"{name}.yaml")
    if args[1] == ".":
        shutil.rmtree(tmp_path / "two")
    done = command(tmp_path, SHOP, *args)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def command(cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return called("fleet", *args, cwd=cwd)


def test_the_command_writes_a_file_and_says_how_it_went(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "clusters", ignore=shutil.ignore_patterns("broken.json", "whole"))
    shown = command(tmp_path, SHOP, "--clusters", "clusters")
    assert shown.returncode == 1, shown.stderr
    assert "2 clusters, 0 without errors" in shown.stdout
    kept = command(tmp_path, SHOP, "--clusters", "clusters", "-f", "json", "-o", "out.json", "--fail-on", "never")
    assert (kept.returncode, kept.stdout) == (0, "")
    assert len(json.loads((tmp_path / "out.json").read_text())["clusters"]) == 2
