"""What workloads share in ``simulate`` changes no verdict, beside running pods, priorities and quotas."""

from __future__ import annotations

import pytest

from kubesched_lint.commands.simulate import run
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.bounds.competition import rivals
from kubesched_lint.engine.runs import courses
from kubesched_lint.engine.verdicts import matrix
from kubesched_lint.engine.verdicts.matrix import EVENTS
from tests.worlds.agreement import SHORT, Reading
from tests.worlds.generator import seeded

SEEDS = (3, 17, 108, 314)
"""In worlds 108 and 314, bounds that were shared too widely once lost proofs."""


@pytest.mark.parametrize("is_large", [False, True], ids=["searched", "counted"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_verdict_is_that_of_a_workload_by_itself(seed, is_large, monkeypatch):
    """As in a large set (``is_large``), there is no search, and a course has few workloads."""
    if is_large:
        monkeypatch.setattr(courses, "FEW_RUN", 0)
        monkeypatch.setattr(courses, "MOST_AIMED", 0)
        monkeypatch.setattr(matrix, "MOST_PODS", 0)
    monkeypatch.setattr(rivals, "FEW_ALIKE", 0)  # as if each workload had others alike
    shared = Reading(seeded(seed)).simulated(EVENTS, SHORT, skews=True)
    monkeypatch.setattr(rivals, "FEW_ALIKE", 1_000)
    for module in (courses, run):
        monkeypatch.setattr(module, "shape", lambda *_: None)
    alone = Reading(seeded(seed)).simulated(EVENTS, SHORT, skews=True)
    assert same_values(shared.skews, alone.skews)
    told = [
        [(c.event, c.verdict, c.proven, c.stuck) for row in each.rows for c in row.cells] for each in (shared, alone)
    ]
    assert told[0] == told[1]
