"""A PodDisruptionBudget that selects no pod protects nothing, without any error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from kubesched_lint.engine.admission.reach import is_in_reach
from kubesched_lint.engine.base.text import closest, near
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.model.workload import Workload
from kubesched_lint.engine.scenario.pods.pod_labels import is_set_later, labels_when_created
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.disruption import is_without_pods
from kubesched_lint.findings import Hazard, Place, pattern

_LIKENESS = 0.8
_ENDINGS = ("-pdb", "-poddisruptionbudget", "-disruption-budget", "-budget")


def check(scenario: Scenario) -> Iterator[Hazard]:
    """Pods of operators and charts are in no manifest, so only a budget that is evidently for a workload counts."""
    of_namespace: dict[str, list[Workload]] = {}
    for workload in scenario.manifests.workloads:
        of_namespace.setdefault(workload.namespace, []).append(workload)
    guarded: dict[str, _Guarded] = {}
    for budget in scenario.manifests.budgets:
        if budget.namespace in of_namespace and is_without_pods(budget, scenario):
            if budget.namespace not in guarded:
                guarded[budget.namespace] = _Guarded(of_namespace[budget.namespace])
            meant = guarded[budget.namespace].meant_by(budget)
            if meant is not None:
                yield _hazard(budget, meant, scenario)


class _Guarded:
    """The workloads of a namespace that budgets may be meant for."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        self._workloads = [workload for workload in workloads if workload.kind != "DaemonSet"]
        self._labels = [labels_when_created(workload) for workload in self._workloads]
        self._named: dict[str, list[int]] = {}
        self._labelled: dict[str, dict[str, list[int]]] = {}
        """Key and value of a label → the workloads whose pods have it, by number."""
        for number, workload in enumerate(self._workloads):
            self._named.setdefault(workload.name, []).append(number)
            for key, value in self._labels[number].items():
                self._labelled.setdefault(key, {}).setdefault(value, []).append(number)

    def meant_by(self, budget: DisruptionBudget) -> Workload | None:
        """The workload that has the budget's name, or almost the labels that it selects; None without one."""
        name = next((budget.name.removesuffix(e) for e in _ENDINGS if budget.name.endswith(e)), budget.name)
        nearly = (number for number in self._nearly_selected(budget) if _is_slip(budget, self._labels[number]))
        for number in chain(self._named.get(name, ()), nearly):
            if is_in_reach(budget.source, self._workloads[number].source, around=False):
                return self._workloads[number]
        return None

    def _nearly_selected(self, budget: DisruptionBudget) -> Sequence[int]:
        """The numbers, ascending, of workloads with a label that is similar to one that the budget selects."""
        found: set[int] = set()
        for requirement in budget.selector.requirements if budget.selector else ():
            values = self._labelled.get(requirement.key, {})
            for wanted in requirement.values if requirement.operator == "In" else ():
                for value in near(wanted, values, _LIKENESS):
                    found.update(values[value])
        return sorted(found)


def _is_slip(budget: DisruptionBudget, labels: Mapping[str, str]) -> bool:
    """Whether one value that the budget selects is a misspelt label of the pods, and all others are their labels."""
    wrong = [r for r in budget.selector.requirements if not r.matches(labels)] if budget.selector else []
    if len(wrong) != 1 or wrong[0].operator != "In":
        return False
    return any(closest(value, (labels.get(wrong[0].key, ""),), _LIKENESS) for value in wrong[0].values)


def _hazard(budget: DisruptionBudget, meant: Workload, scenario: Scenario) -> Hazard:
    labels = scenario.member(meant).pod.labels
    written = sorted((key, value) for key, value in labels.items() if not is_set_later(key))
    has = ", ".join(f"{key}={value}" for key, value in written) or "no labels"
    return Hazard(
        at=("spec", "selector"),
        source=budget.source,
        victim=meant.ref,
        evidence=pattern(f"0 workloads and 0 running pods match {budget.selector or 'the null selector'}"),
        values={"budget": budget.name, "selector": str(budget.selector or "nothing"), "has": has},
        related=(
            Place((*meant.pod.path[:-1], "metadata", "labels"), "the labels of its pods", meant.source, meant.ref),
        ),
    )
