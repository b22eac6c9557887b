"""Limits of simulations: with more, a cell says ``unknown``, or that no bad end was found, instead of a proof."""

from __future__ import annotations

MOST_PODS = 80
"""Pods of a set that is searched exhaustively, of a gang and of a rollout that is followed."""
MOST_STATES = 100_000
"""States of a case of the conformance tests; one with more has no predictions."""
MOST_WORK = 250_000
"""Work of all courses of a phase, a second; courses beyond it do not count. A step costs ``PLACE`` plus 1 per node and
entry of its state."""
MOVES_EACH = 100
"""Moves per allowed state, several of which may lead to the same state; a search with more is not complete."""
FEW_RUN = 20_000
"""Nodes times pods, or kinds of nodes times contenders: above this, courses skip workloads that share only room, and a
bound ignores who may use which node."""
MOST_AIMED = 100_000
"""The same limit for a course aimed at one workload; above it, a bad end of such an order is not found."""
MOST_IN_COURSE = 50_000
"""Pods of a course: no course has more, and a set with more gets fewer courses."""
MOST_FOLLOWED = 200
"""Nodes of a DaemonSet or pods of a set that courses follow one by one, and ways to delete pods that they choose."""
MOST_MOVED = 40
"""Nodes whose upgrade, or pods of others whose moves a trace follows."""
MOST_TRIED = 64
"""Orders in which pods are preempted on a node, sets of nodes that volumes reach or that several spreads lead to; with
more, a cell says unknown."""
MOST_PROGRAMMED = 64
"""Rows of the programme for full nodes, and rounds that sharpen it; with more, only sums prove that pods wait."""
MOST_LOST = 64
"""Nodes of a cluster in which the loss of each is counted; of a larger one, a cell of a loss may show a wider range."""
MOST_COMBINED = 3
"""Unknown templates, nodes to upgrade and conditions that a drain gives up: each order or combination of so many is
tried. With more, a cell says that no bad end was found, and a drain names obstacles that may not be the smallest."""
FEW_LOST = 3
"""Nodes whose loss is tried in a set of more than ``MOST_FOLLOWED`` pods; a bad end after another loss is not found."""
FEW_ALIKE = 3
"""Workloads alike that are counted one by one; more share a bound, so a cell may show a wider range."""
MOST_CROWDS = 8
"""Deployments that are kept for several workloads; with more they are simulated again, which takes steps."""
MOST_DRAWN = 2_000
"""Pods of all runs together; a larger workload gets fewer runs, and no run that scales beyond."""
STEPS_OF_FILLING = 1_500
"""Steps of one bound: a sharper one must not use up the work of later cells."""
LEAST_STEPS = 2_000
"""Steps that a cell gets after the run has spent its own."""
MOST_TOLD = 40
"""Steps of a trace that are told; the reader sees how many follow."""
