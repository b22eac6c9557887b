"""The default StorageClass that a claim gets when it is created."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.model.storage import StorageClass, default_class


def made(name: str, created: str = "", *, is_default: bool = True) -> StorageClass:
    return StorageClass(name, is_default=is_default, created=created)


@pytest.mark.parametrize(
    ("classes", "name"),
    [
        ([made("a", "2026-01-01T00:00:00Z"), made("b", "2026-02-01T00:00:00Z")], "b"),
        ([made("b", "2026-02-01T00:00:00Z"), made("a", "2026-02-01T00:00:00Z")], "a"),
        ([made("old", "2026-02-01T00:00:00Z"), made("applied")], "applied"),
        ([made("old", "2025-01-01T00:00:00Z"), made("new", "2026-02-01T00:00:00Z", is_default=False)], "old"),
    ],
)
def test_the_newest_default_class_is_taken(classes: list[StorageClass], name: str) -> None:
    """GetDefaultClass: newest first, then by name."""
    found = default_class(classes)
    assert found is not None
    assert found.name == name
    assert default_class([made("a", is_default=False)]) is None
