"""Words of a cluster, and the one of them that a misspelt word is meant for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from kubesched_lint.engine.base.text import closest, near_of

_LIKENESS = 0.75


class Words:
    """Words of the cluster, of which one may be meant by another that is none of them."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words)

    def closest(self, word: str) -> str:
        """Return the word most similar to one: the same letters or last part, or a small slip; empty without one."""
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
        alike = near_of(word, self._words, self._backwards, _LIKENESS)
        # A long domain alone makes no likeness: ovn.kubernetes.io/bgp is not meant as kubernetes.io/os.
        return next((c for c in alike if "/" not in word or closest(last, (c.rpartition("/")[2],))), "")

    def first(self, most: int) -> Sequence[str]:
        """Return the first few words in the alphabet."""
        return self._words[:most]

    @cached_property
    def _backwards(self) -> Sequence[str]:
        return sorted(word[::-1] for word in self._words)

    @cached_property
    def _spellings(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Words by their letters and digits, and by those of their last part; the first in the alphabet wins."""
        plain = {_plain(c): c for c in reversed(self._words)}
        return plain, {_plain(c.rpartition("/")[2]): c for c in reversed(self._words)}


def closest_word(word: str, choices: Iterable[str]) -> str:
    """Return what ``Words`` says of a few choices."""
    return Words(choices).closest(word)


def _plain(word: str) -> str:
    return "".join(c for c in word.lower() if c.isalnum())
