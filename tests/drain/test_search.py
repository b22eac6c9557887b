"""The search for waves plays no more of them than it needs."""

from __future__ import annotations

from types import SimpleNamespace

from kubesched_lint.commands.drain.replay import Rules, Waves
from kubesched_lint.commands.drain.search import Fewest, greedy

NODES = ("a", "b", "c", "d")


class Replay:
    """Waves of ``cut`` nodes or more have too many states; those of fewer end well."""

    def __init__(self, cut: int) -> None:
        self.rules = Rules()
        self.cut = cut
        self.played: list[Waves] = []

    def play(self, waves: Waves) -> SimpleNamespace:
        self.played.append(waves)
        return SimpleNamespace(is_sound=len(waves[-1]) < self.cut)


def searched(cut: int, fits=lambda done, wave: True) -> tuple[Waves | None, Fewest, Replay]:
    replay = Replay(cut)
    search = Fewest(replay, NODES, lambda played: played.is_sound, fits)
    return search.waves(), search, replay


def test_one_wave_that_was_cut_short_ends_the_search_of_its_size() -> None:
    waves, search, replay = searched(2)
    assert waves == (("a",), ("b",), ("c",), ("d",))
    assert search.has_cut
    assert not search.is_sound
    assert [len(played[-1]) for played in replay.played if len(played[-1]) > 1] == [4, 3, 2]


def test_a_search_without_limit_has_the_fewest_waves() -> None:
    waves, search, _ = searched(5)
    assert waves == (NODES,)
    assert search.is_sound
    assert not search.has_cut


def test_waves_that_do_not_fit_are_not_played() -> None:
    waves, search, replay = searched(5, lambda done, wave: len(wave) < 4)
    assert waves == (("a", "b", "c"), ("d",))
    assert search.is_sound
    assert max(len(played[-1]) for played in replay.played) == 3


class Traces:
    """Waves end well unless they drain a node of ``stuck``."""

    def __init__(self, *stuck: str) -> None:
        self.rules = Rules()
        self.stuck = frozenset(stuck)
        self.tries: list[Waves] = []

    def tried(self, waves: Waves) -> SimpleNamespace:
        self.tries.append(waves)
        return SimpleNamespace(always_ends_well=self.stuck.isdisjoint(waves[-1]))


def names(count: int) -> list[str]:
    return [f"n{i}" for i in range(count)]


def test_greedy_waves_are_as_large_as_doubling_finds_them_after_a_node_that_is_stuck() -> None:
    traces = Traces("n0")
    waves, left = greedy(traces, names(26), lambda done, wave: True)
    assert waves == (tuple(names(26)[1:]),)
    assert left == ("n0",)


def test_greedy_tries_each_of_many_stuck_nodes_a_few_times() -> None:
    """Each took as many tries as halving all of the others takes."""
    for count in (32, 64):
        traces = Traces(*names(count))
        assert greedy(traces, names(count), lambda done, wave: True) == ((), tuple(names(count)))
        assert len(traces.tries) <= count + 8
