"""A record is a dataclass to everybody who uses one, and what it defers happens once."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing
from dataclasses import FrozenInstanceError, dataclass, fields
from functools import cached_property

import pytest

from kubesched_lint.record import FrozenRecord, NamedTuple, Record, field, replace


class Seen(Record):
    name: str
    labels: dict[str, str] = field(default_factory=dict)
    line: int = field(default=0, compare=False)

    @property
    def shout(self) -> str:
        return self.name.upper()


@dataclass(frozen=True, slots=True)
class Wanted:
    name: str
    labels: dict[str, str] = dataclasses.field(default_factory=dict)
    line: int = dataclasses.field(default=0, compare=False)


class Pair(NamedTuple):
    """A pair."""

    left: int
    right: Seen | None = None

    @property
    def total(self) -> int:
        return self.left + 1


class TheirPair(typing.NamedTuple):
    """A pair."""

    left: int
    right: Seen | None = None

    @property
    def total(self) -> int:
        return self.left + 1


class Nothing(Record):
    pass


class Key(Record):
    name: str
    line: int = field(default=0, compare=False)


def test_it_reads_as_the_dataclass_of_the_same_body() -> None:
    for arguments in ({"name": "a"}, {"name": "a", "line": 3}, {"name": "b", "labels": {"x": "y"}}):
        ours, theirs = Seen(**arguments), Wanted(**arguments)  # type: ignore[arg-type]
        assert repr(ours) == repr(theirs).replace("Wanted", "Seen")
        assert [getattr(ours, f.name) for f in fields(ours)] == [getattr(theirs, f.name) for f in fields(theirs)]
        assert repr(replace(ours, line=9)) == repr(replace(theirs, line=9)).replace("Wanted", "Seen")
    assert Seen.__match_args__ == Wanted.__match_args__
    assert Seen("a", {}, 1).shout == "A"


def test_fields_are_known_before_there_is_an_instance() -> None:
    class Fresh(Record):
        a: int
        b: int = 2

    assert [(f.name, f.default) for f in fields(Fresh)][1] == ("b", 2)
    assert Fresh(1) == Fresh(a=1, b=2)


def test_equality_and_hash_pass_over_what_is_not_compared() -> None:
    assert Seen("a", line=1) == Seen("a", line=2) != Seen("b", line=1)
    assert Key("a", 1) == Key("a", 2)
    assert len({Key("a", 1), Key("a", 2), Key("b")}) == 2
    assert Seen("a") != Wanted("a")
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing()}) == 1


def test_defaults_are_made_anew_for_each() -> None:
    assert Seen("a").labels is not Seen("a").labels


def test_nothing_can_be_added_and_mypy_refuses_what_sets_a_field() -> None:
    seen = Seen("a")
    with pytest.raises(AttributeError):
        seen.other = 1  # type: ignore[attr-defined]
    assert not hasattr(seen, "__dict__")
    seen.name = "b"  # type: ignore[misc]  # mypy --strict fails on an ignore that ignores nothing


def test_a_frozen_record_refuses_at_run_time_from_the_first_instance_on() -> None:
    class Named(FrozenRecord):
        name: str
        labels: dict[str, int] = field(default_factory=dict)

        @cached_property
        def length(self) -> int:
            return len(self.name)

    for _ in range(30):
        one = Named("abc")
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
            one.name = "b"  # type: ignore[misc]
        with pytest.raises(AttributeError):
            del one.name
        assert (one.name, one.labels, one.length) == ("abc", {}, 3)
    assert replace(one, name="b") == Named("b")


def test_the_first_instances_are_as_all_others() -> None:
    class Many(Record):
        name: str
        labels: dict[str, int] = field(default_factory=dict)
        line: int = field(default=7, compare=False)

    made = [
        one
        for _ in range(30)
        for one in (
            Many("a"),
            Many(name="a", line=1),
            Many("a", {}),
            Many("a", labels={}),
            replace(Many("b"), name="a"),
        )
    ]
    assert len({repr(one).replace("line=1", "line=7") for one in made}) == 1
    assert all(one == made[0] for one in made)
    assert len({id(one.labels) for one in made}) == len(made)


def test_a_cached_property_has_room() -> None:
    class Asked(Record):
        name: str

        @cached_property
        def answer(self) -> list[str]:
            return [self.name]

    asked = Asked("a")
    assert asked.answer is asked.answer
    assert asked == Asked("a")


def test_replace_is_that_of_dataclasses() -> None:
    assert replace(Seen("a", line=2), name="b") == Seen("b", line=2)
    assert replace(Wanted("a"), line=5).line == 5
    with pytest.raises(TypeError):
        replace(Seen("a"), nothing=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("wrong", [(), ("a", {}, 1, 2)])
def test_a_wrong_number_of_arguments_is_a_type_error(wrong: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="argument"):
        Seen(*wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{}, {"name": "a", "nothing": 1}])
def test_a_wrong_name_of_an_argument_is_a_type_error_from_the_first_instance_on(wrong: dict[str, object]) -> None:
    class Fresh(Record):
        name: str

    for _ in range(2):
        with pytest.raises(TypeError, match="argument"):
            Fresh(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="multiple values"):
        Fresh("a", name="b")  # type: ignore[misc]


def test_it_travels_between_processes() -> None:
    seen = Seen("a", {"x": "y"}, 4)
    for twin in (pickle.loads(pickle.dumps(seen)), copy.deepcopy(seen)):
        assert twin == seen
        assert twin.line == 4


def test_a_field_of_dataclasses_is_refused() -> None:
    """Else its description would become the default value."""
    with pytest.raises(TypeError, match=r"import field from kubesched_lint\.record"):

        class Mixed(Record):
            line: int = dataclasses.field(default=0)


def test_a_named_tuple_is_that_of_typing() -> None:
    ours, theirs = Pair(1), TheirPair(1)
    assert ours == theirs == (1, None)
    assert repr(ours) == repr(theirs).removeprefix("Their")
    assert (ours.total, ours._replace(left=2), ours._asdict()) == (2, (2, None), theirs._asdict())
    assert list(Pair.__annotations__) == list(TheirPair.__annotations__)
    assert (Pair._fields, Pair.__doc__, Pair.__match_args__) == (TheirPair._fields, "A pair.", ("left", "right"))
    assert pickle.loads(pickle.dumps(ours)) == ours
    assert not hasattr(ours, "__dict__")
    with pytest.raises(TypeError):
        Pair()  # type: ignore[call-arg]
