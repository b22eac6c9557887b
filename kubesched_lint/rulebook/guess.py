"""The name that somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """``; did you mean `right`?`` for the known name that reads most like ``wrong``; empty when none does."""
    from difflib import get_close_matches

    close = get_close_matches(wrong, list(known), n=1, cutoff=0.6)
    return f"; did you mean `{close[0]}`?" if close else ""
