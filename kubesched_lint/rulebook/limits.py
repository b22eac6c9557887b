"""Limits of rules."""

from __future__ import annotations

MOST_TURNS = 10_000
"""Turns of all loops of a CEL expression, as cel-cpp limits them; with more, the rule is reported as failed."""
LARGEST_FRONT_MATTER = 64 << 10
"""Characters of a card's front matter; a card with more is an error."""
MOST_DEPTH = 20
"""Levels of a card's front matter; a deeper card is an error."""
