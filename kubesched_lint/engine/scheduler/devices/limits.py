"""Limits of the search for devices."""

from __future__ import annotations

MOST_TRIES = 200_000
"""Tries on one node; with more, the answer is unknown. After 10 seconds upstream ends the attempt on all nodes."""
MOST_DEPTH = 600
"""Calls inside calls, two for each device and each request; with more, the answer is unknown."""
