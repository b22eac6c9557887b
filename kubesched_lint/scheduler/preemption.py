"""Which pods would have to go for a pod that fits nowhere, and where it would then go.

Mirrors ``pkg/scheduler/framework/preemption/preemption.go`` and
``pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kubesched_lint import work
from kubesched_lint.cluster.nodeset import positions
from kubesched_lint.cluster.state import ClusterState, Placement
from kubesched_lint.model.labels import go_int
from kubesched_lint.model.pod import BoundPod, Pod
from kubesched_lint.model.policy import DisruptionBudget
from kubesched_lint.record import record
from kubesched_lint.scheduler.framework import Diagnosis, counted_reasons, filter_node
from kubesched_lint.scheduler.quirks import DYNAMIC_RESOURCES, has

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NEVER = "not eligible due to preemptionPolicy=Never."

# DefaultPreemptionArgs: fewer potential nodes than this are all tried; of more, only some from a random start.
_STEPS = 5
"""What it costs to try one node."""
MIN_CANDIDATES = 100
MIN_CANDIDATES_PERCENT = 10


@record
class Candidate:
    """A node, and its least set of pods that have to go; the most important of them first."""

    position: int
    victims: tuple[Placement, ...]
    violations: int
    """How many victims a disruption budget would have kept."""

    @property
    def is_freed(self) -> bool:
        """Whether all victims go once they are deleted: the pod waits for one that a finalizer holds."""
        return not any(victim.bound is not None and victim.bound.held for victim in self.victims)


@record
class Preemption:
    """What the PostFilter plugins say. ``chosen`` None: nothing can be evicted that helps."""

    message: str = ""
    """Their part of the PodScheduled message; empty when a node was nominated."""
    chosen: Candidate | None = None
    equals: tuple[Candidate, ...] = ()
    """Candidates that no criterion tells from ``chosen``, itself included: upstream takes any of them."""
    sampled: bool = False
    """So many nodes might be freed that upstream tries only some, from a random start: any candidate may be chosen."""


def preempt(pod: Pod, diagnosis: Diagnosis, state: ClusterState, *, offset: int = 0) -> Preemption:
    """Dry-runs preemption for a pod that ``diagnose`` found no node for. ``state`` is as before when this returns.

    ``offset`` is where among the nodes that might be freed the search begins; upstream draws it. It matters only
    where they are more than are tried (``sampled``).
    """
    prefix = "no new claims to deallocate, " if has(state.kubernetes_version, DYNAMIC_RESOURCES) else ""
    if diagnosis.gated or not diagnosis.total:
        return Preemption()
    if diagnosis.refusal is not None and prefix:
        # PreFilter ended before DynamicResources had its turn, so its PostFilter lacks its own state: an error, and
        # DefaultPreemption is not asked.
        return Preemption("not found")
    if pod.preemption_policy == "Never":
        return Preemption(f"{prefix}preemption: {NEVER}")
    potential = list(positions(diagnosis.resolvable))
    wanted = min(len(potential), max(MIN_CANDIDATES, len(potential) * MIN_CANDIDATES_PERCENT // 100))
    start = offset % max(len(potential), 1)
    candidates, failures = _dry_run(pod, potential[start:] + potential[:start], wanted, state)
    if not candidates:
        histogram: dict[str, int] = {}
        for reasons in failures.values():
            for reason in reasons:
                histogram[reason] = histogram.get(reason, 0) + 1
        if len(failures) < diagnosis.total:
            histogram[NOT_HELPFUL] = histogram.get(NOT_HELPFUL, 0) + diagnosis.total - len(failures)
        tail = f"0/{diagnosis.total} nodes are available: {counted_reasons(histogram)}."
        return Preemption(f"{prefix}preemption: {tail}")
    best = _best(candidates)
    return Preemption("", best[0], tuple(best), sampled=wanted < len(potential))


def _dry_run(
    pod: Pod, potential: Sequence[int], wanted: int, state: ClusterState
) -> tuple[list[Candidate], Mapping[int, Sequence[str]]]:
    """Candidates, and for each other node that was tried the reasons why evicting does not help there.

    The search ends with ``wanted`` candidates, provided that one of them violates no budget (DryRunPreemption).
    """
    budgets = state.objects.budgets
    everyone = [p.bound for p in state.placements() if p.bound is not None] if budgets else []
    allowed = [(budget, allowed_disruptions(budget, everyone)) for budget in budgets]
    candidates: list[Candidate] = []
    failures: dict[int, Sequence[str]] = {}
    for position in potential:
        if len(candidates) >= wanted and any(not c.violations for c in candidates):
            break
        work.spend(_STEPS)
        mark = state.mark()
        try:
            found = _select_victims(pod, position, allowed, state)
        finally:
            state.undo(mark)
            state.removed_in_cycle.clear()
        if isinstance(found, Candidate):
            candidates.append(found)
        else:
            failures[position] = found
    return candidates, failures


def victims_on(pod: Pod, position: int, ranked: Sequence[Placement], state: ClusterState) -> Candidate | None:
    """Whom the pod would drive from one node, where no budget is at stake; ``state`` is as before when this returns.

    ``ranked`` are the pods of the node that might have to go, the most important first, for when their ages are the
    caller's to choose.
    """
    mark = state.mark()
    try:
        found = _select_victims(pod, position, (), state, ranked)
    finally:
        state.undo(mark)
        state.removed_in_cycle.clear()
    return found if isinstance(found, Candidate) else None


def cost(candidate: Candidate) -> tuple[int, int, int, int]:
    """What pickOneNodeForPreemption compares, in its order, before it looks at ages: the least wins."""
    return tuple(criterion(candidate) for criterion in _CRITERIA)  # type: ignore[return-value]  # four of them


def _select_victims(
    pod: Pod,
    position: int,
    budgets: Sequence[tuple[DisruptionBudget, int]],
    state: ClusterState,
    ranked: Sequence[Placement] | None = None,
) -> Candidate | Sequence[str]:
    """Take away every pod of lower priority, then give back, most important first, all that the pod can live with."""
    ours = pod.priority or 0
    potential = [p for p in state.pods_on(position) if (p.pod.priority or 0) < ours]
    if not potential:
        return (NO_VICTIMS,)
    for placement in potential:
        _take(placement, state)
    rejections = filter_node(pod, state, position)
    if rejections:
        return [r.reason for r in rejections]
    potential = sorted(potential, key=importance) if ranked is None else list(ranked)
    protected, free = _by_budget(potential, budgets)
    victims: list[Placement] = []
    violations = 0
    for placement in (*protected, *free):
        state.restore(placement)
        state.removed_in_cycle.remove(placement)
        if filter_node(pod, state, position):
            _take(placement, state)
            victims.append(placement)
            violations += placement in protected
    victims.sort(key=importance)
    return Candidate(position, tuple(victims), violations)


def _take(placement: Placement, state: ClusterState) -> None:
    state.remove(placement)
    state.removed_in_cycle.append(placement)


def importance(placement: Placement) -> tuple[int, bool, str]:
    """Ascending: the most important pod first, by priority, then by age (MoreImportantPod).

    A pod that has no start time counts as starting now.
    """
    start = placement.bound.start_time if placement.bound is not None else ""
    return -(placement.pod.priority or 0), not start, start


def _by_budget(
    ordered: Sequence[Placement], budgets: Sequence[tuple[DisruptionBudget, int]]
) -> tuple[list[Placement], list[Placement]]:
    """Pods whose eviction would exceed a budget, and the others (filterPodsWithPDBViolation)."""
    left = [allowed for _, allowed in budgets]
    protected: list[Placement] = []
    free: list[Placement] = []
    for placement in ordered:
        violated = False
        bound = placement.bound or BoundPod("", "", placement.pod)
        for i, (budget, _) in enumerate(budgets):
            if covers(budget, bound):
                left[i] -= 1
                violated = violated or left[i] < 0
        (protected if violated else free).append(placement)
    return protected, free


def _best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that win every criterion of pickOneNodeForPreemption, in its order; several are equal to upstream."""
    left = list(candidates)
    for criterion in _CRITERIA:
        least = min(map(criterion, left))
        left = [c for c in left if criterion(c) == least]
    latest = max(map(_earliest_start, left))
    return [c for c in left if _earliest_start(c) == latest]


