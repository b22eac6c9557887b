"""Limits of commands."""

from __future__ import annotations

MOST_TRIALS = 200
"""Times that ``fix`` lints the set; findings beyond are reported as not tried."""
MOST_REMEDIES = 8
"""Remedies of one finding that are tried, in an editor findings of one place: a misspelt name may be like thousands."""
MOST_ROWS = 100
"""Rows of the matrix in a report; a note says which are left out."""
FEW_ROWS = 20
"""For more rows, or more than ``MOST_ROWS`` of all targets, fewer random traces are run: more cells stay unknown, and
nothing else changes."""
MOST_CELLS = 50_000
"""Rows times nodes of such a matrix, which takes some seconds."""
MOST_WORKLOADS = 1_500
"""Workloads of a set with a matrix, and findings whose term the diagram shows; a note says that there is none."""
MOST_WORK = 1_000_000
"""Pods times nodes of a diagram with pods; a larger diagram has none, and says so."""
MOST_DRAWN = 48
"""Nodes that are drawn one by one; more are grouped, five times as many groups at most."""
MOST_RUNS = 30_000_000
"""Pods of all losses that ``audit`` simulates, times the nodes that each is scored on; a loss beyond is reported as not
checked. Proofs and looks at room get a part."""
MOST_PLACES = 64
"""Nodes, groups of replicas or ends that are tried one by one; the others count as not tried."""
MOST_TARGETS = 6
"""Nodes to drain for which all orders of waves are searched; for more, the plan may not be the shortest."""
MOST_ADDED = 100
"""Nodes that ``--add-nodes`` adds; a larger number is refused."""
MOST_SCALED = 1_000_000
"""Replicas that ``--scale`` sets; a larger number is refused."""
STEPS_EACH_OF_ORDINARY = 30_000
"""Steps of ``simulate`` per workload of an ordinary set, at least a tenth of ``MOST_STEPS``; cells beyond are likely
after fewer traces, or unknown."""
STEPS_EACH_OF_LARGE = 15_000
"""Steps of ``simulate`` per workload of a large set, beyond a third of ``MOST_STEPS``; cells beyond are unknown."""
MOST_TRIES = 20
"""Decisions per pod in one trace of a drain; a trace that takes more says nothing."""
MOST_STATES = 2_000
"""States of one search of ``audit``; what needs more is not proven."""
MOST_SKEWED = 200
"""Nodes of a cluster for which ``simulate`` tells the skew of spreads, after twenty runs for each workload."""
MOST_ORDINARY = (200, 500, 30)
"""Workloads, nodes and parts of the average pod of an ordinary set. In a larger one, more cells stay unknown."""
MOST_LARGE = (800, 2_000, 50)
"""Workloads, nodes and pools of a large set of such pods; in a larger one, still more cells stay unknown."""
MOST_NESTED = 12
"""Steps from a schema to a field that a card is derived from; deeper fields are not found."""
