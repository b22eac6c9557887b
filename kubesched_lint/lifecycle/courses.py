"""Seeded courses of a whole set, where no search is affordable: each is a witness of one way things may end."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from math import inf
from typing import NamedTuple

from kubesched_lint import work
from kubesched_lint.lifecycle.events import Story
from kubesched_lint.lifecycle.groups import acquaintances, told_worlds
from kubesched_lint.lifecycle.guests import guests_of
from kubesched_lint.lifecycle.quotas import most_pods
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.lifecycle.stories import story_of
from kubesched_lint.lifecycle.telling import End, Telling
from kubesched_lint.model.node import HOSTNAME

FEW_RUN = 20_000
"""Nodes times pods: beyond, courses leave out the workloads that only share room."""
MOST_IN_TURN = 100_000
"""The same for a course in which some are looked at first and others last."""
MOST_ASKED = 50_000
"""Workloads times pods of a course in turn."""
TURNS = 3
MOST_STEPS = 1_000_000
"""Of one event in a turn of order, all courses together: see ``work``."""
MOST_RUN = 50_000
"""Pods of one workload: a course of more takes too many steps."""
MOST_DAEMONS = 200
"""On more nodes a DaemonSet's course has too many steps to be worth it."""

_FEW_PODS = 200
_FEW_LOST = 3
"""Of more pods than that the loss of so many nodes is tried."""


class Effort(NamedTuple):
    """How much to spend: states per search, seeded runs where there is no search, nodes whose loss they try."""

    states: int = 4_000
    runs: int = 4
    nodes: int = 16
    seed: int = 1


class Courses:
    """Courses of a setting; what several questions need is told once."""

    def __init__(self, setting: Setting, effort: Effort, is_played: Callable[[tuple[int, ...]], bool]) -> None:
        """``is_played``: whether pods of these workloads drive out others, in a way that a course can follow."""
        self.setting = setting
        self.effort = effort
        self._is_played = is_played
        self._told: dict[tuple[tuple[int, ...], int], Telling] = {}
        self._pods_of: dict[tuple[int, ...], int] = {}
        """By members the pods of all of them."""
        self._given_up: set[int] = set()
        """Turns that take too much work."""

    def ends(self, event: str, number: int, turn: int = 0) -> list[End]:
        """Where courses of an event end for a workload; none where they would take too many steps.

        In turn 0 the scheduler looks at waiting pods in any order. In each later one it looks first at those that
        waited in the end of all courses before, and last at those that never did.
        """
        setting = self.setting
        if setting.workloads[number].kind == "DaemonSet" and len(setting.nodes) > MOST_DAEMONS:
            return []
        if self._largest > MOST_RUN:
            return []
        if turn and (turn in self._given_up or self._is_too_large(number)):
            return []
        try:
            with work.within(MOST_STEPS if turn else inf):
                return self.telling(number, turn).ends(event, number) or []
        except work.OutOfWorkError:
            if not turn:
                raise
            self._given_up.add(turn)
            return []

    def _is_too_large(self, number: int) -> bool:
        """Whether a turn would cost too much: at each step the controllers of all workloads are asked."""
        members = self._members(number, 1)
        found = self._pods_of.get(members)
        if found is None:
            found = self._pods_of[members] = sum(most_pods(self.setting, i) for i in members)
        return len(members) * found > MOST_ASKED

    def _members(self, number: int, turn: int) -> tuple[int, ...]:
        return (
            self._everybody
            if self._size <= (MOST_IN_TURN if turn else FEW_RUN)
            else acquaintances(self.setting, number)
        )

    @cached_property
    def _everybody(self) -> tuple[int, ...]:
        return tuple(range(len(self.setting.workloads)))

    @cached_property
    def _largest(self) -> int:
        """Pods of the largest workload."""
        return max(most_pods(self.setting, i) for i in range(len(self.setting.workloads)))

    @cached_property
    def _size(self) -> int:
        """Nodes times pods."""
        return len(self.setting.nodes) * sum(most_pods(self.setting, i) for i in range(len(self.setting.workloads)))

    def telling(self, number: int, turn: int = 0) -> Telling:
        """The courses of the whole set; where that is large, of the workload and those it is tied to."""
        members = self._members(number, turn)
        runs = 1 if turn or self._size > FEW_RUN else self.effort.runs
        key = (members, turn)
        if key not in self._told:
            self._told[key] = self._tell(members, runs, self._precedence(members, turn))
        return self._told[key]

    def _precedence(self, members: tuple[int, ...], turn: int) -> dict[int, int]:
        """By workload: below 0 where its pods waited in all courses before, above 0 where in none.

        Each turn begins and ends with others of them.
        """
        if not turn:
            return {}
        alike: dict[bool, list[int]] = {True: [], False: []}
        for i in members:
            waited = {end.lack > 0 for before in range(turn) for end in self.ends("deploy", i, before)}
            if len(waited) == 1:
                alike[waited.pop()].append(i)
        found = {}
        for waits, numbers in alike.items():
            start = len(numbers) * (turn - 1) // TURNS
            for rank, i in enumerate((*numbers[start:], *numbers[:start])):
                found[i] = -len(numbers) + rank if waits else len(numbers) - rank
        return found

    def _tell(self, members: tuple[int, ...], runs: int, precedence: Mapping[int, int]) -> Telling:
        setting, effort = self.setting, self.effort
        tell = partial(
            story_of,
            setting,
            members,
            expected=True,
            most_states=0,
            runs=runs,
            seed=effort.seed,
            preempting=self._is_played(members),
            guests=guests_of(setting).hosted,
            precedence=precedence,
        )
        stories = [tell(changed=changed) for changed in told_worlds(setting, members)]
        unready = []
        if setting.never_ready.intersection(members):
            unready = [tell(unready=True, changed=changed) for changed in told_worlds(setting, members)]
        few = sum(most_pods(setting, i) for i in members) <= _FEW_PODS
        nodes = _lost(stories[0], effort.nodes if few else min(effort.nodes, _FEW_LOST))
        return Telling(setting, members, stories, nodes, unready)


def _pods_by_node(story: Story) -> dict[str, int]:
    """Node → pods of the set on it, over all ends of a story."""
    found: dict[str, int] = {}
    for state in story.states:
        for position, held in enumerate(state.bound):
            if held:
                name = story.nodes[position].name
                found[name] = found.get(name, 0) + sum(n for _, n in held)
    return found


def _lost(story: Story, most: int) -> Sequence[str]:
    """Nodes whose loss and drain are tried: all, else one of each kind, then those with the most pods."""
    pods = _pods_by_node(story)
    ordered = sorted(story.nodes, key=lambda node: (-pods.get(node.name, 0), node.name))
    if len(ordered) <= most:
        return [node.name for node in ordered]
    kinds: dict[Hashable, str] = {}
    for node in ordered:
        labels = frozenset((k, v) for k, v in node.labels.items() if k != HOSTNAME)
        room = None if node.allocatable is None else frozenset(node.allocatable.items())
        kinds.setdefault((labels, frozenset(node.taints), room), node.name)
    return list(dict.fromkeys((*kinds.values(), *(node.name for node in ordered))))[:most]
