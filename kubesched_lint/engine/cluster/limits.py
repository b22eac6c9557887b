"""Limits of clusters, and of what states keep."""

from __future__ import annotations

LARGEST = 2 << 30
"""Bytes of a cluster, unpacked; a larger one is refused. Twice kubectl's output for 5,000 nodes and 150,000 pods."""
MOST_FOLD = 100
"""How far a file may unpack; beyond it is refused as a bomb. kubectl's output of a recorded cluster unpacks 45-fold."""
MOST_NODES = 150_000
"""Nodes of a cluster; one with more is refused: thirty times what Kubernetes supports."""
MOST_OBJECTS = 1_000_000
"""Other objects of a cluster; one with more is refused: six times what Kubernetes supports."""
MOST_PAGES = 4_000
"""Pages of a captured list; a longer list counts as failed: two million objects."""
LONGEST_TEXT = 4_096
"""Characters of a scheduler's message, a continue token or the head of an editor's message. A longer message is not
compared; a longer token or head is refused."""
MOST_SKETCHED = 20_000
"""Nodes of a sketch; one with more is refused."""
MOST_DEVICES = 1_024
"""Devices in a line of a sketch; a line with more is refused."""
MOST_KINDS = 4_000
"""Kinds of nodes of a pool, and nodes that pools may add; eleven pools or more share ten times as many kinds.
With more, an error becomes a warning: one may be missing."""
MOST_KEPT = 64
"""Answers that a cache keeps, if each has a number for every node; with more they are computed again."""
LARGEST_PAGE = 128 << 20
"""Bytes of a page of a list, or of what an API server says of itself; a larger answer is refused, and the kind counts
as not captured."""
