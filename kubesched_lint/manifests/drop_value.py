"""Remove or replace one value, so that a decoder that failed on it can read the rest."""

from __future__ import annotations

from typing import Any

from kubesched_lint.findings import Path

MOST = 50
"""Most wrong types to report per document. A document with more is probably not a manifest."""
_WORK = 500_000
"""Most values that all readings of one document may visit: with aliases, a few lines can expand to a huge value."""


def affordable(value: Any) -> int:
    """Return how often a document may be read again to find further errors."""
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
    """Return the value with ``instead``, or nothing, at ``path``; ``value`` itself if that is not possible.

    Only the values on the path are copied: other documents may share the rest. List indexes must stay: in a list the
    value becomes null first, which most decoders read as empty, then an empty text if null failed too (``times`` 1).
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
