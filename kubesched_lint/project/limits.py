"""Limits of the configuration."""

from __future__ import annotations

MOST_COMPARED = 1_000_000
"""Names that the patterns of one configuration are compared with, about two seconds; with more, they are refused."""
