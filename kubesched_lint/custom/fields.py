"""Paths of fields in cards, such as ``spec.template.spec.containers[0].resources``, and values set at them."""

from __future__ import annotations

import re
from typing import Any

from kubesched_lint.engine.base.places import Path

_STEP = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\d{1,2})\]|\['([^']+)'\]")


def path_of(text: str) -> Path | None:
    """Return the path that a text writes, ``spec.template.metadata.labels['ray.io/group']``; None if it is none."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or (not steps and text[at] == "."):
            return None
        key, number, quoted = match.groups()
        steps.append(int(number) if number is not None else key or quoted)
        at = match.end()
    return tuple(steps) or None


def with_value(held: Any, path: Path, value: Any) -> Any:
    """Return a copy of ``held`` with a value at the path; parts outside the path are shared, not copied.

    Raises ValueError if the path leads through a value that is neither a mapping nor a list, or skips an item.
    """
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        items = [] if held is None else list(held) if isinstance(held, list) else None
        if items is None or step > len(items):
            raise ValueError("there is no such item in a list")
        items[step : step + 1] = [with_value(items[step] if step < len(items) else None, tuple(rest), value)]
        return items
    if held is not None and not isinstance(held, dict):
        raise ValueError("a mapping is expected")
    return {**(held or {}), step: with_value((held or {}).get(step), tuple(rest), value)}
