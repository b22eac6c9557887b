"""Names and the one among them that a misspelt name is most like, as ``difflib`` counts it.

A query looks at all names at once: which of them have a letter, and how often, is a number with a bit for each name.
So few names are compared letter by letter, and thousands of misspelt names beside thousands of others end in time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache


class Names:
    """Names that a misspelt one may be meant for."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = sorted(set(names))
        sizes: dict[int, list[int]] = {}
        repeated: dict[tuple[str, int], list[int]] = {}
        for number, name in enumerate(self._names):
            sizes.setdefault(len(name), []).append(number)
            for letter, times in Counter(name).items():
                for once in range(times):
                    repeated.setdefault((letter, once), []).append(number)
        self._of_size = {size: _bits(numbers) for size, numbers in sizes.items()}
        self._with = {letter: _bits(numbers) for letter, numbers in repeated.items()}
        """A letter and a number → the names that have it more often than that, as bits."""

    def closest(self, wrong: str, likeness: float, suits: Callable[[str], bool] = bool) -> str:
        """Return the name most similar to ``wrong`` of those that suit; empty if none reaches ``likeness``.

        Of equally similar ones it is the last in the alphabet, as with ``difflib.get_close_matches``.
        """
        matcher = SequenceMatcher(None, "", wrong)
        shared_in_order = _common_letters(wrong)
        best = likeness, ""
        for bound, alike in sorted(self._by_bound(wrong, likeness), reverse=True):
            for name in self._last_first(alike):
                if (bound, name) < best:
                    break
                if 2 * shared_in_order(name) / (len(wrong) + len(name)) >= best[0]:
                    matcher.set_seq1(name)
                    if (found := (matcher.ratio(), name)) > best and suits(name):
                        best = found
        return best[1]

    def alike(self, wrong: str, likeness: float) -> Iterator[str]:
        """Yield the names that may reach ``likeness``, by the letters that they have: no other one reaches it."""
        for _, alike in self._by_bound(wrong, likeness):
            yield from self._last_first(alike)

    def _by_bound(self, wrong: str, likeness: float) -> Iterator[tuple[float, int]]:
        """Yield the likeness that names may have at most, and these names as bits."""
        digits: list[int] = []
        for letter, times in Counter(wrong).items():
            for once in range(times):
                _add(digits, self._with.get((letter, once), 0))
        for shared in range(1, len(wrong) + 1):
            having = _equal_to(shared, digits)
            for size, of_size in self._of_size.items() if having else ():
                alike, bound = having & of_size, 2 * shared / (len(wrong) + size)
                if alike and bound >= likeness:
                    yield bound, alike

    def _last_first(self, bits: int) -> Iterator[str]:
        while bits:
            number = bits.bit_length() - 1
            bits ^= 1 << number
            yield self._names[number]


@lru_cache(maxsize=16)
def names_of(names: tuple[str, ...]) -> Names:
    """Return the names as ``Names``; cached for callers that ask about a few words."""
    return Names(names)


def _bits(numbers: Sequence[int]) -> int:
    """Return ascending numbers as bits."""
    found = bytearray(numbers[-1] // 8 + 1)
    for number in numbers:
        found[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(found, "little")


def _add(digits: list[int], bits: int) -> None:
    """Add one to the counts of some names; the binary digits of all counts are numbers with a bit for each name."""
    for place, digit in enumerate(digits):
        digits[place], bits = digit ^ bits, digit & bits
        if not bits:
            return
    if bits:
        digits.append(bits)


def _equal_to(count: int, digits: Sequence[int]) -> int:
    """Return the names with a count, as bits."""
    if count.bit_length() > len(digits):
        return 0
    found = -1
    for place, digit in enumerate(digits):
        found &= digit if count >> place & 1 else ~digit
    return found


def _common_letters(wrong: str) -> Callable[[str], int]:
    """Return a function of a name: the length of its longest common subsequence with ``wrong``.

    ``difflib`` finds no more equal letters. Mirrors Hyyrö, "Bit-parallel LCS-length computation revisited" (2004).
    """
    at: dict[str, int] = {}
    for place, letter in enumerate(wrong):
        at[letter] = at.get(letter, 0) | 1 << place
    everywhere = (1 << len(wrong)) - 1

    def common(name: str) -> int:
        left = everywhere
        for letter in name:
            here = left & at.get(letter, 0)
            left = (left + here) | (left - here)
        return (~left & everywhere).bit_count()

    return common
