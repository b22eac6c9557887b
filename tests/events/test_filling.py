"""Bounds on how many nodes a crowd fills are never below what it can, and whole pods make them tight."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_lint.engine.base import work
from kubesched_lint.engine.bounds.competition import filling
from kubesched_lint.engine.bounds.competition.filling import Filler, Filling, Group

KINDS = st.lists(
    st.dictionaries(st.sampled_from(["cpu", "pods"]), st.integers(-1, 7), min_size=1), min_size=1, max_size=2
)


@st.composite
def crowds(draw):
    kinds = draw(KINDS)
    everywhere = range(len(kinds))
    groups = draw(
        st.lists(
            st.builds(
                Group,
                st.integers(1, 2),
                st.lists(st.tuples(st.sampled_from(everywhere), st.integers(1, 2)), min_size=1, max_size=2).map(
                    lambda nodes: tuple(dict(nodes).items())
                ),
            ),
            min_size=1,
            max_size=2,
        )
    )
    amounts = st.fixed_dictionaries({"cpu": st.integers(0, 4), "pods": st.just(1)})
    fillers = st.builds(
        Filler, amounts, st.integers(1, 3), st.integers(1, 3), st.frozensets(st.sampled_from(everywhere), min_size=1)
    )
    return kinds, groups, draw(st.lists(fillers, min_size=1, max_size=2)), draw(st.integers(0, 1))


def _ways(count: int, nodes: int, most: int):
    """How many of so many pods stand on each node."""
    return (way for way in product(range(min(count, most) + 1), repeat=nodes) if sum(way) <= count)


def tried(kinds, groups, fillers, spared) -> int:
    """Every placement of every pod."""
    nodes = [(g, kind) for g, group in enumerate(_each(groups)) for kind, n in group.nodes for _ in range(n)]
    best = 0
    for ways in product(*(_ways(f.number, len(nodes), f.on_each) for f in fillers)):
        if any(
            n and nodes[at][1] not in f.reach for f, way in zip(fillers, ways, strict=True) for at, n in enumerate(way)
        ):
            continue
        closed = [
            any(
                sum(f.amounts[r] * way[at] for f, way in zip(fillers, ways, strict=True)) >= missing
                for r, missing in kinds[kind].items()
            )
            for at, (_, kind) in enumerate(nodes)
        ]
        open_ = [
            sum(not c for c, (g, _) in zip(closed, nodes, strict=True) if g == i) for i in range(len(_each(groups)))
        ]
        best = max(best, sum(left <= spared for left in open_))
    return best


def _each(groups):
    return [group for group in groups for _ in range(group.number)]


@settings(deadline=None)
@given(crowds())
def test_no_placement_fills_more(crowd):
    kinds, groups, fillers, spared = crowd
    if sum(n for g in _each(groups) for _, n in g.nodes) > 4:
        groups = groups[:1]
    best = tried(kinds, groups, fillers, spared)
    filling = Filling(kinds, groups, fillers, spared)
    for enough in (1, best + 1, best, best + 2):
        assert Filling(kinds, groups, fillers, spared).most(enough) >= best
        assert filling.most(enough) >= best, "it goes on where the last question stopped"


def test_pods_are_whole():
    """Thirteen nodes want more than 1 CPU and fifteen more than 5: of 59 CPUs no 22 of them can be filled."""
    kinds = [{"cpu": 1001}, {"cpu": 5001}]
    groups = [Group(13, ((0, 1),)), Group(15, ((1, 1),))]
    both = frozenset([0, 1])
    fillers = [Filler({"cpu": cpu}, n, n, both) for cpu, n in ((2000, 24), (1000, 5), (100, 82))]
    assert Filling(kinds, groups, fillers).most(21) == 20


def test_what_can_be_filled_is_asked_once(monkeypatch):
    """Each of 9 nodes takes two pods of 3: four pairs fill four, which answers every smaller question as well."""
    rounds, original = [], filling._Programme.priced
    monkeypatch.setattr(filling._Programme, "priced", lambda self: rounds.append(self) or original(self))
    fillers = [Filler({"cpu": 3}, 8, 8, frozenset([0]))]
    found = Filling([{"cpu": 5}], [Group(9, ((0, 1),))], fillers)
    assert found.most(5) == 4
    once = len(rounds)
    assert once
    assert [found.most(enough) for enough in (5, 4, 1)] == [4, 4, 4]
    assert len(rounds) == once


def test_all_nodes_of_a_domain_have_to_be_full():
    kinds = [{"cpu": 3}]
    fillers = [Filler({"cpu": 2}, 8, 8, frozenset([0]))]
    domains = [Group(3, ((0, 3),))]
    assert Filling(kinds, domains, fillers).most(2) == 1
    assert Filling(kinds, domains, fillers, spared=1).most(3) == 2


def test_a_bound_that_takes_too_much_work_stays_loose_and_no_cell_pays_for_it(monkeypatch):
    kinds, groups = [{"cpu": 5}], [Group(9, ((0, 1),))]
    fillers = [Filler({"cpu": 3}, 8, 8, frozenset([0])), Filler({"cpu": 2}, 3, 3, frozenset([0]))]
    sharp = Filling(kinds, groups, fillers).most(1)
    monkeypatch.setattr(filling, "STEPS_OF_FILLING", 0)
    with work.within(100) as meter:
        assert Filling(kinds, groups, fillers).most(1) >= sharp
    assert meter.spent == 0
    with work.within(10_000) as meter:
        Filling(kinds, groups, fillers).most(1)
    assert meter.spent <= 100, "a hundredth of what is left"
