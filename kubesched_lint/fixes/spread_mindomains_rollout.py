"""Old and new pods are counted apart, or an old one goes first."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._revisions import by_revision
from kubesched_lint.fixes._rollout import room_first
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    yield by_revision(workload, hazard.at[:-1])
    yield room_first(workload, facts)
