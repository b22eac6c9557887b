"""However many replicas: the work of a cell is counted, and ends."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.answers.cells import BAD, FINE, NONE, UNKNOWN
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.events.search import events, explore
from kubesched_lint.engine.events.transitions.transitions import Transitions
from kubesched_lint.engine.verdicts.matrix import EVENTS, Matrix
from kubesched_lint.engine.verdicts.table import Table
from tests.events.simulated import asking, cell, report_of, sketch, workload
from tests.share import first

ZONE = "topology.kubernetes.io/zone"
NO_REQUESTS = {"containers": [{"name": "c"}]}


@pytest.fixture
def moves(monkeypatch):
    """How many times a course was asked for its next move."""
    asked = []
    original = Transitions.any_move

    def counting(self, state, random):
        asked.append(len(state.bound) + sum(map(len, state.bound)))
        return original(self, state, random)

    monkeypatch.setattr(Transitions, "any_move", counting)
    return asked


@pytest.mark.parametrize(
    ("kind", "more"),
    first(
        2,
        [
            ("Deployment", {}),
            ("StatefulSet", {"podManagementPolicy": "OrderedReady"}),
            ("StatefulSet", {"podManagementPolicy": "Parallel"}),
        ],
    ),
)
def test_ten_and_seventy_times_the_replicas_take_no_more_than_in_proportion(kind, more, moves):
    def work(replicas: int) -> int:
        moves.clear()
        # Eleven pods a node are less than each of these wants.
        result = report_of(sketch(1, "abcd", "4", "16"), workload(kind, "a", replicas, NO_REQUESTS, **more))
        assert cell(result, "a", "deploy").verdict in (BAD, UNKNOWN)
        assert cell(result, "a", "drain").text
        return len(moves)

    few = work(70)
    assert few > 0, "no course was followed, so that nothing is measured"
    assert work(700) <= 15 * few
    assert work(5_000) <= 15 * few


@pytest.mark.parametrize("replicas", [700, 5_000])
def test_a_cell_is_not_established_where_its_courses_are_too_long(replicas, moves):
    """There is room for nearly all, so that each course binds all of them."""
    big = workload("StatefulSet", "a", replicas, asking("10m"))
    result = report_of(sketch(1, "abcdef", "4", str(replicas // 6)), big, events=("deploy", "node-loss", "drain"))
    assert sum(moves) <= len(EVENTS) * 4 * explore.MOST_WORK
    found = cell(result, "a", "drain")
    assert found.verdict in (BAD, UNKNOWN)
    assert found.bound.most <= replicas


def test_a_course_that_is_cut_short_is_said_to_be(monkeypatch):
    monkeypatch.setattr(events, "MOST_WORK", 100)
    objects = [workload("Deployment", "a", 60, asking("700m")), workload("Deployment", "b", 70, asking("900m"))]
    result = report_of(sketch(10), *objects, pictured="node-loss")
    found = cell(result, "b", "deploy")
    assert found.verdict == UNKNOWN
    assert any("too many steps to follow a trace" in m for m in found.missing)
    assert result.before is None
    assert all(c.text for row in result.rows for c in row.cells if c.verdict != NONE)


def test_spreads_of_large_workloads_are_drawn_less_often(moves):
    spread = [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}]
    of = {"labelSelector": {"matchLabels": {"app": "a"}}}
    result = report_of(
        sketch(2, "abc", "400", "500"),
        workload("Deployment", "a", 900, {**asking("10m"), "topologySpreadConstraints": [{**spread[0], **of}]}),
        events=("deploy",),
    )
    (skew,) = [s.skew for s in result.skews if s.skew.event == "deploy"]
    assert skew.runs == 2
    assert len(moves) < 10_000


def test_a_search_that_must_meet_too_many_states_is_not_begun(monkeypatch):
    """Ten pods may come in any order, so the search over the whole set would end at the limit with nothing."""
    found, original = [], events.explore

    def exploring(*of, **limits):
        found.append(original(*of, **limits))
        return found[-1]

    monkeypatch.setattr(events, "explore", exploring)
    others = [workload("Deployment", f"w{n}", 1, asking("10m")) for n in range(10)]
    nowhere = workload("Deployment", "web", 1, {"nodeSelector": {ZONE: "z"}})
    result = report_of(sketch(1, "ab", "4", "110"), *others, nowhere, states=1_000, events=("deploy",))
    assert cell(result, "web", "deploy").verdict == BAD
    assert found
    assert all(each.complete for each in found)


def test_a_search_that_may_preempt_is_not_begun_either_if_it_must_meet_too_many_states(monkeypatch):
    """What finds room beside all others preempts nobody: such pods may come in any order, whatever else may happen."""
    found, original = [], events.explore

    def exploring(*of, **limits):
        found.append(original(*of, **limits))
        return found[-1]

    monkeypatch.setattr(events, "explore", exploring)
    others = [workload("Deployment", f"w{n}", 1, asking("10m")) for n in range(12)]
    strong = workload("Deployment", "strong", 2, {**asking("3"), "priority": 9})
    weak = workload("Deployment", "weak", 1, asking("3"))
    result = report_of(sketch(1, "ab", "4", "110"), *others, strong, weak, states=1_000, events=("deploy",))
    assert cell(result, "weak", "deploy").verdict == BAD
    assert all(each.complete for each in found)


def test_a_search_that_takes_too_many_steps_is_begun_once_and_traces_follow(monkeypatch):
    tried = []

    def exploring(self, members, *, expected):
        tried.append((members, expected))
        work.spend(10 * MOST_STEPS)

    monkeypatch.setattr(Matrix, "_explored", exploring)
    objects = [workload("Deployment", name, 2, asking("1500m")) for name in "ab"]
    result = report_of(sketch(2, "ab", "2", "110"), *objects, events=("node-loss", "zone-loss", "drain"))
    assert {cell(result, name, "zone-loss").verdict for name in "ab"} == {BAD}
    assert all(c.verdict != UNKNOWN for row in result.rows for c in row.cells)
    assert tried
    assert len(tried) == len(set(tried))


def test_a_row_that_takes_all_steps_in_other_scenarios_leaves_the_others_told(monkeypatch):
    original = Table._surviving

    def greedy(self, row, table):
        if self.simulated.workloads[row.number].name == "b":
            work.spend(10 * MOST_STEPS)
        return original(self, row, table)

    monkeypatch.setattr(Table, "_surviving", greedy)
    found = report_of(sketch(), *(workload("Deployment", name, 2) for name in "abc"), events=("deploy", "hpa-max"))
    assert [cell(found, name, "deploy").verdict for name in "abc"] == [FINE, UNKNOWN, FINE]
    assert cell(found, "b", "deploy").missing == (work.WHY,)
    assert cell(found, "b", "hpa-max").verdict == NONE
