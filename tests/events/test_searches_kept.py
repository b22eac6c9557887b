"""What a matrix keeps of its searches."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.base import work
from kubesched_lint.engine.bounds.competition.contention import contention_of
from kubesched_lint.engine.bounds.least import least_placed
from kubesched_lint.engine.events.answers.cells import BAD
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import bare_timeline, timeline_of
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.verdicts import matrix as of_matrices
from kubesched_lint.engine.verdicts.matrix import EVENTS, Matrix


def test_the_search_of_a_workload_alone_is_forgotten_with_the_next_one() -> None:
    nodes = tuple(Node(f"n{i}", {"zone": f"z{i}"}, allocatable={"cpu": 1000, "pods": 9}) for i in range(2))
    pods = (Pod("default", {"app": f"web{i}"}, requests={"cpu": 700}, node_selector={"zone": f"z{i}"}) for i in (0, 1))
    workloads = tuple(Workload("Deployment", "default", pod.labels["app"], pod, replicas=2) for pod in pods)
    matrix = Matrix(SimulatedSet(nodes, Inventory(), workloads))
    for number in range(2):
        for event in EVENTS:
            matrix._search((number,), expected=False)
            matrix.cell(event, number)
    assert {members for members, _ in matrix._searched if len(members) == 1} == {(1,)}


def misspelt_beside_healthy() -> SimulatedSet:
    """A workload that no node may take, and five with room for all of their pods."""
    nodes = tuple(Node(f"n{i}", {"zone": "z"}, allocatable={"cpu": 9000, "pods": 99}) for i in range(4))
    pods = [Pod("default", {"app": f"w{i}"}, requests={"cpu": 100}, node_selector={"zone": "z"}) for i in range(5)]
    pods = [Pod("default", {"app": "lost"}, node_selector={"zone": "x"}), *pods]
    return SimulatedSet(
        nodes, Inventory(), tuple(Workload("Deployment", "default", p.labels["app"], p, 2) for p in pods)
    )


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The members of each search, when it begins."""
    found = []
    monkeypatch.setattr(of_matrices, "timeline_of", lambda *a, **k: found.append(a[1]) or timeline_of(*a, **k))
    return found


def test_what_ends_badly_for_every_scheduler_is_not_searched_for_the_default_one(begun: list[tuple[int, ...]]) -> None:
    """The second search follows the pods of all others, too, and can say nothing else."""
    matrix = Matrix(misspelt_beside_healthy())
    cells = [matrix.cell(event, 0) for event in EVENTS]
    assert {cell.verdict for cell in cells if cell.wanted} == {BAD}
    assert all(cell.proven for cell in cells if cell.wanted)
    assert begun == [(0,)]


def test_cells_do_not_begin_a_search_that_an_earlier_one_could_not_afford(begun: list[tuple[int, ...]]) -> None:
    matrix = Matrix(misspelt_beside_healthy())
    everybody = tuple(range(6))
    for _ in range(3):
        with work.within(5_000):
            assert matrix._search(everybody, expected=True) is None
    assert begun == [everybody]


def test_each_bad_cell_asks_the_same_index_for_its_message() -> None:
    """An index of 1,900 nodes with a taint each takes milliseconds."""
    setting = misspelt_beside_healthy()
    assert bare_timeline(setting, setting.workloads[0]).index is setting.index


def test_a_timeline_beyond_the_limit_makes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every bad cell of a large set asks for one; 2,000 of them took 20 s after the steps were used up."""
    entered = []
    monkeypatch.setattr(Timeline, "enter", lambda timeline, workload: entered.append(workload))
    setting = misspelt_beside_healthy()
    with work.within(0), pytest.raises(work.OutOfWorkError):
        timeline_of(setting, range(6), expected=True, most_states=0, runs=1)
    assert not entered


def test_what_meets_all_others_counts_as_work() -> None:
    setting = misspelt_beside_healthy()
    with work.within(1e9) as meter:
        contention_of(setting)
    assert meter.spent >= len(setting.workloads)
    with work.within(1e9) as meter:
        least_placed(setting.member(1), 2)
    assert meter.spent
