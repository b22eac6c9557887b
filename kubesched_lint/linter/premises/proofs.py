"""The last check of an error: what a rule proves is a claim, and ``engine.verdicts.refuting`` tries to beat it.

What the table of verdicts proves has had its runs there. A beaten proof becomes a warning that asks for a bug report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from kubesched_lint.engine.events.answers.cells import BAD
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.refuting import Claim, Refuter
from kubesched_lint.findings import Severity, pattern
from kubesched_lint.linter.results.rule_results import RuleResult


def established(judged: Iterable[RuleResult], scenario_of: Callable[[RuleResult], Scenario]) -> Iterator[RuleResult]:
    """Yield the findings; an error that a run in its scenario beats becomes a warning."""
    refuters: dict[Scenario, Refuter] = {}
    for rule_result in judged:
        claim, scenario = None, scenario_of(rule_result) if _is_own_proof(rule_result) else None
        if scenario is not None:
            refuters.setdefault(scenario, Refuter(scenario))
            claim = _claim(rule_result, scenario)
        doubt = refuters[scenario].doubt(claim) if scenario is not None and claim is not None else ""
        yield _not_established(rule_result, doubt) if doubt else rule_result


def _is_own_proof(rule_result: RuleResult) -> bool:
    """Whether the rule proves what a run may beat: no verdict of the table, no warning that explains one.

    A run binds pods, and says nothing of what becomes of them on their nodes.
    """
    is_of_table = (
        rule_result.rule.about == "verdict"
        or rule_result.hazard.severity is Severity.WARNING
        or bool(rule_result.hazard.after_binding)
    )
    is_error = rule_result.finding.severity is Severity.ERROR and rule_result.finding.evidence.kind == "proof"
    return is_error and rule_result.rule.each in ("workload", "set") and not is_of_table


def _claim(rule_result: RuleResult, scenario: Scenario) -> Claim | None:
    """Return what an error claims: so many pods never find a node, or a rolling update never ends."""
    event, of = rule_result.finding.evidence.event, _counted(rule_result, scenario)
    if event not in ("deploy", "rollout") or not of:
        return None
    wanted = sum(pods_wanted(scenario.member(w)) for w in of)
    claim = Claim(rule_result.finding.evidence.text, event, wanted, most=wanted, of=of)
    return (
        replace(claim, verdict=BAD)
        if event == "rollout"
        else replace(claim, most=wanted - _pending(rule_result, wanted))
    )


def _counted(rule_result: RuleResult, scenario: Scenario) -> tuple[Workload, ...]:
    """Return the workloads whose pods the finding counts; none if the scenario has not all of them."""
    if not rule_result.hazard.together:
        return () if rule_result.workload is None else (rule_result.workload,)
    by_ref = {workload.ref: workload for workload in scenario.as_deployed}
    return (
        tuple(by_ref[ref] for ref in rule_result.hazard.together)
        if by_ref.keys() >= set(rule_result.hazard.together)
        else ()
    )


def _pending(rule_result: RuleResult, wanted: int) -> int:
    """The number of pods that the finding says wait: its value ``pending``, else all wanted pods. At least one."""
    pending = rule_result.hazard.values.get("pending", wanted)
    return max(pending, 1) if isinstance(pending, int) else wanted


def _not_established(rule_result: RuleResult, doubt: str) -> RuleResult:
    evidence = pattern(f"a run contradicts the proof: {doubt}", assumes=rule_result.finding.evidence.assumes)
    lowered = replace(
        rule_result.finding, severity=Severity.WARNING, evidence=evidence, if_fixed=None, if_complete=None
    )
    return replace(rule_result, finding=lowered)
