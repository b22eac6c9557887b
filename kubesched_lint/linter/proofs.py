"""The last check of an error: what a rule proves is a claim, and ``engine.verdicts.refuting`` tries to beat it.

What the table of verdicts proves has had its runs there. A beaten proof becomes a warning that asks for a bug report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from kubesched_lint.engine.answers.cells import BAD
from kubesched_lint.engine.model.workload import Workload
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.refuting import Claim, Refuter
from kubesched_lint.findings import Severity, pattern
from kubesched_lint.linter.rule_results import RuleResult


def established(judged: Iterable[RuleResult], scenario_of: Callable[[RuleResult], Scenario]) -> Iterator[RuleResult]:
    """Yield the findings; an error that a run in its scenario beats becomes a warning."""
    refuters: dict[Scenario, Refuter] = {}
    for one in judged:
        claim, scenario = None, scenario_of(one) if _is_own_proof(one) else None
        if scenario is not None:
            refuters.setdefault(scenario, Refuter(scenario))
            claim = _claim(one, scenario)
        doubt = refuters[scenario].doubt(claim) if scenario is not None and claim is not None else ""
        yield _not_established(one, doubt) if doubt else one


def _is_own_proof(one: RuleResult) -> bool:
    """Whether the rule proves what a run may beat: no verdict of the table, no warning that explains one.

    A run binds pods, and says nothing of what becomes of them on their nodes.
    """
    is_of_table = (
        one.rule.about == "verdict" or one.hazard.severity is Severity.WARNING or bool(one.hazard.after_binding)
    )
    is_error = one.finding.severity is Severity.ERROR and one.finding.evidence.kind == "proof"
    return is_error and one.rule.each in ("workload", "set") and not is_of_table


def _claim(one: RuleResult, scenario: Scenario) -> Claim | None:
    """Return what an error claims: so many pods never find a node, or a rolling update never ends."""
    event, of = one.finding.evidence.event, _counted(one, scenario)
    if event not in ("deploy", "rollout") or not of:
        return None
    wanted = sum(pods_wanted(scenario.member(w)) for w in of)
    claim = Claim(one.finding.evidence.text, event, wanted, most=wanted, of=of)
    return replace(claim, verdict=BAD) if event == "rollout" else replace(claim, most=wanted - _pending(one, wanted))


def _counted(one: RuleResult, scenario: Scenario) -> tuple[Workload, ...]:
    """Return the workloads whose pods the finding counts; none if the scenario has not all of them."""
    if not one.hazard.together:
        return () if one.workload is None else (one.workload,)
    by_ref = {workload.ref: workload for workload in scenario.as_deployed}
    return tuple(by_ref[ref] for ref in one.hazard.together) if by_ref.keys() >= set(one.hazard.together) else ()


def _pending(one: RuleResult, wanted: int) -> int:
    """The number of pods that the finding says wait: its value ``pending``, else all wanted pods. At least one."""
    pending = one.hazard.values.get("pending", wanted)
    return max(pending, 1) if isinstance(pending, int) else wanted


def _not_established(one: RuleResult, doubt: str) -> RuleResult:
    evidence = pattern(f"a run contradicts the proof: {doubt}", assumes=one.finding.evidence.assumes)
    lowered = replace(one.finding, severity=Severity.WARNING, evidence=evidence, if_fixed=None, if_complete=None)
    return replace(one, finding=lowered)
