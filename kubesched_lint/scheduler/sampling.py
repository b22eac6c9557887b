"""Which nodes the scheduler may choose: on large clusters it scores only some of the feasible ones.

Mirrors numFeasibleNodesToFind of ``pkg/scheduler/schedule_one.go`` (v1.36).
"""

from __future__ import annotations

from kubesched_lint.scheduler.framework import Diagnosis

FEW_NODES = 100
LEAST_PERCENTAGE = 5


def nodes_to_find(looked_at: int, percentage: int = 0) -> int:
    """Return the number of feasible nodes, out of ``looked_at``, after which the search stops.

    ``percentage`` is percentageOfNodesToScore; 0 is its default: 50 minus one per 125 nodes, at least 5.
    """
    if looked_at < FEW_NODES:
        return looked_at
    if percentage == 0:
        percentage = max(50 - looked_at // 125, LEAST_PERCENTAGE)
    return max(looked_at * percentage // 100, FEW_NODES)


def is_sampled(diagnosis: Diagnosis, percentage: int = 0) -> bool:
    """Return whether some feasible nodes are not scored; which ones depends on where the last search stopped.

    Then the pod may land on every feasible node, not only on those of the highest total: scores are normalised over the
    sample, so even the order of two nodes can depend on the other nodes in it.
    """
    looked_at = diagnosis.total - diagnosis.outside.bit_count()
    return diagnosis.feasible.bit_count() > nodes_to_find(looked_at, percentage)
