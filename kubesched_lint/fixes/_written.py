"""What stands in the manifest itself, as plain values, to be written elsewhere."""

from __future__ import annotations

from typing import Any

from kubesched_lint.findings import Path, Source
from kubesched_lint.manifests.recognise import value_at

_LONG_ENOUGH = 6


def written(source: Source | None, at: Path) -> Any:
    """The value at a path of a document; None where nothing is written."""
    return value_at(getattr(source, "value", None), at)


def is_slip(wrong: str, right: str) -> bool:
    """Whether nobody can have meant another name: case or punctuation is wrong, or one letter too many or too few.

    A letter or digit in the place of another is no slip, nor is a letter behind anything but a letter: they tell
    eu-west-1a from eu-west-1b, eu-west-1 and worker-a from worker.
    """
    if _letters(wrong) == _letters(right):
        return True
    one, other = sorted((wrong.lower(), right.lower()), key=len)
    if len(one) < _LONG_ENOUGH or len(other) != len(one) + 1:
        return False
    at = next((n for n in range(len(one)) if one[n] != other[n]), len(one))
    neighbour = other[at - 1] if at else other[1]
    return other[at].isalpha() and neighbour.isalpha() and one[at:] == other[at + 1 :]


def _letters(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
