"""Limits of validation."""

from __future__ import annotations

MOST_WRONG_TYPES = 50
"""Wrong types that are reported for one document; with more it is probably no manifest."""
