"""Limits that several packages share: the work of a run, and the sizes of what is read and shown."""

from __future__ import annotations

MOST_STEPS = 7_000_000
"""Steps of ``work`` of a run, about seven seconds; parts get a share. The rest is reported as unknown."""
STEPS_EACH = 600
"""Further steps for each document or running pod: a large set is not cut short for its size alone."""
LARGEST_SETTINGS = 1 << 20
"""Bytes of a configuration, a card or a ConfigMap; a larger one is refused, because no ConfigMap holds it."""
LARGEST_OUTPUT = 64 << 20
"""Bytes of a program's output or a baseline; with more, the run says so and ends."""
LARGEST_WHOLE = 256 << 20
"""Bytes that belong together: a tree of kustomizations, a copy of a commit, a fleet's result, an
editor's message, the values of a CEL expression. What has more is refused, and the message names the limit."""
MOST_COMPARED = 30
"""Names that are compared with a misspelt one; of more, those next to it in the alphabet, read from either end."""
LONGEST_VALUE = 60
"""Characters of a name or a value in a line; of a longer one, the reader sees the beginning and ``…``."""
LONGEST_REASON = 400
"""Characters of words from elsewhere, or that a note repeats; of longer ones, the reader sees the beginning."""
