"""Limits of a lint."""

from __future__ import annotations

LEAST_STEPS = 20_000
"""Steps that a rule gets when the others have spent those of the run; then it is reported as cut short."""
MOST_RELATED = 50
"""Related places of a finding; the last one says how many more there are."""
MOST_AGAIN = 400
"""Shared objects times variants in which their workloads are judged; elsewhere they only count."""
MOST_LEADERS = 4
"""Groups with which a path is compared for each of its workloads: a file, and folders that hold other workloads too."""
MOST_ENVIRONMENTS = 20
"""Environments of a set that one run judges; a note names the others."""
LEAST_AGAIN = 2
"""Variants in which the workloads of all shared objects are judged, however many there are."""
MOST_NESTED = 8
"""Alternatives inside one another; those further in count as one set."""
