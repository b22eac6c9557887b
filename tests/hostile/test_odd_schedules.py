"""Schedules of CronJobs that no API server takes, or that it reads in another way than they look."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.findings import Report
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook

_CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 2, allocatable: {cpu: "4", memory: 16Gi}}
"""
_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: report}
spec:
  schedule: "%s"
  concurrencyPolicy: %s
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: OnFailure
          containers: [{name: report, image: report, resources: {requests: {cpu: "2"}}}]
"""


def judged(folder: Path, schedule: str, policy: str = "Allow") -> Report:
    (folder / "cluster.yaml").write_text(_CLUSTER)
    (folder / "job.yaml").write_text(_JOB % (schedule, policy))
    request = Request((str(folder / "job.yaml"),), cluster=str(folder / "cluster.yaml"))
    return check(request, Options(select=("cronjob-runs-pile-up",)), Rulebook.shipped())


@pytest.mark.parametrize(
    "schedule", ["*/" + "9" * 5_000 + " * * * *", "*/0 * * * *", "*/\u0665 * * * *", "*/11 * * * *"]
)
def test_no_number_of_minutes_breaks_the_rule(tmp_path: Path, schedule: str) -> None:
    report = judged(tmp_path, schedule)
    assert (list(report.findings), [e for e in report.errors if "failed" in e.message]) == ([], [])


@pytest.mark.parametrize("policy", ["Allow", "null", '""'])
def test_a_policy_that_is_not_set_allows_overlaps(tmp_path: Path, policy: str) -> None:
    assert len(judged(tmp_path, "*/5 * * * *", policy).findings) == 1
