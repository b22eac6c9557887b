"""One object is written twice in what is applied together, and not alike: the later one silently wins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from typing import Any

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, ObjectRef, Path, Place, Severity, pattern
from kubesched_lint.model.inventory import identity

_NAME: Path = ("metadata", "name")


def check(facts: Facts) -> Iterator[Hazard]:
    for field in fields(facts.manifests):
        for items in _namesakes(getattr(facts.manifests, field.name)):
            for earlier, later in pairwise(items):
                if _folder(earlier.source) == _folder(later.source):
                    yield from _hazards(earlier, later)


def _namesakes(items: tuple[Any, ...]) -> Iterator[list[Any]]:
    found: dict[object, list[Any]] = {}
    if len(items) > 1:
        for item in items:
            found.setdefault(identity(item), []).append(item)
    yield from (same for same in found.values() if len(same) > 1)


def _hazards(earlier: Any, later: Any) -> Iterator[Hazard]:
    """Alternatives for the reader to choose from are often kept in one folder: there it is only a note."""
    before, after = earlier.source, later.source
    at = first_difference(before.value, after.value)
    if at is None:
        return
    together = before.path == after.path
    where = f"line {before.span(_NAME).line}" if together else before.path.rpartition("/")[2]
    yield Hazard(
        at=_NAME,
        source=after,
        victim=ObjectRef(after.kind, getattr(later, "namespace", ""), later.name),
        evidence=pattern(f"the first difference is at {at}"),
        severity=None if together else Severity.NOTE,
        values={"where": where, "field": at},
        related=(Place(_NAME, "the first definition", before),),
    )


def _folder(source: Any) -> str:
    return str(source.path).rpartition("/")[0]


def first_difference(one: Any, other: Any, at: str = "") -> str | None:
    """``spec.replicas``: where two values differ first; None where they do not."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            found = first_difference(one.get(key), other.get(key), f"{at}.{key}" if at else str(key))
            if found is not None:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (mine, yours) in enumerate(zip(one, other, strict=True)):
            found = first_difference(mine, yours, f"{at}[{i}]")
            if found is not None:
                return found
        return None
    return None if one == other else at
