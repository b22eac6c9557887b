"""A controller that deletes some of its equal pods may delete each: random courses follow how often it takes which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from math import comb, prod
from random import Random

import pytest
import yaml

from kubesched_lint.engine.controllers.replicaset import draws, one_draw
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import seeded_timelines
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import ZONE, asking, sketch, workload

RUNS = 600
MOST = {5: 20.5, 9: 27.9, 10: 29.6, 11: 31.3, 12: 32.9, 13: 34.5, 14: 36.1, 15: 37.7}
"""Degrees of freedom → the value of chi-square that one sample in a thousand exceeds."""


def _hypergeometric(groups: Sequence[int], count: int) -> Mapping[tuple[int, ...], float]:
    """Return the share of each way to take ``count`` pods from groups of pods, by what it leaves of each group."""
    every = comb(sum(groups), count)
    taken = (t for t in product(*(range(n + 1) for n in groups)) if sum(t) == count)
    return {
        tuple(n - gone for n, gone in zip(groups, t, strict=True)): prod(map(comb, groups, t)) / every for t in taken
    }


def _assert_drawn_from(shares: Mapping[tuple[int, ...], float], seen: Counter[tuple[int, ...]]) -> None:
    """Compare by chi-square; ends that are expected less than five times count together."""
    assert set(seen) <= set(shares)
    runs = sum(seen.values())
    frequent = [end for end, share in shares.items() if share * runs >= 5]
    pairs = [(seen[end], shares[end] * runs) for end in frequent]
    rare = runs - sum(times for times, _ in pairs), runs - sum(expected for _, expected in pairs)
    pairs += [rare] if rare[1] > 0.01 else []
    found = sum((times - expected) ** 2 / expected for times, expected in pairs)
    assert found < MOST[len(pairs) - 1], (found, len(pairs) - 1, seen)


def _setting(kind: str, **spec: object) -> SimulatedSet:
    apart = {"labelSelector": {"matchLabels": {"app": "grid"}}, "topologyKey": ZONE, "maxSkew": 1}
    pod = asking("100m", topologySpreadConstraints=[{**apart, "whenUnsatisfiable": "ScheduleAnyway"}])
    text = yaml.safe_dump(workload(kind, "grid", 12, pod, **spec))
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    return simulated_set_of(Scenario(found.inventory, sketch(1, "abc", "8")))


@pytest.mark.parametrize(
    ("kind", "spec"), [("Deployment", {}), ("StatefulSet", {"podManagementPolicy": "Parallel", "serviceName": "grid"})]
)
def test_twelve_even_pods_that_are_scaled_to_eight_end_as_often_as_by_chance(
    kind: str, spec: dict[str, object]
) -> None:
    seen: Counter[tuple[int, ...]] = Counter()
    for timeline in seeded_timelines(_setting(kind, **spec).member(0), range(RUNS), expected=True):
        timeline.scale(kind, "default", "grid", 8)
        (state,) = timeline.states
        seen[tuple(sum(count for _, count in held) for held in state.bound)] += 1
    _assert_drawn_from(_hypergeometric((4, 4, 4), 4), seen)


def test_a_draw_takes_each_pod_as_often_as_any_other() -> None:
    random, groups = Random(1), (1, 2, 5)
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(RUNS):
        (drawn,) = one_draw(random)(list(enumerate(groups)), 3)
        seen[tuple(n - dict(drawn).get(place, 0) for place, n in enumerate(groups))] += 1
    _assert_drawn_from(_hypergeometric(groups, 3), seen)


def test_a_draw_is_one_of_all_ways() -> None:
    random = Random(1)
    for groups, count in [((), 0), ((2,), 0), ((2,), 2), ((2, 3), 4), ((0, 3), 1), ((), 1), ((2,), 3)]:
        every = list(draws(list(enumerate(groups)), count))
        drawn = list(one_draw(random)(list(enumerate(groups)), count))
        assert len(drawn) == min(len(every), 1)
        assert set(drawn) <= set(every)
