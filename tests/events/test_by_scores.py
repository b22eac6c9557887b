"""What ends well for the default scheduler's scores alone is told as such: no proof, no warning, a course each way."""

from __future__ import annotations

import json

from kubesched_lint.commands.verify.deployments import _is_inside
from kubesched_lint.commands.verify.recorded import Seen
from kubesched_lint.engine.base import work
from kubesched_lint.engine.events.answers.cells import BY_SCORES, DEPENDS, FINE, LIKELY
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.runs import courses
from kubesched_lint.engine.runs.aims import AGAIN
from kubesched_lint.report.simulation.report import as_json, as_text
from kubesched_lint.report.wording.verdict_words import mark
from tests.events.simulated import asking, cell, other, report_of, sketch, workload

FORMER = {"runs": 1, "wanted": lambda *_: courses.Wanted.BAD_END, "tries_scores": lambda *_: False}
"""What a plan asks of an end before the change that may be bad after it."""


def agents(**pod):
    return workload("DaemonSet", "agent", None, {**asking("1"), **pod})


def crowded(*more, web: int = 4):
    """Thirty nodes of four cores, which so many pods of one core may fill one of, and agents that come after them."""
    return report_of(sketch(10, "abc", "4"), agents(), workload("Deployment", "web", web, asking("1")), *more)


def test_another_choice_of_nodes_leaves_a_pod_pending():
    result = crowded()
    found = cell(result, "agent", "deploy")
    assert (found.verdict, found.proven, found.text) == (BY_SCORES, False, "30/30 by scores")
    assert str(found.bound) == "29–30"
    assert found.worst is not None
    assert found.best is not None
    assert (found.worst.bound, found.best.bound, found.best.complete) == (29, 30, True)
    assert "Insufficient cpu" in found.message
    assert not result.is_bad


def test_where_no_choice_can_fill_a_node_the_cell_is_proven_fine():
    found = cell(crowded(web=3), "agent", "deploy")
    assert (found.verdict, found.proven) == (FINE, True)


def test_a_workload_that_drives_out_others_by_force_does_not_hang_on_scores():
    urgent = other("PriorityClass", "urgent", "scheduling.k8s.io/v1", value=1000)
    web = workload("Deployment", "web", 4, asking("1"))
    result = report_of(sketch(10, "abc", "4"), agents(priorityClassName="urgent"), web, urgent)
    assert (cell(result, "agent", "deploy").verdict, cell(result, "agent", "deploy").proven) == (FINE, True)


def test_those_that_may_drive_out_others_are_followed_on_any_nodes():
    """They drive out nobody of their own priority, who may have taken nodes that the scores avoid."""
    urgent = other("PriorityClass", "urgent", "scheduling.k8s.io/v1", value=1000)
    in_a = {"nodeSelector": {ZONE: "a"}, "priorityClassName": "urgent"}
    large = workload("Deployment", "large", 1, {**asking("1500m"), **in_a})
    web = workload("Deployment", "web", 10, {**asking("600m"), "priorityClassName": "urgent"})
    weak = workload("Deployment", "weak", 1, asking("100m"))
    result = report_of(sketch(2, "abcdef", "2200m"), large, web, weak, urgent)
    lost = cell(result, "large", "node-loss")
    assert (lost.verdict, lost.proven) == (BY_SCORES, False)
    assert lost.worst is not None
    assert lost.worst.bound == 0
    rolled = cell(result, "large", "rollout")
    assert (rolled.verdict, mark(rolled)) == (BY_SCORES, "ok/stuck"), "the old pod runs on"


def test_the_report_names_both_courses_and_what_is_missing():
    result = crowded()
    text = as_text(result, verbose=True)
    for line in (
        "may fail, only in orders that the default scores avoid",
        "one way it ends badly, with other scores",
        "one way it ends well",
        "missing: a proof that no other trace of the default scheduler ends badly",
    ):
        assert line in text
    (row,) = (w for w in json.loads(as_json(result))["workloads"] if w["object"].endswith("agent"))
    (found,) = (c for c in row["cells"] if c["event"] == "deploy")
    assert (found["verdict"], found["proven"]) == ("by-scores", False)
    assert found["worst"]
    assert found["best"]


