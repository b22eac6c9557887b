"""Limits of scenarios."""

from __future__ import annotations

MOST_NODES = 24
"""Nodes of a set that is searched exhaustively, or whose devices are followed one by one; with more, cells say that no
bad end was found, or unknown."""
MOST_DEVICES = 64
"""Devices that are followed one by one; with more, cells of pods that need certain ones say unknown."""
MOST_ORDINALS = 200
"""Replicas of a StatefulSet whose claims are looked up one by one; of more, no claim counts as bound to a zone."""
MOST_VALUES = 64
"""Values of a topology key that further nodes may share with today's; with more, new nodes have none of the others."""
