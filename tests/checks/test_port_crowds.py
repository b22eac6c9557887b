"""Workloads that take one host port: who is told to conflict with whom."""

from __future__ import annotations

import sys
from functools import reduce
from itertools import combinations
from operator import or_
from random import Random

import pytest

from kubesched_lint.engine.base import work
from kubesched_lint.engine.model.pod import HostPort, Pod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.explaining.crowding.ports import PortUser, crowds


def user(name: str, pods: int, nodes: int, *addresses: str) -> PortUser:
    workload = Workload("Deployment", "shop", name, Pod("shop", {}))
    return PortUser(workload, HostPort(80, ()), pods, nodes, frozenset(addresses) or None)


def named(users: list[PortUser]) -> list[tuple[str, set[str]]]:
    """(reporter, all) of each crowd."""
    return [
        (crowd.reporter.workload.name if crowd.reporter else "", {one.workload.name for one in crowd.users})
        for crowd in crowds(users)
    ]


def test_a_user_of_an_address_meets_those_of_all_addresses_and_not_those_of_another() -> None:
    one, other = user("one", 2, 0b11, "10.0.0.1"), user("other", 2, 0b11, "10.0.0.2")
    a, b = user("a", 2, 0b11), user("b", 2, 0b11)
    assert named([one, other]) == []
    assert named([a, b]) == [("b", {"a", "b"})]
    assert named([a, b, one]) == [("b", {"a", "b", "one"})]
    assert named([a, one, other]) == [("one", {"a", "one"}), ("other", {"a", "other"})]
    assert named([a, b, one, other]) == [("b", {"a", "b", "one"}), ("other", {"a", "other"})]


def test_three_users_that_share_no_address_are_three_pairs() -> None:
    three = [user("a", 2, 0b11, "1", "2"), user("b", 2, 0b11, "2", "3"), user("c", 2, 0b11, "1", "3")]
    assert sorted(named(three)) == [("b", {"a", "b"}), ("c", {"a", "c"}), ("c", {"b", "c"})]


def conflict(one: PortUser, other: PortUser) -> bool:
    return one.addresses is None or other.addresses is None or bool(one.addresses & other.addresses)


def lack(users: tuple[PortUser, ...] | list[PortUser]) -> bool:
    return sum(one.pods for one in users) > reduce(or_, (one.nodes for one in users)).bit_count()


def random_user(name: str, random: Random) -> PortUser:
    nodes = random.choice([0b111, 0b1100, 0b111000, 0b1])
    pods = random.randint(1, nodes.bit_count())
    return user(name, pods, nodes, *random.sample("1234", random.choice([0, 0, 1, 1, 2])))


def test_every_crowd_lacks_nodes_and_every_pair_that_lacks_nodes_is_in_a_crowd() -> None:
    random, told = Random(1), 0
    for _ in range(400):
        users = [random_user(f"w{i}", random) for i in range(random.randint(2, 8))]
        found = [crowd.users for crowd in crowds(users)]
        for members in found:
            assert all(conflict(*pair) for pair in combinations(members, 2))
            assert lack(members)
        members = {one.workload.name for crowd in found for one in crowd}
        for one, other in combinations(users, 2):
            if conflict(one, other) and lack((one, other)):
                told += 1
                assert {who.workload.name for who in (one, other) if who.addresses} <= members
                assert members & {one.workload.name, other.workload.name}
        sets = [frozenset(one.workload.name for one in crowd) for crowd in found]
        assert not any(a <= b for a in sets for b in sets if a is not b)
    assert told > 500


def calls(n: int) -> int:
    """Return the number of calls that ``n`` users of one port cost, half of them at an address of their own."""
    users = [user(f"w{i}", 2, 0b111, *([f"10.0.0.{i}"] if i % 2 else [])) for i in range(n)]
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    sys.setprofile(count)
    try:
        assert len(crowds(users)) == n // 2
    finally:
        sys.setprofile(None)
    return counted


def test_many_addresses_cost_no_more_than_their_number() -> None:
    assert calls(200) < 3 * calls(100)


def test_users_of_many_node_sets_cost_steps_for_each_pair_that_is_compared() -> None:
    apart = [user(f"w{i}", 1, 1 << i) for i in range(200)]
    chained = [user(f"w{i}", 2, 0b11 << i) for i in range(200)]
    for users, number in ((apart, 0), (chained, 1)):
        with work.within(10**6) as counted:
            assert len(crowds(users)) == number
        assert counted.spent > 200 * 200 // 9
        with work.within(1_000), pytest.raises(work.OutOfWorkError):
            crowds(users)
