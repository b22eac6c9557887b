"""What a simulation may cost: the budget by the size of the question, and what is computed once."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

import kubesched_lint
from benchmarks import hostile_shapes
from kubesched_lint.cli.app import app
from kubesched_lint.commands.simulate import run
from kubesched_lint.engine.base import work
from kubesched_lint.engine.bounds.losses import unreachable
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.storage.storage import Storage
from kubesched_lint.engine.events.search.hypotheses import made_unreachable
from kubesched_lint.engine.events.states.states import State
from kubesched_lint.engine.events.transitions.stored_volumes import StoredVolumes
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.devices.devices import DeviceClaim
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.scenario.pools import offers
from kubesched_lint.engine.verdicts import matrix
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.hostile.shapes import SHAPES, Files


def cluster_of(files: Files) -> Cluster:
    return kubesched_lint.load_cluster(text={"c.yaml": files.cluster})


def set_of(files: Files) -> ManifestSet:
    return manifest_set(documents("m.yaml", files.manifests.encode(), is_read), "default")


@pytest.mark.parametrize(
    ("shape", "size", "most", "each"),
    [
        ("crowd", 5, run.MOST_STEPS // 10, 0),
        ("crowd", 60, 0, run.STEPS_EACH_OF_ORDINARY),
        ("crowd", 201, run.MOST_STEPS // 3, run.STEPS_EACH_OF_LARGE),
        ("crowd", 801, run.MOST_STEPS // 3, 0),
        ("pools", 201, run.MOST_STEPS // 3, 0),
        ("apart", 60, run.MOST_STEPS // 3, 0),
        ("spreads", 40, run.MOST_STEPS // 3, 0),
        ("daemons", 501, run.MOST_STEPS // 3, run.STEPS_EACH_OF_LARGE),
        ("daemons", 2_001, run.MOST_STEPS // 3, 0),
    ],
)
def test_more_steps_are_for_sets_where_they_establish_more(shape: str, size: int, most: int, each: int) -> None:
    """Few workloads, few parts of their pods, few nodes; a larger effort raises each limit."""
    files = SHAPES[shape].make(size)
    manifests, nodes = set_of(files).inventory, len(cluster_of(files).inventory.nodes)
    steps, pools = min(most + each * len(manifests.workloads), run.MOST_STEPS), len(manifests.node_pools)
    assert run._steps(Effort(), manifests, nodes, pools) == steps
    assert run._steps(Effort(states=2 * Effort().states), manifests, nodes, pools) == 2 * steps


def test_more_steps_are_for_sets_whose_traces_are_longer() -> None:
    """Of pods, not of workloads: a DaemonSet has as many as nodes."""
    files = SHAPES["crowd"].make(60)
    manifests = set_of(files).inventory
    short = run._steps(Effort(), manifests, 10, 0)
    crowded = replace(manifests, workloads=tuple(replace(w, replicas=8) for w in manifests.workloads))
    daemons = replace(manifests, workloads=tuple(replace(w, kind="DaemonSet") for w in manifests.workloads))
    assert run._steps(Effort(), crowded, 10, 0) == 2 * short < run.MOST_STEPS
    assert run._steps(Effort(), daemons, 8, 0) == 2 * short


def spent_on(files: Files, monkeypatch: pytest.MonkeyPatch) -> float:
    """The steps of a whole simulation, of which none is counted twice."""
    spent, leave = list[float](), work.within.__exit__

    def left(limit: work.within, *reason: object) -> None:
        leave(limit, *reason)
        if limit.before == float("inf"):
            spent.append(limit.spent)

    monkeypatch.setattr(work.within, "__exit__", left)
    kubesched_lint.simulate(text={"m.yaml": files.manifests}, cluster=cluster_of(files))
    return max(spent)


@pytest.mark.parametrize("shape", ["own-devices", "devices-of-bare-pods"])
def test_devices_that_pods_take_count_as_work(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pod that takes or returns devices costs tens of microseconds, so its steps are counted."""
    changes, real = 0, Devices.with_claims

    def counted(devices: Devices, claims: Iterable[DeviceClaim]) -> Devices:
        nonlocal changes
        changes += 1
        return real(devices, claims)

    monkeypatch.setattr(Devices, "with_claims", counted)
    spent = spent_on(SHAPES[shape].make(6), monkeypatch)
    assert changes
    assert spent >= 50 * changes