def _violations(candidate: Candidate) -> int:
    return candidate.violations


def _highest_priority(candidate: Candidate) -> int:
    return candidate.victims[0].pod.priority or 0


def _sum_of_priorities(candidate: Candidate) -> int:
    # Made positive, lest a few pods of negative priority weigh more than many.
    return sum((p.pod.priority or 0) + (1 << 31) for p in candidate.victims)


def _count(candidate: Candidate) -> int:
    return len(candidate.victims)


_CRITERIA = (_violations, _highest_priority, _sum_of_priorities, _count)


def _earliest_start(candidate: Candidate) -> tuple[bool, str]:
    """Of the victims of highest priority; unknown starts count as now."""
    highest = _highest_priority(candidate)
    return min(importance(p)[1:] for p in candidate.victims if (p.pod.priority or 0) == highest)


# --- How many of a PodDisruptionBudget's pods may be taken away right now ---------------------------------------------


def covers(budget: DisruptionBudget, pod: BoundPod) -> bool:
    """A budget without selector, or with an empty one, covers nothing that preemption asks about."""
    if budget.selector is None or budget.selector.is_empty or budget.namespace != pod.namespace:
        return False
    return budget.selector.matches(pod.pod.labels)


def allowed_disruptions(budget: DisruptionBudget, pods: Iterable[BoundPod]) -> int:
    """``status.disruptionsAllowed`` where the snapshot has it, else as the disruption controller would compute it.

    Percentages and maxUnavailable are taken of the scale of the pods' controllers, for which we take the pods they
    have. Pods without a controller count for nothing there: such a budget allows no disruption at all.
    """
    if budget.disruptions_allowed is not None:
        return budget.disruptions_allowed
    covered = [pod for pod in pods if covers(budget, pod)]
    healthy = sum(1 for pod in covered if pod.node and pod.ready and not pod.terminating)
    scale = sum(1 for pod in covered if pod.owner is not None)
    if budget.max_unavailable is not None:
        expected, desired = scale, max(0, scale - resolved(budget.max_unavailable, scale))
    elif isinstance(budget.min_available, str):
        expected, desired = scale, resolved(budget.min_available, scale)
    elif budget.min_available is not None:
        expected, desired = len(covered), budget.min_available
    else:
        expected = desired = 0
    return max(0, healthy - desired) if expected > 0 else 0


def resolved(bound: int | str, total: int) -> int:
    """An IntOrPercent of ``total``, rounded up; text that is neither counts as 0."""
    if isinstance(bound, int):
        return bound
    share = go_int(bound[:-1]) if bound.endswith("%") and bound[:-1].isdigit() else None
    return 0 if share is None else -(-share * total // 100)
