"""Prints the table of speed: what was measured, its goal, whether it is met, and how cost grows with size.

``python benchmarks/run.py [--only NAME]… [--markdown]`` from the repository; ``--markdown`` prints it as Markdown.
Each name is a module of this folder with a function ``rows``. References run in the same run, so compare ratios between
machines: ``python -c pass``, ``yaml.CSafeLoader``, and kube-linter if it is installed. The least CPU of several rounds
counts, because other load only adds. Exit code 1 if a goal is missed or an exponent is above ``MOST_GROWTH``.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.rows import Row  # noqa: E402

TABLE = ("start", "many_files", "many_nodes", "many_workloads", "many_clusters", "tied")
"""Modules of this folder, in the order of the table."""


def rows_of(name: str) -> list[Row]:
    return list(import_module(f"benchmarks.{name}").rows())


def measured(names: Iterable[str]) -> Iterator[list[Row]]:
    """The rows of each module, measured in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as alone:
        for name in names:
            yield alone.submit(rows_of, name).result()


def machine() -> str:
    """What the figures were measured on, as one line."""
    describe = ("git", "describe", "--always", "--dirty")
    commit = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"Measured on {processor()}, {python}, {datetime.now(UTC):%Y-%m-%d}, commit {commit or 'unknown'}."


def processor() -> str:
    """The model and the number of processors."""
    told = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.partition(":")[2].strip() for line in told.splitlines() if line.startswith("model name")]
    return f"{os.cpu_count()} × {models[0] if models else platform.processor() or platform.machine()}"


def text(row: Row) -> str:
    figure, goal, growth = cells(row)
    return f"{row.what.replace('`', ''):44} {figure.replace('`', ''):44} {goal:12} {growth:>5}  {row.also}"


def markdown(row: Row) -> str:
    figure, goal, growth = cells(row)
    return f"| {row.what} | {figure} | {goal} | {growth} | {row.also} |"


def cells(row: Row) -> tuple[str, str, str]:
    """The figure with its unit, the goal with whether it is met, and the exponent."""
    goal = "" if row.goal is None else f"≤ {row.goal:g} {'met' if row.measured <= row.goal else 'MISSED'}"
    return f"{number(row.measured)} {row.unit}", goal, "" if row.growth is None else f"{row.growth:.2f}"


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 20 else f"{value:.1f}" if value >= 2 else f"{value:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=TABLE, metavar="NAME", help=", ".join(TABLE))
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    asked = parser.parse_args()
    line, met = markdown if asked.markdown else text, True
    print(machine() + "\n")
    if asked.markdown:
        print("| what | measured | goal | growth | |\n|---|---|---|---|---|")
    for rows in measured(asked.only or TABLE):
        print(*map(line, rows), sep="\n", flush=True)
        met = met and all(row.met for row in rows)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
