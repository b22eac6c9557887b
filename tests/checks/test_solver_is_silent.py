"""highspy 1.16 prints a banner on standard output when a solver is made: no report may hold it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from kubesched_lint.engine.placing.together.programme import _solver

pytest.importorskip("highspy")

CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: p, count: 2, allocatable: {cpu: "4", memory: 16Gi, pods: "12"}}
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


def test_a_report_is_all_that_lint_prints(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "app.yaml").write_text("---\n".join(map(DEPLOYMENT.format, "abcd")))
    program = (
        "import os, sys; from kubesched_lint.cli import main\n"
        "leave = os._exit\n"
        "def end(code):\n"
        "    print('SOLVED' * ('highspy' in sys.modules), end='', file=sys.stderr, flush=True)\n"
        "    leave(code)\n"
        "os._exit = end\n"
        "sys.argv = 'kubesched-lint lint app.yaml -c cluster.yaml --no-config --no-cache --format json'.split()\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == "SOLVED"
    assert {finding["rule"] for finding in json.loads(done.stdout)["findings"]} == {"set-does-not-fit"}


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
