"""Timelines that share a model end like separate ones with the same seeds."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
import yaml

from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import seeded_timelines, timeline_of
from kubesched_lint.engine.events.states.states import with_bound
from kubesched_lint.engine.events.transitions.transitions import Transitions
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.runs.event_outcomes import with_new_template
from kubesched_lint.engine.runs.skew import skews
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import ZONE, asking, sketch, workload

SEEDS = range(4)


def _setting(seed: int) -> SimulatedSet:
    draw = Random(seed)
    selects = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}
    spread = {**selects, "maxSkew": 1, "whenUnsatisfiable": draw.choice(["DoNotSchedule", "ScheduleAnyway"])}
    spec = asking(draw.choice(["500m", "1500m"]), topologySpreadConstraints=[spread])
    text = yaml.safe_dump(workload(draw.choice(["Deployment", "StatefulSet"]), "web", draw.randint(2, 7), spec))
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    return simulated_set_of(Scenario(found.inventory, sketch(2, "abc", "2")))


def _ends(deployed: Timeline, changed: Workload) -> list[object]:
    rolled, scaled = deployed.fork(), deployed.fork()
    rolled.rollout(changed)
    scaled.scale(changed.kind, changed.namespace, changed.name, 1)
    return [deployed.states, rolled.states, scaled.states]


def test_timelines_that_share_a_model_end_like_separate_ones() -> None:
    for setting in map(_setting, range(12)):
        tell = partial(timeline_of, setting, [0], expected=True, most_states=0, runs=1, by_likeness=True)
        alone = [tell(seed=seed) for seed in SEEDS]
        shared = seeded_timelines(setting.member(0), SEEDS, expected=True)
        changed = with_new_template(setting.workloads[0])
        assert [_ends(timeline, changed) for timeline in shared] == [_ends(timeline, changed) for timeline in alone]


def test_moves_that_are_known_are_those_that_a_timeline_finds_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = []
    for _ in "known", "anew":
        for setting in map(_setting, range(12)):
            changed = with_new_template(setting.workloads[0])
            shared = seeded_timelines(setting.member(0), range(8), expected=True)
            ends.append([_ends(timeline, changed) for timeline in shared])
        monkeypatch.setattr("kubesched_lint.engine.events.search.events.KnownMoves", Transitions)
    assert ends[:12] == ends[12:]


def test_a_pod_on_the_first_of_equal_nodes_is_one_on_the_drawn_node_but_for_its_name() -> None:
    """The two states are one up to a swap of nodes, and the nodes share every domain but their own."""
    moved = 0
    for setting in map(_setting, range(12)):
        timeline = next(seeded_timelines(setting.member(0), SEEDS, expected=True))
        symmetry, (state,) = timeline.model().symmetry, timeline.states
        for drawn, node in enumerate(setting.nodes):
            first = symmetry.first_alike(state, drawn)
            ends = [symmetry.canonical(with_bound(state, position, 0, 1)) for position in (drawn, first)]
            assert ends[0] == ends[1]
            assert setting.nodes[first].labels[ZONE] == node.labels[ZONE]
            moved += first != drawn
    assert moved


def test_skews_of_one_event_are_those_of_all_events() -> None:
    for setting in map(_setting, range(6)):
        every = tuple(skews(setting.member(0), runs=4))
        events = {skew.event for skew in every}
        assert {"deploy", "rollout", "scale-down"} >= events >= {"deploy", "rollout"}
        for event in events:
            assert tuple(skews(setting.member(0), runs=4, only=event)) == tuple(s for s in every if s.event == event)
