"""Limits of analyses: what lies beyond is not checked, and reported so."""

from __future__ import annotations

MOST_PODS_TRIED = 3_000
"""Pods that are placed in a trial, beside others or on new nodes; with more, no trial confirms or refutes a verdict."""
MOST_NODES_GROWN = 500
"""Nodes that the growth of pools adds; further pods count as left."""
MOST_VARIABLES = 20_000
"""Variables of the integer programme; without it, only sums show that workloads cannot run together. Also pods, each
for each class of nodes, that are placed without it."""
MOST_SOLVED = 40
"""Workloads of the integer programme; a larger set is only counted."""
MOST_PAIRS = 20_000
"""Pairs of workloads that are asked whether they exclude each other."""
MOST_ROUNDS = 12
"""Searches for sets that cannot run together, and groups of pods that are paired; causes beyond are not named."""
MOST_PODS_PENDING = 20_000
"""Pods of a cluster up to which every report compares the messages of Pending pods; in a larger one ``audit`` does."""
MOST_EVICTIONS = 200
"""Preemptions in one run; pods that wait then count as left, and a run that should refute a proof decides nothing."""
MOST_SPARE = 60
"""Nodes that pools might add during an event; with more, the event is not simulated."""
MOST_NODES_BESIDE = 200
"""Nodes on which the order of creation is tried; of the others nothing is said."""
