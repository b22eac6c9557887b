"""All refusals of the API server, also those after the first wrong type, where its decoder stops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kubesched_lint.engine.apiserver.limits import MOST_WRONG_TYPES
from kubesched_lint.engine.apiserver.validate import ApiServerAnswer, validate
from kubesched_lint.engine.apiserver.values.causes import Cause
from kubesched_lint.engine.base.places import Path

_UNDECODED = 400
Refusals = tuple[tuple[Cause, ApiServerAnswer], ...]


def refusals(obj: dict[Any, Any], version: str) -> Iterable[tuple[Cause, ApiServerAnswer]]:
    """Return every cause with its verdict; further wrong types appear as if the earlier ones were fixed."""
    verdict = validate(obj, version=version)
    return () if verdict.accepted else _all(obj, verdict, version)


def _all(obj: dict[Any, Any], verdict: ApiServerAnswer, version: str) -> Iterator[tuple[Cause, ApiServerAnswer]]:
    yield from ((cause, verdict) for cause in verdict.causes)
    if verdict.code == _UNDECODED:
        yield from _further(obj, verdict, version)


def _further(obj: dict[Any, Any], verdict: ApiServerAnswer, version: str) -> Iterator[tuple[Cause, ApiServerAnswer]]:
    """Yield the next decoding errors: wrong types, then unknown fields.

    Rules are checked only for values that decode.
    """
    value = obj
    reported = {cause.path for cause in verdict.causes}
    visited: list[Path] = []
    most = affordable(value)
    while len(visited) < most and not any(cause.message.startswith("unknown field ") for cause in verdict.causes):
        path = verdict.causes[0].path
        left = set_aside(value, path, times=visited.count(path))
        if left is value:
            return
        value = left
        visited.append(path)
        verdict = validate(value, version=version)
        if verdict.code != _UNDECODED:
            return
        for cause in verdict.causes:
            if cause.path not in reported:
                reported.add(cause.path)
                yield cause, verdict


# --- Remove or replace one value, so that a decoder that failed on it can read the rest -------------------------------

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
    return min(MOST_WRONG_TYPES, _WORK // size)


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
