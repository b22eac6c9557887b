"""The table of speed: exponents, goals, and a ``rows`` in each module that it names."""

from __future__ import annotations

from importlib import import_module

import pytest

from benchmarks import run
from benchmarks.rows import Row, exponent


@pytest.mark.parametrize("power", [0, 1, 1.55, 2])
def test_the_exponent_is_that_of_the_cost(power: float) -> None:
    sizes = [250, 500, 1_000]
    assert exponent(sizes, [3 * size**power for size in sizes]) == pytest.approx(power)


@pytest.mark.parametrize(
    ("row", "met"),
    [
        (Row("a", 4.0, "s", 4.0), True),
        (Row("a", 4.1, "s", 4.0), False),
        (Row("a", 3.0, "s", 4.0, growth=1.3), True),
        (Row("a", 3.0, "s", 4.0, growth=1.4), False),
        (Row("a", 3.0, "s"), True),
    ],
)
def test_a_row_meets_its_goal_only_with_its_growth(row: Row, met: bool) -> None:
    assert row.met is met


def test_both_tables_say_figure_goal_and_growth() -> None:
    row = Row("a ring of `2,000`", 12.34, "× ours", 3, 1.92, "so many")
    assert " ".join(run.text(row).split()) == "a ring of 2,000 12.3 × ours ≤ 3 MISSED 1.92 so many"
    assert run.markdown(row) == "| a ring of `2,000` | 12.3 × ours | ≤ 3 MISSED | 1.92 | so many |"


@pytest.mark.parametrize("name", run.TABLE)
def test_each_module_of_the_table_has_rows(name: str) -> None:
    assert callable(import_module(f"benchmarks.{name}").rows)
