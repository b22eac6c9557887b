"""The program that pages and CI files run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.served import served


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    """``kubesched-lint`` of this work tree."""
    with served() as file:
        yield file
