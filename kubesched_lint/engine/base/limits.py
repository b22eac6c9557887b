"""Limits that all of the engine shares: the work of a run, and the lengths of texts."""

MOST_STEPS = 7_000_000
"""Steps of ``work`` of a run, about seven seconds; parts get a share. The rest is reported as unknown."""
STEPS_EACH = 600
"""Further steps for each document or running pod: a large set is not cut short for its size alone."""
MOST_COMPARED = 30
"""Names that are compared with a misspelt one; of more, those next to it in the alphabet, read from either end."""
LONGEST_VALUE = 60
"""Characters of a name or a value in a line; of a longer one, the reader sees the beginning and ``…``."""
LONGEST_REASON = 400
"""Characters of words from elsewhere, or that a note repeats; of longer ones, the reader sees the beginning."""
LONGEST_LIST = 6
"""Items of a long list in the message of a finding; the reader sees how many follow. Twice as many are all shown."""
