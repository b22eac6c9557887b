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


def set_aside(value: Any, path: Path, instead: str | None = None, times: int = 0) -> Any:
    """The value with a text, else nothing, at ``path``; ``value`` itself where that cannot be done.

    Only what is on the way is copied: the rest may be shared with other documents. Places in lists must stay: there it
    is null at first, which most read as empty, and an empty text when they stumbled over that too (``times`` 1).
    """
    if not path or times > 1:
        return value
    step, rest = path[0], path[1:]
    in_list = isinstance(value, list) and isinstance(step, int) and step < len(value)
    if not in_list and not (isinstance(value, dict) and step in value):
        return value
    if rest:
        changed = set_aside(value[step], rest, instead, times)
        if changed is value[step]:
            return value
    elif instead is None and not in_list:
        return {key: item for key, item in value.items() if key != step}
    else:
        changed = instead if instead is not None else "" if times else None
    copied = value.copy()
    copied[step] = changed
    return copied