def test_it_contains_the_two_ends_that_it_names_and_no_other():
    found = cell(crowded(), "agent", "deploy")
    inside = {bound: _is_inside(found, Seen("Deployment", 30, bound)) for bound in (28, 29, 30)}
    assert inside == {28: False, 29: True, 30: True}


def test_workloads_of_one_shape_share_a_course_under_their_own_names(monkeypatch):
    """What is told of each is what a course against it alone shows."""
    several = [workload("DaemonSet", name, None, asking(cpu)) for name, cpu in [("agent", "1"), ("b", "1"), ("c", "2")]]
    asked, original = [], courses.Courses.ends_against

    def counting(self, event, number, draw, is_sought):
        asked.append(number)
        return original(self, event, number, draw, is_sought)

    monkeypatch.setattr(courses.Courses, "ends_against", counting)
    crowd = workload("Deployment", "web", 8, asking("1"))
    told, numbers = [], []
    for known in (courses.shape, lambda *_: None):
        monkeypatch.setattr(courses, "shape", known)
        told.append(json.loads(as_json(report_of(sketch(10, "abc", "8"), *several, crowd, events=("deploy",)))))
        numbers.append(set(asked))
        asked.clear()
    assert told[0] == told[1]
    assert numbers == [{0, 2}, {0, 1, 2}]
    rows = {row["object"].split("/")[1]: row["cells"] for row in told[0]["workloads"]}
    (bad,) = (c for c in rows["b"] if c["event"] == "deploy")
    assert bad["verdict"] == "by-scores"
    assert "b →" in str(bad["worst"])
    assert "agent" not in str(bad["worst"])


def test_alone_in_a_course_no_choice_of_nodes_is_tried(monkeypatch):
    """In a large set each workload has courses of its own, and counting knows how a course without others ends."""
    tried, original = [], courses.Courses._deployed

    def deployed(self, start):
        tried.append(start.against)
        return original(self, start)

    monkeypatch.setattr(courses.Courses, "_deployed", deployed)
    web = workload("Deployment", "web", 4, asking("1"))
    result = report_of(sketch(60, "abc", "4"), agents(), web, events=("deploy",))
    assert cell(result, "agent", "deploy").verdict == BY_SCORES
    assert courses.ANY_NODE not in tried
    assert len(tried) > 1, "those against it are followed"


def test_where_a_bad_end_is_enough_further_courses_seek_one(monkeypatch):
    """Which trace meets it is luck: one side of a plan is no better than the other for that."""
    asked = []

    def again(self, event, number, draw, is_sought):
        asked.append(draw)
        return self.ends_against(event, number, 0, is_sought) if draw in met else []

    monkeypatch.setattr(courses.Courses, "ends_again", again)
    web, verdicts, met = workload("Deployment", "web", 4, asking("1")), [], set()
    for draw in (AGAIN, 2):
        met.add(draw)
        result = report_of(sketch(10, "abc", "4"), agents(), web, events=("deploy",), **FORMER)
        verdicts.append(cell(result, "agent", "deploy").verdict)
    assert verdicts == [LIKELY, DEPENDS]
    assert asked == [*range(AGAIN), 0, 1, 2]


def test_a_further_course_that_takes_too_many_steps_takes_no_answer_away(monkeypatch):
    def too_long(*_):
        raise work.OutOfWorkError(work.WHY)

    monkeypatch.setattr(courses.EventOutcomes, "first_ends", too_long)
    web = workload("Deployment", "web", 4, asking("1"))
    result = report_of(sketch(10, "abc", "4"), agents(), web, events=("deploy",), **FORMER)
    assert cell(result, "agent", "deploy").verdict == LIKELY
