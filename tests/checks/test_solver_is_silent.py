"""The solver is loaded where it may decide, and then neither prints nor starts threads.

highspy 1.16 prints a banner on standard output when a solver is made: no report may hold it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from kubesched_lint.engine.placing.together.one_by_one import all_have_a_place
from kubesched_lint.engine.placing.together.programme import _solver

pytest.importorskip("highspy")

CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: p, count: 2, zones: [a, b], allocatable: {cpu: "4", memory: 16Gi, pods: "12"}}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {0}}}
spec:
  replicas: 7
  selector: {{matchLabels: {{app: {0}}}}}
  template:
    metadata: {{labels: {{app: {0}}}}}
    spec: {{containers: [{{name: app, image: "app:1", resources: {{requests: {{cpu: 100m}}}}}}]}}
"""


def linted(folder: Path, manifests: str) -> tuple[set[str], str]:
    """Return the rules that found something, and what was said of the solver: SOLVED, and the number of threads."""
    (folder / "cluster.yaml").write_text(CLUSTER)
    (folder / "app.yaml").write_text(manifests)
    program = (
        "import os, sys; from kubesched_lint.cli import main\n"
        "leave = os._exit\n"
        "def end(code):\n"
        "    threads = len(os.listdir('/proc/self/task'))\n"
        "    print(f'SOLVED {threads}' * ('highspy' in sys.modules), end='', file=sys.stderr, flush=True)\n"
        "    leave(code)\n"
        "os._exit = end\n"
        "sys.argv = 'kubesched-lint lint app.yaml -c cluster.yaml --no-config --no-cache --format json'.split()\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    return {finding["rule"] for finding in json.loads(done.stdout)["findings"]}, done.stderr


def test_a_report_is_all_that_lint_prints(tmp_path: Path) -> None:
    """Zone b has room for one pod beside those of ``pinned``, so that zone a may have two: 3 of 4 pods."""
    one_cpu = DEPLOYMENT.replace("cpu: 100m", "cpu: 1")
    spread = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: "
    spread += "DoNotSchedule, labelSelector: {matchLabels: {app: even}}}], "
    even = one_cpu.format("even").replace("7", "4").replace("spec: {", "spec: {" + spread)
    pinned = one_cpu.format("pinned").replace("spec: {", "spec: {nodeSelector: {topology.kubernetes.io/zone: b}, ")
    rules, said = linted(tmp_path, f"{even}---\n{pinned}")
    assert "set-does-not-fit" in rules
    assert said == "SOLVED 1", "numpy started threads"


def test_what_a_placement_shows_is_not_solved(tmp_path: Path) -> None:
    """One workload finds no node by itself, so that no trial places the whole set; the others fit together."""
    alone = DEPLOYMENT.format("e").replace("cpu: 100m", "cpu: 5")
    rules, said = linted(tmp_path, "---\n".join([*map(DEPLOYMENT.format, "abc"), alone]))
    assert (rules & {"set-does-not-fit", "resource-exceeds-any-node"}, said) == ({"resource-exceeds-any-node"}, "")


def test_a_placement_is_one_that_all_rows_allow() -> None:
    """With rows that other pods use up, as resources are, and rows to which others add, as affinity and spread do."""
    chance, placed = Random(7), 0
    for _ in range(400):
        columns = [(demand, place) for demand in range(2) for place in range(chance.randint(1, 2))]
        most = [chance.randint(0, 2) for _ in columns]
        rows = [
            ({i: float(chance.choice((-2, -1, 1, 2))) for i in range(len(columns)) if chance.random() < 0.7}, bound)
            for bound in (0.0, 1.0, 3.0)
        ]
        wanted = [chance.randint(1, 3) for _ in range(2)]
        if all_have_a_place(wanted, columns, most, rows):
            placed += 1
            assert any(
                all(sum(row.get(i, 0) * n for i, n in enumerate(pods)) <= bound for row, bound in rows)
                and wanted == [sum(n for n, (d, _) in zip(pods, columns, strict=True) if d == own) for own in range(2)]
                for pods in product(*(range(limit + 1) for limit in most))
            )
    assert placed > 20


def test_who_needs_every_place_comes_before_who_can_go_elsewhere() -> None:
    """A DaemonSet needs a place on each of three nodes; a large pod may go to the first or, beside it, the second."""
    columns = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
    rooms = [({0: 8.0, 2: 10.0}, 16.0), ({1: 8.0, 3: 10.0}, 18.0), ({4: 10.0}, 10.0)]
    assert all_have_a_place([1, 3], columns, [2, 2, 1, 1, 1], rooms)


def test_standard_output_is_back_after_a_failure_and_beside_other_threads(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        os.write(1, b"a banner")
        raise MemoryError

    with pytest.raises(MemoryError):
        _solver(SimpleNamespace(Highs=fail))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(_solver, [SimpleNamespace(Highs=lambda: os.write(1, b"a banner"))] * 200))
    os.write(1, b"a report")
    assert capfd.readouterr().out == "a report"
