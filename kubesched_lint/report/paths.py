"""Paths as services want them: relative to the repository, without a leading ``./``."""

from __future__ import annotations


def relative(path: str, root: str) -> str:
    """``path`` from ``root`` where it lies in it; else as it is."""
    if root and path.startswith(f"{root.rstrip('/')}/"):
        path = path[len(root.rstrip("/")) + 1 :]
    while path.startswith("./"):
        path = path[2:]
    return path
