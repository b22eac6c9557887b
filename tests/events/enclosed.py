"""Compares what counting proves with every end that the search finds."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from msgspec.structs import replace

from kubesched_lint.engine.bounds.competition import rivals
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.bounds.counting import Counting
from kubesched_lint.engine.bounds.idle import idle
from kubesched_lint.engine.events.limits import FEW_ALIKE
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes, FinalState
from kubesched_lint.engine.runs.judging import is_stuck
from tests.share import examples

thorough = settings(  # of many drawn sets nothing is claimed: they are left out
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def is_enclosed(setting: SimulatedSet, event: str, *, preempting: bool = False) -> bool:
    """Compare ``count`` with every end of every scheduler; False if there is nothing to compare."""
    if idle(setting.member(0), event):
        return False
    everybody, names = range(len(setting.workloads)), [n.name for n in setting.nodes]
    timeline = timeline_of(setting, everybody, expected=False, most_states=3000, preempting=preempting)
    if timeline.sound:
        _met_at_least(setting, timeline, preempting=preempting)
    ends = EventOutcomes(setting, everybody, [timeline], names).ends(event, 0) if timeline.sound else None
    for few in (FEW_ALIKE, 0):  # 0: as if each workload had others alike, with which it shares its bounds
        with patch.object(rivals, "FEW_ALIKE", few):
            _compare(replace(setting), event, ends or ())
    return bool(ends)


def _met_at_least(setting: SimulatedSet, timeline: Timeline, *, preempting: bool) -> None:
    """A search that is given up before it begins, because of the states that it would meet, meets no fewer."""
    states = timeline.phases[-1].exploration.states
    assert not Counting(setting).exceeds(range(len(setting.workloads)), states, preempting=preempting)


def _compare(setting: SimulatedSet, event: str, ends: Sequence[FinalState]) -> None:
    event_bounds = count(setting.member(0), event)
    for end in ends:
        # A DaemonSet wants a pod fewer for each lost node.
        bound = end.outcome.wanted - end.lack if end.lack else event_bounds.wanted
        stuck = end.blocked if event == "drain" else not end.outcome.complete
        if setting.supposed is not None:
            stuck = is_stuck(event, end)
            assert not (event_bounds.never_stuck and stuck), event_bounds.least.why
            assert stuck or not event_bounds.always_stuck, event_bounds.most.why
        assert min(bound, event_bounds.wanted) <= event_bounds.most.pods, event_bounds.most.why
        if event_bounds.is_fine:
            assert bound >= event_bounds.wanted, event_bounds.least.why
        if event == "deploy":
            assert stuck or not event_bounds.always_stuck, event_bounds.most.why
        if event == "rollout" or event == "drain":
            assert not (event_bounds.is_fine and stuck), event_bounds.least.why
            if event_bounds.always_stuck and not (event == "drain" and not _was_there(end)):
                assert stuck, event_bounds.most.why
        else:
            assert bound >= event_bounds.least.pods, event_bounds.least.why


def _was_there(end) -> bool:
    """Whether the drained node held a pod of the workload at all."""
    return end.blocked
