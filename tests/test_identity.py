"""Keys by identity tell equal objects apart, and keep them."""

from __future__ import annotations

import gc
from weakref import ref

from kubesched_lint.engine.base.identity import ByIdentity, Itself, each_once


class Thing(list[int]):
    """Equal things are not hashable; they can be referred to weakly."""


def test_equal_objects_are_two_keys() -> None:
    one, other = Thing([1]), Thing([1])
    found = ByIdentity([(one, "one")])
    found[other] = "other"
    assert [found[one], found.get(other), found.get(Thing([1]))] == ["one", "other", None]
    assert (one in found, Thing([1]) in found, len(found), [*found]) == (True, False, 2, [one, other])
    assert found.setdefault(one, "") == "one"
    found.update([one], "again")
    assert [*found.items()] == [(one, "again"), (other, "other")]
    assert [each is one or each is other for each in each_once([one, other, one])] == [True, True]


def test_a_key_stands_for_one_object() -> None:
    one, other = Thing([1]), Thing([1])
    assert Itself(one) == Itself(one) != Itself(other)
    assert {Itself(one), Itself(other), Itself(one)} == {Itself(other), Itself(one)}
    assert Itself(one) != one


def test_keys_are_kept() -> None:
    kept = ByIdentity([(Thing([1]), 0)]), Itself(Thing([2]))
    alive = [ref(next(iter(kept[0]))), ref(kept[1].it)]
    gc.collect()
    assert [each() for each in alive] == [[1], [2]]
