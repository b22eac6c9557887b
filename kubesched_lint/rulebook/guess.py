"""The name that somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """``; did you mean `right`?`` for the known name that reads most like ``wrong``; empty when none does."""
    close = _close(wrong, tuple(known))
    return f"; did you mean `{close[0]}`?" if close else ""


@lru_cache(maxsize=256)
def _close(wrong: str, known: tuple[str, ...]) -> Sequence[str]:
    """A file may hold one misspelt name thousands of times."""
    from difflib import get_close_matches

    return get_close_matches(wrong, known, n=1, cutoff=0.6)
