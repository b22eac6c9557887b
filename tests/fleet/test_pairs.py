"""A plan of pairs (set, cluster): from targets or from a folder, by any executor, with one report."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from kubesched_lint.cli.app import app
from kubesched_lint.commands.fleet.executors import OwnWorkers, RemoteWorkers, TaskExecutor
from kubesched_lint.commands.fleet.plan import FleetPlan, Pair
from kubesched_lint.commands.fleet.run import FleetRun, judge_plan
from kubesched_lint.commands.fleet.tasks import tasks_of
from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.custom.own import kinds_with
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.linter.options import Options
from kubesched_lint.report.findings.footer import summary_of
from tests.fleet.judging import BOOK

ROOT = Path(__file__).parents[2]
WORKLOAD = """apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      nodeSelector: {{pool: general}}
      containers: [{{name: c, image: "i:1", resources: {{requests: {{cpu: "3"}}}}}}]
"""
SKETCH = """apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{{name: worker, count: {count}, labels: {{pool: {pool}}}, allocatable: {{cpu: "4", pods: "110"}}}}]
"""
CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: other}]
"""


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sets and three clusters, which lie among the manifests of ``all``, as the working folder."""
    for name in ("web", "api"):
        folder = tmp_path / "all" / name
        folder.mkdir(parents=True)
        (folder / f"{name}.yaml").write_text(WORKLOAD.format(name=name))
    (tmp_path / "all" / "clusters").mkdir()
    for name, count, pool in (("big", 4, "general"), ("small", 2, "general"), ("other", 4, "spot")):
        (tmp_path / "all" / "clusters" / f"{name}.yaml").write_text(SKETCH.format(count=count, pool=pool))
    (tmp_path / "scheduler.yaml").write_text(CONFIG)
    (tmp_path / "CODEOWNERS").write_text("web/ @web\napi/ @api\n")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pairs(*names: str, **more: Any) -> FleetPlan:
    """A plan for pairs such as ``web on big``."""
    made = []
    for name in names:
        folder, _, cluster = name.partition(" on ")
        path = "all" if folder == "all" else f"all/{folder}"
        request = Request((path,), f"all/clusters/{cluster}.yaml", is_one_of_many=True, **more)
        made.append(Pair(name, request, Options()))
    return FleetPlan(tuple(made), BOOK)


def judged(plan: FleetPlan, executor: TaskExecutor | None = None, reasons: list[str] | None = None) -> FleetRun:
    return judge_plan(plan, summary_of, executor, lost=(pytest.fail if reasons is None else reasons.append))


class Elsewhere(Executor):
    """A worker in an empty folder: relative paths lead it nowhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with chdir(self.folder):
            future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture
def remote(tmp_path_factory: pytest.TempPathFactory) -> RemoteWorkers:
    return RemoteWorkers(Elsewhere(tmp_path_factory.mktemp("elsewhere") / "empty"), 2)


@pytest.fixture
def threads() -> Iterator[OwnWorkers]:
    with ThreadPoolExecutor(2) as pool:
        yield OwnWorkers(pool, 2)


ONE_SET = ("web on big", "web on small", "web on other")
SETS = ("web on big", "api on small", "api on other")


@pytest.mark.parametrize("names", [ONE_SET, SETS])
def test_every_executor_judges_pairs_as_this_process_does(
    repo: Path, names: tuple[str, ...], remote: RemoteWorkers, threads: OwnWorkers
) -> None:
    alone = judged(pairs(*names))
    assert {finding.owner for finding in alone.report.findings} <= {"@web", "@api"}
    assert any(outcome.report.findings for outcome in alone.outcomes)
    assert judged(pairs(*names), threads) == alone
    assert judged(pairs(*names), remote) == alone
    for outcome, pair in zip(alone.outcomes, pairs(*names).pairs, strict=True):
        assert outcome.report == check(pair.request, pair.options, BOOK)


def test_a_remote_worker_is_brought_the_baseline_and_the_scheduler(repo: Path, remote: RemoteWorkers) -> None:
    entry = {"rule": "nodeselector-matches-nothing", "severity": "error", "kind": "Deployment", "namespace": "shop",
             "name": "web", "at": "spec.template.spec.nodeSelector.pool"}  # fmt: skip
    baseline = {"kubesched-lint-baseline": 1, "findings": [entry]}
    (repo / "known.json").write_text(json.dumps(baseline))
    options = ClusterOptions(None, "complete", scheduler_config="scheduler.yaml")
    plan = pairs(*ONE_SET, baseline="known.json", cluster_options=options)
    alone = judged(plan)
    assert not any(outcome.report.errors for outcome in alone.outcomes)
    assert [f.rule for f in alone.report.findings if f.suppressed and f.suppressed.known] == [entry["rule"]]
    assert judged(plan, remote) == alone


def test_what_cannot_be_sent_is_judged_here(repo: Path, remote: RemoteWorkers) -> None:
    (repo / "all" / "clusters" / "small.yaml").unlink()
    alone = judged(pairs(*SETS))
    assert [error.path for error in alone.report.errors] == ["all/clusters/small.yaml"]
    assert judged(pairs(*SETS), remote) == alone
    kept = [task.stays for task in tasks_of(pairs("api on small"), 2, see_files=False)]
    assert kept == [True]


