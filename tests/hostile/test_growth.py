"""How the cost of linting grows with inputs made to be slow, in lines of Python that run: no clock, so no noise."""

from __future__ import annotations

import gc
import sys
from functools import lru_cache
from types import FrameType
from typing import Any

import pytest

import kubesched_lint
from benchmarks.rows import MOST_GROWTH, exponent
from tests.hostile.shapes import SHAPES, Files, stream, workload
from tests.hostile.shapes.parts import nodes
from tests.share import every

ONE = Files(stream([workload("w0")]), nodes(1, zones=1))
SIZES = {
    "chain": 25,
    "ring": 40,
    "star": 40,
    "taints": 40,
    "containers": 200,
    "pins": 60,
    "misspelt-budgets": 25,
    "beside-each": 40,
    "sketched-pools": 15,
    "misspelt-values": 60,
    "misspelt-tolerations": 20,
    "scoped-quotas": 40,
    "all-but-one": 25,
    "negative-budgets": 25,
    "own-zones": 25,
    "default-classes": 25,
    "loose-volumes": 25,
    "local-volumes": 25,
    "labelled-volumes": 25,
    "everywhere": 25,
    "tolerant": 25,
    "misspelt-pools": 15,
    "capacities": 15,
}
"""Shape → the smaller of two sizes, the other four times as large; one between would not change the exponent."""


def lines_of_a_run(files: Files) -> int:
    """Return how many lines run to lint the files; an iteration of a loop in one line counts as a line."""
    ran = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal ran
        ran += event == "line"
        return trace

    forget()
    cluster = kubesched_lint.load_cluster(text={"c.yaml": files.cluster})
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        kubesched_lint.lint(text={"m.yaml": files.manifests}, cluster=cluster)
    finally:
        sys.settrace(before)
    return ran


def run(files: Files) -> None:
    """Lint, so that the next run imports nothing; nobody counts, which takes five times as long."""
    cluster = kubesched_lint.load_cluster(text={"c.yaml": files.cluster})
    kubesched_lint.lint(text={"m.yaml": files.manifests}, cluster=cluster)


def forget() -> None:
    """Clear what earlier runs remember of their input: else the smallest one, that warmed up, costs too little.

    Caches without a size hold what a run loads once, as it imports modules.
    """
    remembering = type(lru_cache(run))
    gc.unfreeze()  # what tests/conftest.py froze is not listed
    for function in gc.get_objects():
        is_ours = isinstance(function, remembering) and (function.__module__ or "").startswith("kubesched_lint.")
        if is_ours and function.cache_parameters()["maxsize"] is not None:
            function.cache_clear()
    gc.freeze()


@pytest.fixture(scope="module")
def least() -> int:
    run(ONE)
    return lines_of_a_run(ONE)


@pytest.mark.parametrize("name", every(6, SIZES))
def test_the_cost_of_linting_a_shape_grows_no_faster_than_the_shape(name: str, least: int) -> None:
    made = [SHAPES[name].make(SIZES[name] << doubled) for doubled in (0, 2)]
    run(made[0])
    sizes = [len(files.manifests) + len(files.cluster) for files in made]
    lines = [lines_of_a_run(files) - least for files in made]
    assert exponent(sizes, lines) <= MOST_GROWTH, lines
