"""Bit planes count as lists of numbers do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched_lint.engine.cluster import nodeset
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.topology import NodeCounter, sum_of
from kubesched_lint.engine.model.nodes.node import Node

WIDTH = 9
counts = st.lists(st.integers(0, 9), min_size=WIDTH, max_size=WIDTH)
sets = st.sets(st.integers(0, WIDTH - 1))


def tally_of(numbers: list[int]) -> NodeCounter:
    tally = NodeCounter()
    for position, number in enumerate(numbers):
        for _ in range(number):
            tally.add(nodeset.only(position))
    return tally


@given(counts, sets)
def test_a_tally_answers_as_the_list_of_its_counts(numbers: list[int], some: set[int]) -> None:
    tally, among = tally_of(numbers), nodeset.of(some)
    assert [tally.at(i) for i in range(WIDTH)] == numbers
    assert tally.nodes == nodeset.of(i for i, n in enumerate(numbers) if n)
    assert tally.total(among) == sum(numbers[i] for i in some)
    assert dict(tally.counts(among)) == {i: numbers[i] for i in some}
    for bound in range(12):
        assert tally.at_least(bound, among) == nodeset.of(i for i in some if numbers[i] >= bound)
    if some:
        assert tally.least(among) == min(numbers[i] for i in some)


@given(st.lists(counts, max_size=5))
def test_sums_carry_like_numbers(many: list[list[int]]) -> None:
    total = sum_of(tally_of(numbers) for numbers in many)
    assert [total.at(i) for i in range(WIDTH)] == [sum(column) for column in zip([0] * WIDTH, *many, strict=True)]


@given(counts, sets, sets)
def test_adding_and_subtracting_sets_move_each_count_by_one(numbers: list[int], more: set[int], less: set[int]) -> None:
    tally = tally_of(numbers)
    tally.add(nodeset.of(more))
    after = [n + (i in more) for i, n in enumerate(numbers)]
    gone = {i for i in less if after[i]}
    tally.subtract(nodeset.of(gone))
    assert [tally.at(i) for i in range(WIDTH)] == [n - (i in gone) for i, n in enumerate(after)]


def test_a_pod_cannot_leave_a_node_that_has_none() -> None:
    with pytest.raises(ValueError, match="does not hold it"):
        NodeCounter().subtract(nodeset.only(3))


@given(st.sets(st.integers(0, 700)))
def test_node_sets_hold_what_was_put_in(members: set[int]) -> None:
    found = nodeset.of(members)
    assert list(nodeset.positions(found)) == sorted(members)
    assert [nodeset.nth(found, number) for number in range(len(members))] == sorted(members)
    assert nodeset.popcount(found) == len(members)
    assert nodeset.lowest(found) == min(members, default=-1)
    assert all(nodeset.holds(found, m) for m in members)


@given(counts, sets)
def test_domains_count_the_nodes_asked_for(numbers: list[int], some: set[int]) -> None:
    zones = ["a", "b", "c"]
    nodes = [Node(f"n{i}", {"zone": zones[i % 3]} if i < WIDTH - 1 else {}) for i in range(WIDTH)]
    expected: dict[str, int] = {}
    for i in some:
        if i < WIDTH - 1:
            expected[zones[i % 3]] = expected.get(zones[i % 3], 0) + numbers[i]
    tally, among = tally_of(numbers), nodeset.of(some)
    domains = NodeIndex(nodes).domains("zone")
    assert {zone: tally.total(inside & among) for zone, inside in domains.items() if inside & among} == expected
