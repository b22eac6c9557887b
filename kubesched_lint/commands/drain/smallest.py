"""The smallest set of obstacles: without these conditions, some order of events of some plan ends well."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from msgspec.structs import replace

from kubesched_lint.commands.drain.obstacles import condition_of, found_in
from kubesched_lint.commands.drain.plan import Obstacle
from kubesched_lint.commands.drain.relaxing import ROOM, Condition, conditions, without
from kubesched_lint.commands.drain.replay import Replay, Rules, Waves
from kubesched_lint.commands.drain.room import Room
from kubesched_lint.commands.drain.running_cluster import RunningCluster
from kubesched_lint.commands.drain.search import Fewest
from kubesched_lint.commands.limits import MOST_PLACES
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.events.limits import MOST_COMBINED


class Smallest:
    """An exhaustive search over sets of conditions, small ones first."""

    def __init__(self, now: RunningCluster, targets: Sequence[str], rules: Rules, states: int) -> None:
        self._now = now
        self._targets = tuple(targets)
        self._rules = rules
        self._states = states
        self._replays: dict[frozenset[Condition], Replay] = {}
        self.is_sound = True
        """Whether every smaller set is known not to be enough: no search that found nothing was cut short."""

    def obstacles(self) -> tuple[Obstacle, ...] | None:
        """Return the obstacles; None if no set of a few conditions is enough."""
        given_up = next(self._sets(), None)
        return None if given_up is None else tuple(self._obstacle(each, given_up) for each in given_up)

    def _sets(self) -> Iterator[tuple[Condition, ...]]:
        every = tuple(conditions(self._now))
        for size in range(MOST_COMBINED + 1):
            yield from (chosen for chosen in combinations(every, size) if self._may_end_well(chosen))

    def _may_end_well(self, given_up: Collection[Condition]) -> bool:
        now = without(self._now, given_up)
        fits = Room(now, self._rules).fits
        search = Fewest(self._replay(given_up), self._targets, lambda played: bool(played.good), fits)
        if search.waves() is not None:
            return True
        self.is_sound = self.is_sound and search.is_sound
        return False

    def _replay(self, given_up: Collection[Condition]) -> Replay:
        key = frozenset(given_up)
        if key not in self._replays:
            now = without(self._now, given_up)
            self._replays[key] = Replay(
                lambda: now.timeline(self._targets, expected=False, most_states=self._states), self._rules
            )
        return self._replays[key]

    def _obstacle(self, condition: Condition, given_up: Collection[Condition]) -> Obstacle:
        """Return the obstacle that a condition is where the others are given up."""
        replay = self._replay([each for each in given_up if each != condition])
        seen = [obstacle for obstacle in where_it_ends(replay, self._targets) if condition_of(obstacle) == condition]
        if seen:
            nodes = tuple(dict.fromkeys(node for obstacle in seen for node in obstacle.nodes))
            return replace(seen[0], nodes=nodes)
        return Obstacle(
            condition.kind, condition.of or ObjectRef("Cluster", "", ROOM), "without it, the drain ends", self._targets
        )


def where_it_ends(
    replay: Replay, targets: Sequence[str], waves: Waves = (), stuck: Sequence[str] = ()
) -> Iterator[Obstacle]:
    """Yield what keeps single nodes from being drained; else, what ends the plan that drains the most nodes."""
    alone = [(*waves, (name,)) for name in stuck or targets]
    failed = [plan for plan in alone if not replay.play(plan).good] or replay.longest_failed()
    for plan in failed or [(tuple(targets),)]:
        played = replay.play(plan)
        for state in played.bad[:MOST_PLACES]:
            yield from found_in(played, plan[-1], replay.least_bound, state)
