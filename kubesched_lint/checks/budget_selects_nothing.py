"""A PodDisruptionBudget that selects no pod protects nothing, without any error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubesched_lint import work
from kubesched_lint.admission.reach import is_in_reach
from kubesched_lint.analysis.disruption import is_without_pods
from kubesched_lint.findings import Hazard, Place, pattern
from kubesched_lint.model.policy import DisruptionBudget
from kubesched_lint.model.workload import Workload
from kubesched_lint.text import closest
from kubesched_lint.world.world import World

_LIKENESS = 0.8
_ENDINGS = ("-pdb", "-poddisruptionbudget", "-disruption-budget", "-budget")


def check(world: World) -> Iterator[Hazard]:
    """Pods of operators and charts are in no manifest, so only a budget that is evidently for a workload counts."""
    of_namespace: dict[str, list[Workload]] = {}
    for workload in world.manifests.workloads:
        of_namespace.setdefault(workload.namespace, []).append(workload)
    for budget in world.manifests.budgets:
        here = of_namespace.get(budget.namespace, ())
        work.spend(1 + len(here))
        if not here or not is_without_pods(budget, world):
            continue
        meant = _meant(budget, here, world)
        if meant is not None:
            yield _hazard(budget, meant, world)


def _meant(budget: DisruptionBudget, here: Sequence[Workload], world: World) -> Workload | None:
    """The workload that has the budget's name, or almost the labels that it selects; None without one."""
    near = [w for w in here if w.kind != "DaemonSet" and is_in_reach(budget.source, w.source, around=False)]
    name = next((budget.name.removesuffix(e) for e in _ENDINGS if budget.name.endswith(e)), budget.name)
    named = (w for w in near if w.name == name)
    return next(named, None) or next((w for w in near if _is_slip(budget, world.member(w).pod.labels)), None)


def _is_slip(budget: DisruptionBudget, labels: Mapping[str, str]) -> bool:
    """Whether one value that the budget selects is a misspelt label of the pods, and all others are their labels."""
    wrong = [r for r in budget.selector.requirements if not r.matches(labels)] if budget.selector else []
    if len(wrong) != 1 or wrong[0].operator != "In":
        return False
    return any(closest(value, (labels.get(wrong[0].key, ""),), _LIKENESS) for value in wrong[0].values)


def _hazard(budget: DisruptionBudget, meant: Workload, world: World) -> Hazard:
    labels = world.member(meant).pod.labels
    has = ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "no labels"
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