def test_volumes_that_pods_take_count_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each state with other volumes copies all claims and volumes that there are; one with the same copies none."""
    spent, spend, show, free, last = list[float](), work.spend, StoredVolumes.of, list[float](), [Storage()]
    monkeypatch.setattr(work, "spend", lambda steps=1: spent.append(steps) or spend(steps))

    def shown(stored: StoredVolumes, state: State) -> Storage:
        before = len(spent)
        found = show(stored, state)
        if state.volumes and found is not last[0]:
            free.append((len(found.claims) + len(found.volumes)) // 8 - sum(spent[before:]))
        last[0] = found
        return found

    monkeypatch.setattr(StoredVolumes, "of", shown)
    files = SHAPES["labelled-volumes"].make(8)
    kubesched_lint.simulate(text={"m.yaml": files.manifests}, cluster=cluster_of(files))
    assert free
    assert max(free) <= 0


def test_a_loss_that_is_a_domain_takes_one_at_once() -> None:
    """Of as many zones as nodes each was held against each loss, for each workload."""
    domains = frozenset(1 << number for number in range(80))
    spent = []
    for lost in (1 << 40, 3 << 40):
        with work.within(1e12) as meter:
            assert unreachable._takes_one(lost, domains)
        spent.append(meter.spent)
    assert spent == [0, 20]


def test_nodes_that_report_no_more_count_as_work() -> None:
    nodes = cluster_of(SHAPES["own-zones"].make(30)).inventory.nodes
    with work.within(1e12) as meter:
        made_unreachable([nodes[0].name], nodes)
    assert meter.spent >= 30


def test_no_simulation_has_more_steps_than_ten_seconds_allow() -> None:
    few = set_of(SHAPES["full-zones"].make(10)).inventory
    many = set_of(SHAPES["full-zones"].make(run.MOST_LARGE[0])).inventory
    assert max(run._steps(Effort(), few, 12, 0), run._steps(Effort(), many, 960, 0)) <= run.MOST_STEPS


def test_an_inventory_indexes_its_claims_and_volumes_once() -> None:
    inventory = set_of(SHAPES["claims"].make(3)).inventory
    one, other = Storage.of(inventory), Storage.of(inventory)
    assert len(one.claims) == len(one.volumes) == 3
    assert one.claims is other.claims
    assert one.volumes is other.volumes


def test_a_simulation_names_no_workload_for_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    named, real = [], Workload.__str__
    monkeypatch.setattr(Workload, "__str__", lambda one: named.append(one.name) or real(one))
    files = SHAPES["ring"].make(20)
    found = kubesched_lint.simulate(
        text={"m.yaml": files.manifests}, cluster=cluster_of(files), events=("deploy",), states=10
    )
    assert len(found.outcomes) == 20
    assert len(named) <= 20


def test_a_group_is_not_looked_up_for_each_of_its_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell of a set whose workloads are all tied asked that of each, and hashed all of them each time."""
    asked, real = [], matrix.group_of
    monkeypatch.setattr(matrix, "group_of", lambda *given: asked.append(1) or real(*given))
    counts = []
    for size in (6, 12):
        asked.clear()
        files = SHAPES["ring"].make(size)
        kubesched_lint.simulate(text={"m.yaml": files.manifests}, cluster=cluster_of(files), states=10)
        counts.append(len(asked))
    assert counts[1] <= 2.5 * counts[0]


def test_all_pools_together_have_a_limit_of_machine_types(monkeypatch: pytest.MonkeyPatch) -> None:
    made, real = [], offers.templates
    monkeypatch.setattr(offers, "MOST_KINDS", 100)
    monkeypatch.setattr(offers, "templates", lambda *a: made.extend(real(*a)) or real(*a))
    files = SHAPES["pools"].make(20)
    kubesched_lint.lint(text={"m.yaml": files.manifests}, cluster=cluster_of(files))
    assert 20 <= len(made) <= 1_500, "of 20 pools with over 800 machine types each"


@pytest.mark.parametrize("command", ["lint", "simulate", "why"])
def test_the_benchmark_tells_a_report_from_a_run_that_failed_at_its_start(command: str, tmp_path: Path) -> None:
    files = SHAPES["crowd"].make(3)
    (tmp_path / "m.yaml").write_text(files.manifests)
    (tmp_path / "c.yaml").write_text(files.cluster)
    asked = list(hostile_shapes.arguments(command, files, tmp_path))[3:]
    assert hostile_shapes.REPORTS[command].search(CliRunner().invoke(app, asked).output)
    failed = CliRunner().invoke(app, [*asked, "--no-such-option"])
    assert not hostile_shapes.REPORTS[command].search(failed.output)


ASKED: dict[str, tuple[str, str, float]] = {
    "crowd": ("kubesched_lint.engine.verdicts.what_if", "_is_proof", 2.2),
    "ring": ("kubesched_lint.report.simulation.matrix_text", "short_names", 1.5),
    "misspelt-keys": ("kubesched_lint.engine.scenario.words", "_plain", 2.2),
}
"""Shape → the question of which each row once cost as many as there are others; how its number may grow with twice
the rows. ``short_names`` asks for all names."""


@pytest.mark.parametrize("shape", ASKED)
def test_rows_do_not_ask_about_all_others(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, question, most = ASKED[shape]
    where = pkgutil.resolve_name(owner)
    answer, asked = getattr(where, question), list[int]()

    def counted(*given: Any) -> Any:
        asked[-1] += 1
        return answer(*given)

    monkeypatch.setattr(where, question, counted)
    for count in (6, 12):
        asked.append(0)
        files = SHAPES[shape].make(count)
        hostile_shapes.write("simulate", files, tmp_path)
        CliRunner().invoke(app, list(hostile_shapes.arguments("simulate", files, tmp_path))[3:])
    assert 0 < asked[1] <= most * asked[0], asked
