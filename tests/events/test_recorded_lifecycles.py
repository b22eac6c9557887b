"""Recorded lifecycles of a real v1.36.2 control plane lie inside our outcome sets, and these are narrow."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kubesched_lint.commands.verify.agreement import Agreement
from kubesched_lint.commands.verify.lifecycle_sets import verify_lifecycle
from kubesched_lint.engine.answers.cells import outcomes
from kubesched_lint.engine.conformance import possible, predictions, timeline_of
from kubesched_lint.engine.events.search.trace import replays, trace
from tests.share import examples, first, some

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "conformance"


def cases(name: str) -> list[str]:
    return gzip.decompress((RECORDINGS / f"{name}.jsonl.gz").read_bytes()).decode().splitlines()


@pytest.mark.parametrize(
    ("name", "at_least"),
    first(
        2, [("lifecycles", 400), ("lifecycles-midrollout", 108), ("lifecycles-wide", 400), ("lifecycles-wide-2", 606)]
    ),
)
def test_every_recorded_outcome_is_one_we_hold_possible(name, at_least):
    account = Agreement(name)
    for line in cases(name):
        list(verify_lifecycle(json.loads(line), account))
    assert account.disagreements == []
    assert account.pods >= at_least
    searched = account.figures["searched to the end"]
    assert searched.agreed == searched.asked


def test_the_recorded_draws_are_not_narrowed_away():
    """l2180 ended in three different ways in three runs; the set holds them all, as correlated outcomes."""
    case = next(c for c in map(json.loads, cases("lifecycles")) if c["id"] == "l2180")
    _, _, timeline, phase = next(timeline_of(case))
    ends = outcomes(phase.transitions, phase.exploration.finals)
    web, cache = timeline.numbers["DaemonSet", "default", "web"], timeline.numbers["Deployment", "default", "cache"]
    pairs = {(e[web].bound, e[cache].bound) for e in ends}
    assert {(6, 0), (5, 1), (2, 2)} <= pairs
    assert (6, 2) not in pairs, "the two are at each other's expense"


def test_predictions_do_not_read_the_runs():
    case = json.loads(cases("lifecycles-wide")[0])
    blind = {key: value for key, value in case.items() if key != "runs"}
    assert list(predictions(blind)) == list(predictions(case))


def test_the_statefulset_of_an_old_revision_stays_stuck():
    """l2021: a waiting pod of the old revision is never replaced by the fixed template."""
    case = next(c for c in map(json.loads, cases("lifecycles")) if c["id"] == "l2021")
    *_, (_, _, _, phase) = timeline_of(case)
    (end,) = outcomes(phase.transitions, phase.exploration.finals)
    assert [(o.bound, o.pending, o.new) for o in end.values()] == [(0, 1, 0)]


@pytest.mark.parametrize(
    ("case_id", "workload", "phase_index", "ends"),
    [
        # A ReplicaSet refills itself: amid a stuck rollout the drained old pod is made anew by the old one.
        ("l800198", "Deployment/cache", 2, {(4, 3, 1, 6)}),
        # A pod may be tried while those that it wants to stand beside terminate, and is not woken when they are gone.
        ("l840097", "Deployment/web", 1, {(2, 0, 2, 0), (0, 2, 2, 0)}),
        # The pods of a lost zone go one by one, and an ordered StatefulSet makes anew what it finds missing first.
        ("l840115", "StatefulSet/cache", 2, {(0, 1, 1, 0), (0, 2, 2, 0), (0, 3, 3, 0)}),
    ],
)
def test_who_makes_pods_anew_when_others_take_them(case_id, workload, phase_index, ends):
    case = next(c for c in map(json.loads, cases("lifecycles-midrollout")) if c["id"] == case_id)
    found = next(possible(timeline, phase) for i, _, timeline, phase in timeline_of(case) if i == phase_index)
    assert {(o.bound, o.pending, o.new, o.old) for o in found[workload]} == ends


def test_a_trace_replays_and_a_forged_one_does_not():
    case = json.loads(cases("lifecycles")[3])
    *_, (_, _, timeline, phase) = timeline_of(case)
    parts = trace(timeline.phases, next(iter(phase.exploration.finals)))
    assert all(map(replays, parts))
    forged = next(s for s in parts if any(step.what == "bind" for step, _ in s.steps))
    at = next(i for i, (step, _) in enumerate(forged.steps) if step.what == "bind")
    step, after = forged.steps[at]
    state = forged.start if at == 0 else forged.steps[at - 1][1]
    wrong = [p for p in range(len(forged.model.index)) if p not in forged.model.candidate_nodes(state, step.slot)]
    if wrong:
        steps = (*forged.steps[:at], (step._replace(position=wrong[0]), after))
        assert not replays(type(forged)(forged.name, forged.model, forged.start, steps))


def test_five_hundred_seeded_runs_never_leave_the_sets():
    traces = 0
    for number, line in some(enumerate(cases("lifecycles") + cases("lifecycles-wide"))):
        case = json.loads(line)
        sets = [possible(timeline, phase) for _, _, timeline, phase in timeline_of(case)]
        for i, _, timeline, phase in timeline_of(case, runs=6, seed=number):
            traces += timeline.runs
            for end in outcomes(phase.transitions, phase.exploration.finals):
                for (kind, _, name), workload in timeline.numbers.items():
                    assert end[workload] in sets[i][f"{kind}/{name}"], (case["id"], i)
    assert traces >= examples(500)
