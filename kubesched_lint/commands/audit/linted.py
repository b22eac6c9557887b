"""What lint says of the running workloads, in the section that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.commands.audit.findings import DRAINS, FACT, RETURN, RULES, AuditFinding, place_of
from kubesched_lint.commands.audit.running_cluster import RunningCluster
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rule, Rulebook

_LATER = frozenset(["autoscaling", "rollout", "disruption", "api", "waivers"])
"""Families of rules about other events than the creation of all pods."""


def lint_report(now: RunningCluster, options: Options, rulebook: Rulebook) -> tuple[Report, dict[str, Rule]]:
    """Return the report of lint about what runs, before waivers: a snapshot holds no comments."""
    rules = [r for r in options.rules(rulebook) if r.audit != "not"]
    with work.within(MOST_STEPS // 2):
        report, _ = lint(now.running, now.cluster, options, rules)
    return report, {rule.slug: rule for rule in rules}


def findings(now: RunningCluster, report: Report, rules: dict[str, Rule]) -> Iterator[AuditFinding]:
    """Yield the findings of lint; a proof about a first deployment says what happens if all the pods are made again."""
    runs = {group.ref for group in now.groups}
    for finding in report.findings:
        yield _of(finding, rules[finding.rule], runs)


def _of(finding: Finding, rule: Rule, runs: set[ObjectRef]) -> AuditFinding:
    evidence = finding.evidence
    argues = evidence.kind in ("proof", "witness")
    of_deploy = evidence.event == "deploy" and rule.family not in _LATER and rule.audit != "rules"
    again = argues and of_deploy and finding.object in runs
    section = RETURN if again else DRAINS if rule.audit == "drains" else RULES
    details = [("if", "all its pods are made again")] if again else []
    details += [(evidence.kind, evidence.text)] if evidence.text else []
    details += [("assumes", premise) for premise in evidence.assumes]
    details += [("help", finding.help)] if finding.help else []
    return AuditFinding(
        section,
        min(finding.severity, Severity.WARNING) if again else finding.severity,
        finding.object,
        finding.message,
        place_of(finding),
        evidence.kind if argues else FACT,
        details=tuple(details),
        cause=f"{finding.rule} {finding.cause or finding.help}",
        rule=finding.rule,
        role=rule.audit,
    )
