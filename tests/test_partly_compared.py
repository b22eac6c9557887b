"""Objects are equal wherever they are written, and differ in all else."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from kubesched_lint.engine.base.partly_compared import Distinct, PartlyCompared, same_values


class Toleration(PartlyCompared, frozen=True):
    key: str
    path: tuple[str, ...] = ()


class Note(PartlyCompared, frozen=True):
    uncompared: ClassVar[tuple[str, ...]] = ("text",)

    key: str
    path: tuple[str, ...] = ()
    text: str = ""


def test_a_place_makes_no_difference() -> None:
    here, there = Toleration("a", ("spec",)), Toleration("a", ("status",))
    assert here == there
    assert not here != there  # noqa: SIM202 - both operators are defined
    assert {here, there} == {there}
    assert replace(here, key="b") != here
    assert not replace(here, key="b") == here  # noqa: SIM201


def test_a_class_may_name_other_fields() -> None:
    assert Note("a", text="x") == Note("a", text="y")
    assert Note("a", ("x",)) != Note("a", ("y",))


def test_records_of_two_classes_differ() -> None:
    assert Toleration("a") != Note("a")
    assert Toleration("a") != ("a", ())


class Claim(Distinct, frozen=True):
    name: str
    path: tuple[str, ...] = ()


class Holder(PartlyCompared, frozen=True):
    claims: tuple[Claim, ...]
    labels: dict[str, Claim]


def test_a_distinct_record_equals_only_itself() -> None:
    one, other = Claim("a"), Claim("a")
    assert one == one
    assert one != other
    assert len({one, other, one}) == 2


def test_what_distinct_records_say_can_be_compared() -> None:
    def holder(name: str, path: str) -> list[Holder]:
        return [Holder((Claim(name, (path,)),), {"x": Claim(name, (path,))})]

    assert same_values(holder("a", "here"), holder("a", "there"))
    assert not same_values(holder("a", "here"), holder("b", "here"))
    assert not same_values(Claim("a"), Note("a"))
    assert not same_values(Claim("a"), None)
    assert not same_values((Claim("a"),), (Claim("a"), Claim("a")))
