"""File paths inside a container: relative ones that stay below where they start.

Mirrors ``validateLocalDescendingPath`` and its kin in ``pkg/apis/core/validation/validation.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.findings import Path
from kubesched_lint.validation.causes import Cause, invalid


def without_backsteps(text: str, path: Path, *, field: str | None = None) -> Iterator[Cause]:
    if ".." in text.split("/"):
        yield invalid(path, text, "must not contain '..'", field=field)


def descending(text: str, path: Path, *, field: str | None = None) -> Iterator[Cause]:
    if text.startswith("/"):
        yield invalid(path, text, "must be a relative path", field=field)
    yield from without_backsteps(text, path, field=field)


def descending_and_free(text: str, path: Path, *, field: str | None = None) -> Iterator[Cause]:
    """Also not one of the names that begin with two dots, which atomic writers reserve."""
    yield from descending(text, path, field=field)
    if text.startswith("..") and not text.startswith("../"):
        yield invalid(path, text, "must not start with '..'", field=field)
