"""``lint`` and ``simulate`` give one answer: the seven invariants, over what people and machines have written.

``python -m tests.one_answer.run --seeds 1-40`` asks about more.
"""

from __future__ import annotations

import os
from itertools import islice, pairwise, product

import pytest

from tests.one_answer import breaks, scenes
from tests.one_answer.invariants import (
    Break,
    counted_bounds_are_kept,
    more_facts_keep_proofs,
    one_answer,
    refused_is_refused,
)
from tests.one_answer.scenes import Scene, with_pods
from tests.share import every, first, some
from tests.worlds.generator import seeded

KINDS = ("nodes", "kubectl", "full")
SEEDS = [*map(int, os.environ.get("COMPANIES", "4 1 2 6 3 5 7 8").split(" "))]
"""``COMPANIES="9 10 11 12" pytest -m '' tests/one_answer`` asks about others.

CI asks about 4 and 6, which are the smallest.
"""
WORLDS = range(30)
PARTS = 4
"""Every so many examples of cards: the others are asked by hand."""


def _all_of(scene: Scene) -> list[Break]:
    return [*one_answer(scene), *refused_is_refused(scene), *counted_bounds_are_kept(scene)]


def test_of_the_fixtures() -> None:
    assert [one for scene in some(scenes.of_fixtures(), 4) for one in _all_of(scene)] == []


@pytest.mark.parametrize("cloud", first(1, ["karpenter-nodepools", "eks"]))
def test_of_a_cloud(cloud: str) -> None:
    assert [one for scene in some(scenes.of_clouds([cloud]), 4) for one in _all_of(scene)] == []


@pytest.mark.parametrize("begin", first(1, range(0, 2 * PARTS, PARTS)))
def test_of_examples_of_cards(begin: int) -> None:
    assert [one for scene in islice(scenes.of_cards(), begin, None, 2 * PARTS) for one in _all_of(scene)] == []


def test_of_worlds() -> None:
    assert [one for seed in some(WORLDS, 3) for one in _all_of(scenes.of_scenario(seed))] == []


@pytest.mark.parametrize(("mistakes", "seed"), every(11, product([0, 4], SEEDS)))
def test_of_an_ordinary_company(seed: int, mistakes: int) -> None:
    """With nodes only, what kubectl shows, and everything; on nodes as they are, and on those of an autoscaler.

    Without mistakes an autoscaler, which can only make errors warnings, is asked about on one kind of file.
    """
    told = [list(scenes.of_ordinary(seed, kind, mistakes)) for kind in KINDS]
    if not mistakes:
        told = [both if kind == "kubectl" else both[:1] for kind, both in zip(KINDS, told, strict=True)]
    assert [one for kind in told for scene in kind for one in (*one_answer(scene), *refused_is_refused(scene))] == []
    less_and_more = (pair for column in zip(*told, strict=False) for pair in pairwise(column))
    assert [one for less, more in less_and_more for one in more_facts_keep_proofs(less, more)] == []


@pytest.mark.parametrize("kind", first(1, KINDS[::-1]))
def test_an_ordinary_company_keeps_what_is_counted(kind: str) -> None:
    assert [one for scene in scenes.of_ordinary(4, kind, 4) for one in counted_bounds_are_kept(scene)] == []


def test_running_pods_of_others_remove_no_proof() -> None:
    """A workload's own pods may: where they run already, nothing new need find a node."""
    for seed in some(WORLDS, 3):
        less, more = (with_pods(seeded(seed), of_others=others) for others in (False, True))
        if len(less.cluster) < len(more.cluster):
            told = (
                scenes.in_scenario(f"world {seed} empty", less),
                scenes.in_scenario(f"world {seed} with guests", more),
            )
            assert list(more_facts_keep_proofs(*told)) == []


@pytest.mark.parametrize("invariant", [2, 4, 6, 7])
def test_what_breaks_is_listed_and_the_list_only_shrinks(invariant: int) -> None:
    now, listed = breaks.found(invariant), breaks.listed(invariant)
    assert not now - listed, "new breaks"
    assert not listed - now, "mended: python -m tests.one_answer.breaks takes them off the list"
