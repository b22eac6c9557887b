"""The smallest edit that lets a rollout end which the change makes hang, where a rule's fix knows one.

An edit is told only if linting with it shows that the finding is gone and no other came.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir

from msgspec.structs import replace

from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.commands.fix.search import fix_of_one
from kubesched_lint.commands.plan.found import Plan, WorkloadPlan
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.findings import Finding, ObjectRef, Report
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.text import SHOWN

_EVENT = "rollout"


def mended(plan: Plan, after: Version, cluster: Cluster, rulebook: Rulebook, report: Report) -> Plan:
    """Return the plan with the edits that help the first rollouts that hang; ``report`` is that of ``after``."""
    known = {ref: _edit(ref, after, cluster, rulebook, report) for ref in list(_hanging(plan))[:SHOWN]}
    workloads = (replace(one, mend=known.get(one.object, "")) for one in plan.workloads)
    return replace(plan, workloads=tuple(workloads)) if any(known.values()) else plan


def _hanging(plan: Plan) -> Iterator[ObjectRef]:
    here = [one for one in plan.workloads if one.hangs(proven=False)]
    things: list[WorkloadPlan] = [*here]
    yield from dict.fromkeys(one.object for one in (*plan.never_end, *things))


def _edit(ref: ObjectRef, after: Version, cluster: Cluster, rulebook: Rulebook, report: Report) -> str:
    """Return the edit in words; empty if no rule has a fix that passes."""
    findings = (f for f in report.findings if f.object == ref and f.suppressed is None and f.evidence.event == _EVENT)
    for finding in sorted(findings, key=_severest)[:1]:
        with chdir(after.folder):
            fix = fix_of_one(after.manifests, cluster, after.options, rulebook, finding, {})
        if fix is not None:
            return fix.title
    return ""


def _severest(finding: Finding) -> int:
    return -finding.severity
