"""Limits of values."""

from __future__ import annotations

LONGEST = 1_000
"""Characters of a quantity, characters and items of an expression, parts of a key, lines between two edits. Longer ones
are refused; between distant edits, findings stay at their old lines until the next run."""
MOST_SHARED = 1 << 14
"""Values, and keys of pods, that are kept once; with more they are made again, and nothing else changes."""
