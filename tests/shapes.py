"""Whether a JSON value has the shape of somebody else's format."""

from __future__ import annotations

from typing import Any


def assert_shape(value: Any, shape: Any) -> None:
    """``shape``: a mapping of all keys, a list with the shape of an item, a tuple of words, a type, or a test."""
    if isinstance(shape, dict):
        assert set(value) <= set(shape)
        for key, part in value.items():
            assert_shape(part, shape[key])
    elif isinstance(shape, list):
        assert isinstance(value, list)
        for part in value:
            assert_shape(part, shape[0])
    elif isinstance(shape, tuple):
        assert value in shape
    elif isinstance(shape, type):
        assert type(value) is shape
    else:
        assert shape(value)
