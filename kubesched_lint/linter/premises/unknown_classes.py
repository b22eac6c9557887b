"""What an error assumes about RuntimeClasses that the cluster file does not tell of: they may tolerate more taints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.model.pod import EVERY_TAINT
from kubesched_lint.engine.model.policy import RuntimeClass
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.verdicts.missing_facts import fits_nowhere
from kubesched_lint.linter.results.applies import rests_on_nodes
from kubesched_lint.linter.results.rule_results import RuleResult


def members_of(error: RuleResult, scenario: Scenario) -> Iterator[Member]:
    """Yield the workload that an error is about, or each workload that takes part in it."""
    if error.workload is not None:
        yield scenario.member(error.workload)
        return
    together = set(error.hazard.together)
    for workload in scenario.manifests.workloads if together else ():
        if workload.ref in together:
            yield scenario.member(workload)


def unknown_classes(error: RuleResult, scenario: Scenario) -> Sequence[str]:
    """Return the RuntimeClasses that the pods of an error name and that the cluster file does not tell of."""
    if not rests_on_nodes(error.rule):
        return ()
    pods = (member.pod for member in members_of(error, scenario))
    return list(dict.fromkeys(pod.runtime_class for pod in pods if not scenario.admission.tells_of_class(pod)))


def if_they_add_nothing(error: RuleResult, scenario: Scenario) -> str:
    names = unknown_classes(error, scenario)
    return f"RuntimeClass {', '.join(names)} {'add' if len(names) > 1 else 'adds'} no nodeSelector and no tolerations"


def with_other_classes(error: RuleResult, scenario: Scenario) -> Sequence[Scenario]:
    """Return the scenario in which unknown classes can help most: their selectors and overhead only close nodes.

    No scenario if closing nodes may help pods, too: a spread counts only the domains of selected nodes.
    """
    if any(c.is_hard for member in members_of(error, scenario) if not fits_nowhere(member) for c in member.pod.spread):
        return ()
    return (_with_tolerant_classes(scenario),)


@once_per_scenario
def _with_tolerant_classes(scenario: Scenario) -> Scenario:
    """Return the scenario where all unknown classes tolerate all taints."""
    pods = (w.pod for w in scenario.manifests.workloads)
    named = dict.fromkeys(pod.runtime_class for pod in pods if not scenario.admission.tells_of_class(pod))
    made = (RuntimeClass(name, tolerations=(EVERY_TAINT,)) for name in named)
    known = scenario.manifests.runtime_classes
    return scenario.with_manifests(replace(scenario.manifests, runtime_classes=(*known, *made)))
