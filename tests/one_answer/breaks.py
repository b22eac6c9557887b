"""``python -m tests.one_answer.breaks``: takes what no longer breaks off ``breaks.txt``, and adds nothing.

Each line is an invariant, a scene and what breaks there today. Invariants 1, 3 and 5, and 4 where cells are proven
bad, have no line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

from tests.one_answer import scenes
from tests.one_answer.invariants import (
    Break,
    a_premise_is_worded_once,
    both_search_alike,
    more_facts_keep_certainty,
    strangers_change_nothing,
)
from tests.one_answer.scenes import Scene
from tests.share import some

FILE = Path(__file__).with_name("breaks.txt")
SEEDS = (4, 6)
"""Ordinary companies of a few nodes."""
SCENARIOS = range(16)
_CASE = "case "
_HEAD = "# What breaks an invariant today. Lines may only go: python -m tests.one_answer.breaks\n"


def listed(invariant: int) -> set[str]:
    lines = FILE.read_text().splitlines()
    return {line for line in lines if line.startswith(f"{invariant} ")}


def open_cases() -> set[str]:
    """The cases of outsiders that are not told as they expect."""
    return {line.removeprefix(_CASE) for line in FILE.read_text().splitlines() if line.startswith(_CASE)}


@cache
def company(seed: int, kind: str, mistakes: int) -> Scene:
    """One with nodes that do not change."""
    return next(scenes.of_ordinary(seed, kind, mistakes))


def found(invariant: int) -> set[str]:
    return {one.line for one in _OF[invariant]()}


def _of_premises() -> Iterator[Break]:
    for scene in _some():
        yield from a_premise_is_worded_once(scene)


def _of_facts() -> Iterator[Break]:
    for seed in SEEDS:
        kinds = [company(seed, kind, 4) for kind in ("nodes", "kubectl", "full")]
        for less, more in pairwise(kinds):
            yield from more_facts_keep_certainty(less, more)


def _of_strangers() -> Iterator[Break]:
    for scene in _some():
        yield from strangers_change_nothing(scene, scenes.beside_strangers(scene))


def _of_effort() -> Iterator[Break]:
    for seed in some(SCENARIOS):
        yield from both_search_alike(scenes.of_scenario(seed))


@cache
def _some() -> tuple[Scene, ...]:
    ordinary = (company(seed, "full", 4) for seed in some(SEEDS))
    return (*ordinary, *some(scenes.of_company()), *map(scenes.of_scenario, some(SCENARIOS)))


_OF = {2: _of_premises, 4: _of_facts, 6: _of_strangers, 7: _of_effort}


def write(lines: Iterable[str]) -> None:
    FILE.write_text(_HEAD + "".join(f"{line}\n" for line in sorted(lines)))


if __name__ == "__main__":
    now = {line for invariant in _OF for line in found(invariant)}
    known = {line for invariant in _OF for line in listed(invariant)}
    cases = {f"{_CASE}{name}" for name in open_cases()}
    write(cases | (now & known))
    print(f"{len(now & known)} breaks left, {len(known - now)} gone, {len(now - known)} new")
