"""What each command costs on ordinary sets in seconds of CPU, and which run misses the goal for its size.

``python benchmarks/ordinary.py FOLDER…`` from the repository. Each folder holds ``manifests/`` and ``cluster.json``, as
a company has them. ``plan`` compares them with a copy in which the first Deployment of three replicas has five. A run
that misses its goal is repeated, and the least counts: other load only adds. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.rows import PYTHON, least, spent  # noqa: E402

GOALS = ((25, 12, 2.0), (60, 40, 6.0))
"""Number of workloads and of nodes up to which a goal holds, in seconds of CPU; larger sets have the last one."""
WORKLOADS = re.compile(r"^kind: (?:Deployment|StatefulSet|DaemonSet|Job|CronJob)$", re.MULTILINE)
THREE = re.compile(r"(kind: Deployment\n(?:(?!---).*\n)*?  replicas:) 3$", re.MULTILINE)
ROUNDS = 3
"""Runs at most of a command that misses its goal."""


def main(folders: Sequence[Path]) -> int:
    seconds: dict[str, list[float]] = {}
    missed = []
    with tempfile.TemporaryDirectory() as scratch:
        for folder in folders:
            goal, size = goal_of(folder)
            for name, command in commands(folder, Path(scratch)):
                cpu = cost(command, goal)
                seconds.setdefault(name, []).append(cpu)
                if cpu > goal:
                    missed.append(f"{folder.name}, {size}: {name} {cpu:.2f} s, goal {goal:.0f} s")
    for name, costs in seconds.items():
        print(f"{name:<9} {len(costs)} runs, median {median(costs):.2f} s, most {max(costs):.2f} s")
    print("\n".join(missed) or "all within their goals")
    return bool(missed)


def goal_of(folder: Path) -> tuple[float, str]:
    """The goal for a set, and its size in words."""
    workloads = sum(len(WORKLOADS.findall(path.read_text())) for path in folder.glob("manifests/**/*.yaml"))
    nodes = kinds_of(folder).count("Node")
    fitting = (goal for most, most_nodes, goal in GOALS if workloads <= most and nodes <= most_nodes)
    return next(fitting, GOALS[-1][-1]), f"{workloads} workloads on {nodes} nodes"


def kinds_of(folder: Path) -> list[str]:
    """The kind of each object of the cluster."""
    return [item["kind"] for item in json.loads((folder / "cluster.json").read_text())["items"]]


def commands(folder: Path, scratch: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield name and command line of what is asked about a set."""
    manifests, cluster = str(folder / "manifests"), ("-c", str(folder / "cluster.json"))
    for name in ("lint", "simulate", "drain"):
        yield name, called(name, manifests, *cluster)
    yield "page", called("lint", manifests, *cluster, "-f", f"html={scratch / 'page.html'}")
    if "Pod" in kinds_of(folder):  # the audit is of what runs
        yield "audit", called("audit", *cluster)
    yield "plan", called("plan", manifests, str(changed(folder / "manifests", scratch)), *cluster)


def called(*arguments: str) -> tuple[str, ...]:
    return (*PYTHON, "-m", "kubesched_lint", *arguments, "--no-config")


def changed(manifests: Path, scratch: Path) -> Path:
    """A copy of manifests in which one Deployment has more replicas."""
    copy = scratch / "changed"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(manifests, copy)
    for path in sorted(copy.glob("**/*.yaml")):
        text, count = THREE.subn(r"\1 5", path.read_text(), 1)
        if count:
            path.write_text(text)
            break
    return copy


def cost(command: Sequence[str], goal: float) -> float:
    runs = [spent(command)]
    while runs[-1].cpu > goal and len(runs) < ROUNDS:
        runs.append(spent(command))
    return least(runs).cpu


if __name__ == "__main__":
    raise SystemExit(main([Path(name).resolve() for name in sys.argv[1:]]))
