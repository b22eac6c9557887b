"""What stands in the manifest itself, as plain values, to be written elsewhere."""

from __future__ import annotations

from typing import Any

from kubesched_lint.findings import Path, Source
from kubesched_lint.manifests.recognise import value_at


def written(source: Source | None, at: Path) -> Any:
    """The value at a path of a document; None where nothing is written."""
    return value_at(getattr(source, "value", None), at)


def is_slip(wrong: str, right: str) -> bool:
    """Whether two names differ in case and punctuation alone: then nobody can have meant another."""
    return _letters(wrong) == _letters(right)


def _letters(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
