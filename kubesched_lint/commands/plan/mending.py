"""The smallest edit that lets a rollout end which the change makes hang, where a rule's fix knows one.

An edit is told only if linting with it shows that the finding is gone and no other came.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir

from msgspec.structs import replace

from kubesched_lint.commands.plan.judging import Findings
from kubesched_lint.commands.plan.plan_result import Plan
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.engine.base.limits import LONGEST_LIST
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.findings import Finding
from kubesched_lint.rulebook.library import Rulebook

_EVENT = "rollout"


def mended(plan: Plan, after: Version, lint: Findings, rulebook: Rulebook) -> Plan:
    """Return the plan with the edits that help the first rollouts that hang; ``lint`` has the findings of ``after``."""
    hanging, findings = frozenset(list(_hanging(plan))[:LONGEST_LIST]), lint.reports[1].findings
    wanted = {finding.object: finding for finding in sorted(findings, key=_severity) if _is_of(finding, hanging)}
    if not wanted or lint.linted is None:
        return plan
    from kubesched_lint.commands.fix.search import fixes_of

    with chdir(after.folder):
        fixes = fixes_of(after.manifests, lint.cluster, after.options, rulebook, tuple(wanted.values()), lint.linted)
    edits = {finding.object: fix.title for finding, fix in fixes}
    return replace(
        plan, workloads=tuple(replace(workload, mend=edits.get(workload.object, "")) for workload in plan.workloads)
    )


def _hanging(plan: Plan) -> Iterator[ObjectRef]:
    hanging = [change.object for change in plan.workloads if change.hangs(proven=False)]
    yield from dict.fromkeys([*(change.object for change in plan.never_end), *hanging])


def _is_of(finding: Finding, refs: frozenset[ObjectRef]) -> bool:
    return finding.object in refs and finding.suppressed is None and finding.evidence.event == _EVENT


def _severity(finding: Finding) -> int:
    return finding.severity
