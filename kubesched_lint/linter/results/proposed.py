"""What the fix of a rule proposes for a finding, before anybody tries it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kubesched_lint.engine.admission.schedulers import is_added
from kubesched_lint.engine.base.places import Source
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.remedies.remedy import Remedy, in_source, written
from kubesched_lint.linter.results.rule_results import RuleResult
from kubesched_lint.sources.manifests.document import Document


def proposed(judged: RuleResult, scenario: Scenario) -> Iterator[Remedy]:
    """Yield the remedies that the rule's fix proposes, the best first, each with a title."""
    if is_added(judged.hazard.at):
        return  # the scheduler's configuration has it, the manifest does not
    subjects = (judged.hazard.source, scenario) if judged.workload is None else (scenario.member(judged.workload),)
    for remedy in judged.rule.mend()(judged.hazard, *subjects):
        yield remedy if remedy.title else replace(remedy, title=judged.finding.help)


def source_of(judged: RuleResult) -> Source | None:
    return judged.hazard.source or (judged.workload.source if judged.workload else None)


def is_any_written(findings: Iterable[RuleResult], scenario: Scenario) -> bool:
    """Whether a rule proposes a change of a file that somebody wrote, for one of the findings.

    Only linting again shows whether the finding goes and no other comes: ``--diff`` does.
    """
    return any(_is_written(rule_result, scenario) for rule_result in findings if rule_result.rule.fix)


def _is_written(judged: RuleResult, scenario: Scenario) -> bool:
    try:
        return any(_changes_a_file(remedy, judged) for remedy in proposed(judged, scenario))
    except Exception:  # --diff and --fix report it
        return False


def _changes_a_file(remedy: Remedy, judged: RuleResult) -> bool:
    source = remedy.source or source_of(judged)
    if not isinstance(source, Document):
        return False
    if source.rendering is None:
        return not source.has_variables  # as Workspace.open
    return in_source(*written(remedy, source)) is not None
