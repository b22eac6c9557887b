"""What outsiders were told wrongly is told as they expect it now."""

from __future__ import annotations

from typing import Any

import pytest

from tests.one_answer import breaks
from tests.one_answer.outsiders import CASES, failures
from tests.share import every


@pytest.mark.parametrize("case", every(3, CASES), ids=[case["id"] for case in CASES])
def test_a_case_of_outsiders(case: dict[str, Any]) -> None:
    """Cases in the list of breaks are to fail: whoever mends one deletes its line."""
    found = failures(case)
    if case["id"] in breaks.open_cases():
        assert found, "mended: delete its line of breaks.txt"
    else:
        assert not found
