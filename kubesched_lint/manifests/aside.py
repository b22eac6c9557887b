"""A value without what stands at one path, so that whoever stumbled over it can read the rest."""

from __future__ import annotations

from typing import Any

from kubesched_lint.findings import Path

MOST = 50
"""A document with more wrong types than this is no manifest at all; the first ones tell."""
_WORK = 500_000
"""Values that all readings of one document may look at: aliases make few lines as large as a whole cluster."""


def affordable(value: Any) -> int:
    """How often a document may be read again in search of what else is wrong with it."""
    size, waiting = 0, [value]
    while waiting and size < _WORK:
        item = waiting.pop()
        size += 1
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return min(MOST, _WORK // size)


def set_aside(value: Any, path: Path, instead: str | None = None, times: int = 0) -> bool:
    """Puts a text, else nothing, at ``path`` of ``value``; False where that cannot be done.

    Places in lists must stay: there it is null at first, which most read as empty, and an empty text when they
    stumbled over that too (``times`` 1).
    """
    for step in path[:-1]:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    if not path or times > 1:
        return False
    last = path[-1]
    if isinstance(value, list) and isinstance(last, int) and last < len(value):
        value[last] = instead if instead is not None else "" if times else None
    elif isinstance(value, dict) and last in value:
        if instead is None:
            del value[last]
        else:
            value[last] = instead
    else:
        return False
    return True
