"""Limits of verdicts."""

from __future__ import annotations

MOST_DECISIONS = 5_000
"""Pods times nodes of a trace that may refute an error, or that no cell needs; above this, an error is not tested."""
FEW_ERRORS = 100
"""Errors of rules that get several runs to refute them; each further one gets one."""
