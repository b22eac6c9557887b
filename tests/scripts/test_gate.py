"""The gate on speed: every baseline has every case, and a count is one of a run that ended well."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchmarks import gate


def test_each_baseline_has_every_case() -> None:
    for name, counts in json.loads(gate.BASELINE.read_text("utf-8")).items():
        assert list(counts) == list(gate.CASES), name
        assert all(count > 1_000_000 for count in counts.values())


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.thorough
def test_a_run_that_fails_has_no_count(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="exit code 2"):
        gate.instructions(("lint", "nowhere.yaml"), tmp_path)
