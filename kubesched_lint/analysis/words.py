"""Words of a cluster, and the one of them that a misspelt word is meant for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from kubesched_lint import work
from kubesched_lint.likeness import Names
from kubesched_lint.text import closest

if TYPE_CHECKING:
    from kubesched_lint.likeness import Names

_AT_ONCE = 4
"""So many names are compared with one in a step of ``work``."""


class Words:
    """Words of the cluster, of which one may be meant by another that is none of them."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words)
        self._found: dict[str, str] = {}

    def closest(self, word: str) -> str:
        """Return the word most similar to one: the same letters or last part, or a small slip; empty without one."""
        found = self._found.get(word)
        if found is None:
            found = self._found[word] = self._closest(word)
        return found

    def _closest(self, word: str) -> str:
        work.spend(1 + len(self._words) // _AT_ONCE)
        plain, tails = self._spellings
        if _plain(word) in plain:
            return plain[_plain(word)]
        last = word.rpartition("/")[2]
        tail = _plain(last)
        if tail in tails:
            return tails[tail]
        at = bisect_left(self._words, word) if len(tail) > 2 else len(self._words)
        if at < len(self._words) and self._words[at].startswith(word):  # a word that lacks its end
            return self._words[at]
        if "/" not in word:
            return self._names.closest(word, 0.75)
        # A long domain alone makes no likeness: ovn.kubernetes.io/bgp is not meant as kubernetes.io/os.
        return self._names.closest(word, 0.75, lambda c: bool(closest(last, (c.rpartition("/")[2],))))

    def first(self, most: int) -> Sequence[str]:
        """Return the first few words in the alphabet."""
        return self._words[:most]

    @cached_property
    def _names(self) -> Names:
        return Names(self._words)

    @cached_property
    def _spellings(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Words by their letters and digits, and by those of their last part; the first in the alphabet wins."""
        plain = {_plain(c): c for c in reversed(self._words)}
        return plain, {_plain(c.rpartition("/")[2]): c for c in reversed(self._words)}


def closest_word(word: str, choices: Iterable[str]) -> str:
    """Return what ``Words`` says of a few choices."""
    return _words_of(tuple(sorted(choices))).closest(word)


@lru_cache(maxsize=64)
def _words_of(words: tuple[str, ...]) -> Words:
    return Words(words)


def _plain(word: str) -> str:
    return "".join(c for c in word.lower() if c.isalnum())
