"""Limits that several packages share: the sizes of what is read."""

from __future__ import annotations

LARGEST_SETTINGS = 1 << 20
"""Bytes of a configuration, a card or a ConfigMap; a larger one is refused, because no ConfigMap holds it."""
LARGEST_OUTPUT = 64 << 20
"""Bytes of a program's output or a baseline; with more, the run says so and ends."""
LARGEST_WHOLE = 256 << 20
"""Bytes that belong together: a tree of kustomizations, a copy of a commit, a fleet's result, an
editor's message, the values of a CEL expression. What has more is refused, and the message names the limit."""
