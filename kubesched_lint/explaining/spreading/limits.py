"""Limits of the simulations of rules; a larger set or workload has no finding of these rules."""

from __future__ import annotations

MOST_WORKLOADS = 30
"""Workloads that are simulated together; of a larger set, half as many are simulated alone."""
MOST_NODES = 100
"""Nodes of a simulation."""
MOST_AT_ONCE = 10
"""Replicas from which a rollout surely takes several steps: a finding is no note because simulations end even."""
