"""The rows of the table that ``benchmarks/run.py`` prints, and how they are measured.

A module of this folder adds rows with a function ``rows() -> Iterable[Row]`` and a line in ``run.TABLE``. It runs in a
process of its own, so its memory and caches do not change another's figures.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PYTHON = (sys.executable, "-X", "utf8")
LINT = (*PYTHON, "-m", "kubesched_lint", "lint")
BARE = (*PYTHON, "-c", "pass")
MOST_GROWTH = 1.3


class Row(NamedTuple):
    """One line: ``measured`` in ``unit``, at most ``goal``; ``growth`` is the exponent of cost over size."""

    what: str
    measured: float
    unit: str
    """``s`` (of CPU), ``MiB``, or what a ratio refers to: ``× yaml.CSafeLoader``."""
    goal: float | None = None
    growth: float | None = None
    also: str = ""
    """What else to say: seconds behind a ratio, sizes behind an exponent."""

    @property
    def met(self) -> bool:
        return (self.goal is None or self.measured <= self.goal) and (self.growth or 0) <= MOST_GROWTH


class Spent(NamedTuple):
    """What a process used: seconds of CPU and MiB at its peak."""

    cpu: float
    peak: float


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The k of cost = c · size^k that fits best (least squares of the logarithms).

    Take from each cost what a run on next to nothing costs: a constant part hides growth.
    """
    xs, ys = [log(size) for size in sizes], [log(max(cost, 1e-6)) for cost in costs]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def spent(command: Sequence[str], given: str = "") -> Spent:
    """What a process used that must not fail: findings (exit code 1) and drains that do not end (3) are no failure."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    process.stdin.write(given.encode())
    process.stdin.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, 3):
        raise RuntimeError(f"{' '.join(command)} failed with exit code {process.returncode}")
    return Spent(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def least(runs: Sequence[Spent]) -> Spent:
    """The least of each figure: other load only adds."""
    return Spent(*map(min, zip(*runs, strict=True)))


def growing(
    what: str, runs: Mapping[int, Sequence[str]], goal: float, nothing: float, said: str = "", smallest: int = 0
) -> Row:
    """The row of the largest of some runs, by size; ``nothing`` is the CPU of a run on next to nothing.

    If no such run does the same work, ``nothing`` is that of a run of size ``smallest``, and both grow from there.
    """
    seconds_by_size = {size: least([spent(command) for _ in range(2)]) for size, command in runs.items()}
    largest = seconds_by_size[max(seconds_by_size)]
    growth = exponent(
        [size - smallest for size in seconds_by_size],
        [each_size.cpu - nothing for each_size in seconds_by_size.values()],
    )
    return Row(what, largest.cpu, "s", goal, growth, f"{largest.peak:.0f} MiB{said}")


def beside(ours: Sequence[str], reference: Sequence[str], given: str = "", rounds: int = 3) -> tuple[Spent, Spent]:
    """What our run and the reference used: the least of some rounds that alternate."""
    spent(ours)  # bytecode is written, files are in the page cache
    runs = [(spent(ours), spent(reference, given)) for _ in range(rounds)]
    return least([run for run, _ in runs]), least([run for _, run in runs])
