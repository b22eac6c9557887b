"""Where chance comes from: a seeded ``random.Random``, or hypothesis, behind the same four questions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Draw(Protocol):
    """``chance(p)`` is False with weight 1 - p; a shrinking source prefers False, small numbers and first choices."""

    def integer(self, least: int, most: int) -> int: ...


class Seeded:
    """Plain pseudo-random numbers: fast, and equal for equal seeds."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, least: int, most: int) -> int:
        return self._random.randint(least, most)


class Shrinking:
    """Hypothesis' choices."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, least: int, most: int) -> int:
        return self._draw(st.integers(least, most))


class Dice:
    """The questions that the generator asks."""

    def __init__(self, source: Draw) -> None:
        self._source = source

    def integer(self, least: int, most: int) -> int:
        return self._source.integer(least, most)

    def chance(self, probability: float) -> bool:
        return self.integer(0, 99) >= 100 - round(100 * probability)

    def pick(self, choices: Sequence[T]) -> T:
        """One of them; repeat a choice to give it more weight."""
        return choices[self.integer(0, len(choices) - 1)]

    def some(self, choices: Sequence[T], count: int) -> list[T]:
        """``count`` different ones, in their order."""
        left = list(range(len(choices)))
        kept = [left.pop(self.integer(0, len(left) - 1)) for _ in range(min(count, len(left)))]
        return [choices[i] for i in sorted(kept)]