def test_a_live_cluster_is_not_asked_from_elsewhere(repo: Path) -> None:
    plan = pairs("web on big")
    (pair,) = plan.pairs
    live = replace(plan, pairs=(replace(pair, request=replace(pair.request, cluster="live")),))
    assert [task.stays for task in tasks_of(live, 2, see_files=False)] == [True]


def test_the_clusters_of_a_plan_are_no_manifests(repo: Path) -> None:
    """Neither its own cluster nor that of another pair is read as a manifest."""
    clusters = {os.path.realpath(path): path for path in ("all/clusters/big.yaml", "all/clusters/small.yaml")}
    run = judged(pairs("all on big", "all on small", clusters_beside=clusters))
    for outcome in run.outcomes:
        left_out = {item.path: item.reason for item in outcome.report.summary.left_out}
        assert left_out == {
            "all/clusters/big.yaml": "the cluster (--cluster)",
            "all/clusters/small.yaml": "the cluster (--cluster)",
            "all/clusters/other.yaml": "a snapshot or sketch of a cluster",
        }


def test_one_set_is_for_many_workers_and_overlapping_sets_for_one(repo: Path) -> None:
    tasks = list(tasks_of(pairs(*ONE_SET), 2, see_files=True))
    assert [len(task.pairs) for task in tasks] == [2, 1]
    assert all(task.brought.sets for task in tasks)
    many = pairs(*(f"web on {number}" for number in range(100)))
    sizes = {workers: {len(task.pairs) for task in tasks_of(many, workers, see_files=True)} for workers in (0, 1, 4)}
    assert sizes == {0: {100}, 1: {25}, 4: {6, 4}}
    apart = list(tasks_of(pairs(*SETS), 2, see_files=True))
    assert [[pair.name for pair in task.pairs] for task in apart] == [["web on big"], ["api on small", "api on other"]]
    assert not any(task.brought.sets for task in apart)


def test_pairs_with_own_cards_share_what_they_read(repo: Path) -> None:
    (repo / "ops").mkdir()
    shutil.copy(ROOT / "workloads" / "rollouts.argoproj.io.md", repo / "ops")
    kinds = kinds_with(("ops",))
    plan = pairs(*ONE_SET)
    own = replace(plan, pairs=tuple(replace(pair, options=Options(kinds=kinds)) for pair in plan.pairs))
    assert judged(own).report.findings == judged(plan).report.findings != ()


# --- the two commands -----------------------------------------------------------------------------------------------


def run(*args: str) -> Result:
    return CliRunner().invoke(app, list(args))


PLACES = {"drawn": "all/clusters/big.yaml", "live": "all/live"}
TARGETS = "\n".join(
    f'[[targets]]\nname = "{name}"\npaths = ["all/web"]\ncluster = "all/clusters/{name}.yaml"'
    for name in ("big", "small", "other")
)


def test_a_folder_of_clusters_and_targets_make_the_same_report(repo: Path) -> None:
    (repo / "kubesched.toml").write_text(TARGETS)
    of_targets = run("fleet", "--executor", "serial")
    of_clusters = run("fleet", "all/web", "--clusters", "all/clusters", "--executor", "serial", "--no-config")
    assert (of_targets.exit_code, of_clusters.exit_code) == (1, 1)

    def found(result: Result) -> list[str]:
        return [line for line in result.stdout.splitlines() if line.startswith("all/web/web.yaml")]

    assert found(of_targets) == found(of_clusters) != []
    shown = [line for line in run("lint", "--format", "concise").stdout.splitlines() if " error " in line]
    assert [line.rpartition(" (in ")[2] for line in shown] == ["other)", "small)"], (
        "so does the format of one line each"
    )


def test_one_target_reads_what_it_reads_among_all(repo: Path) -> None:
    """The cluster of another target, a folder among its manifests, has a ReplicaSet, which is no manifest."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4"}}}
    (repo / "all" / "live").mkdir()
    (repo / "all" / "live" / "nodes.json").write_text(json.dumps(node))
    (repo / "all" / "live" / "sets.yaml").write_text(WORKLOAD.format(name="runs").replace("Deployment", "ReplicaSet"))
    targets = (f'[[targets]]\nname = "{n}"\npaths = ["all"]\ncluster = "{c}"\n' for n, c in PLACES.items())
    (repo / "kubesched.toml").write_text("".join(targets))
    for name in PLACES:
        shown = json.loads(run("lint", "--target", name, "--format", "json").stdout)
        assert shown["summary"]["workloads"] == 2, name
    both = json.loads(run("lint", "-j", "1", "--format", "json").stdout)
    assert both["summary"]["workloads"] == 2


def test_fleet_exits_as_lint_does(repo: Path) -> None:
    for more, code in {
        "shadow = true": 0,
        'unclaimed = "error"': 2,
        "": 1,
    }.items():
        (repo / "kubesched.toml").write_text(f"{more}\n{TARGETS}")
        codes = run("lint", "-j", "1").exit_code, run("fleet", "--executor", "serial").exit_code
        assert codes == (code, code), more
    (repo / "kubesched.toml").write_text(f"shadow = true\n{TARGETS}")
    shown = json.loads(run("fleet", "--executor", "serial", "--format", "json").stdout)
    assert [cluster["exitCode"] for cluster in shown["clusters"]] == [0, 0, 0]
