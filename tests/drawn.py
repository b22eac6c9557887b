"""Values that are drawn by one seed, with the words of ``hypothesis`` and ``hypothesis.strategies``.

A cluster or a set of manifests takes a hundred choices, and Hypothesis takes longer for each than the test for all.
What fails is not made smaller, so that this is for values that one can read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Generic, TypeVar

import hypothesis
from hypothesis import strategies

T = TypeVar("T")
S = TypeVar("S")


class Drawn(Generic[T]):
    """How to draw a value."""

    def __init__(self, draw: Callable[[Random], T]) -> None:
        self.draw = draw

    def map(self, change: Callable[[T], S]) -> Drawn[S]:
        return Drawn(lambda random: change(self.draw(random)))

    def filter(self, is_wanted: Callable[[T], bool]) -> Drawn[T]:
        def draw(random: Random) -> T:
            while not is_wanted(found := self.draw(random)):
                pass
            return found

        return Drawn(draw)

    def flatmap(self, change: Callable[[T], Drawn[S]]) -> Drawn[S]:
        return Drawn(lambda random: change(self.draw(random)).draw(random))


class DataObject:
    """Draws in a test, as it goes on."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def draw(self, drawn: Drawn[T]) -> T:
        return drawn.draw(self._random)


DrawFn = Callable[[Drawn[Any]], Any]


def given(*values: Drawn[Any], **named: Drawn[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test with drawn values as often as its ``settings`` say."""
    seeds = strategies.randoms(use_true_random=True)
    return hypothesis.given(
        *(seeds.map(value.draw) for value in values), **{name: seeds.map(value.draw) for name, value in named.items()}
    )


def data() -> Drawn[DataObject]:
    return Drawn(DataObject)


def randoms() -> Drawn[Random]:
    return Drawn(lambda random: random)


def just(value: T) -> Drawn[T]:
    return Drawn(lambda random: value)


def none() -> Drawn[None]:
    return just(None)


def sampled_from(values: Sequence[T]) -> Drawn[T]:
    return Drawn(lambda random: random.choice(values))


def booleans() -> Drawn[bool]:
    return Drawn(lambda random: random.random() < 0.5)


def integers(least: int, most: int) -> Drawn[int]:
    return Drawn(lambda random: random.randint(least, most))


def binary(*, max_size: int) -> Drawn[bytes]:
    return Drawn(lambda random: random.randbytes(random.randint(0, max_size)))


def one_of(*choices: Drawn[Any]) -> Drawn[Any]:
    return Drawn(lambda random: random.choice(choices).draw(random))


def tuples(*parts: Drawn[Any]) -> Drawn[tuple[Any, ...]]:
    return Drawn(lambda random: tuple(part.draw(random) for part in parts))


def lists(item: Drawn[T], *, min_size: int = 0, max_size: int = 5, unique: bool = False) -> Drawn[list[T]]:
    """If ``unique``, perhaps with fewer than ``min_size`` items, but at least one of them."""

    def draw(random: Random) -> list[T]:
        found = [item.draw(random) for _ in range(random.randint(min_size, max_size))]
        return list(dict.fromkeys(found)) if unique else found

    return Drawn(draw)


def frozensets(item: Drawn[T], *, min_size: int = 0, max_size: int = 5) -> Drawn[frozenset[T]]:
    """Perhaps with fewer than ``min_size`` members."""
    return lists(item, min_size=min_size, max_size=max_size).map(frozenset)


def dictionaries(keys: Drawn[T], values: Drawn[S], *, min_size: int = 0, max_size: int = 5) -> Drawn[dict[T, S]]:
    """Perhaps with fewer keys than ``min_size``."""
    return lists(tuples(keys, values), min_size=min_size, max_size=max_size).map(dict)


def fixed_dictionaries(
    always: Mapping[str, Drawn[Any]], *, optional: Mapping[str, Drawn[Any]] | None = None
) -> Drawn[dict[str, Any]]:
    """Each optional key in half of the values."""

    def draw(random: Random) -> dict[str, Any]:
        chosen = {**always, **{key: value for key, value in (optional or {}).items() if random.random() < 0.5}}
        return {key: value.draw(random) for key, value in chosen.items()}

    return Drawn(draw)


def builds(make: Callable[..., T], *parts: Drawn[Any], **named: Drawn[Any]) -> Drawn[T]:
    return Drawn(
        lambda random: make(
            *(part.draw(random) for part in parts), **{name: part.draw(random) for name, part in named.items()}
        )
    )


def composite(make: Callable[..., T]) -> Callable[..., Drawn[T]]:
    """``make`` takes a function that draws, then what the result is called with."""
    return lambda *args, **options: Drawn(lambda random: make(lambda drawn: drawn.draw(random), *args, **options))
