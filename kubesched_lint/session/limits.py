"""Limits of answers while somebody waits."""

from __future__ import annotations

STEPS_AT_ONCE = 20_000
"""Steps of the rules that an editor sees at once, some 20 ms; the findings of the others come later."""
