"""Objects as plain values: mappings, lists and scalars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesched_lint.engine.base.places import Path


def value_at(value: Any, path: Path) -> Any:
    """Return the value at a path of keys and indexes; None if the path does not exist."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def mappings_at(value: Any, path: Path = ()) -> Iterator[dict[Any, Any]]:
    """Yield the mappings in the list at a path; none if no list is there."""
    entries = value_at(value, path)
    yield from (item for item in entries if isinstance(item, dict)) if isinstance(entries, list) else ()
