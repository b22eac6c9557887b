"""Limits of derived workloads; what goes beyond is an error of the expression."""

from __future__ import annotations

MOST_PARTS = 200
"""Workloads of one custom resource, and pods of a workload whose claims are named."""
LARGEST_NUMBER = 10**9
"""A number that an expression makes."""
MOST_BLAMED = 2_000
"""Fields of a rendered object that are traced to values; beyond, findings stand at the release."""
