"""Find which pods must be evicted for a pod that fits nowhere, and on which node it then fits.

Mirrors ``pkg/scheduler/framework/preemption/preemption.go`` and
``pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from kubesched_lint.engine.base.quirks import DYNAMIC_RESOURCES, PREEMPTION_SAYS_WHAT_IT_FOUND, has
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, first, nth, of, positions
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.model.labels import go_int
from kubesched_lint.engine.model.pod import BoundPod, Pod, profile_of
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.scheduler.framework import Diagnosis, counted_reasons, filter_node
from kubesched_lint.engine.scheduler.plugins import dynamic_resources

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NEVER = "not eligible due to preemptionPolicy=Never."

_OF_ONE_NODE = frozenset(["NodeResourcesFit", "NodePorts"])
"""Plugins that look at the pods of one node alone."""


class Candidate(Struct, frozen=True):
    """A node, and its smallest set of pods to evict, the most important first."""

    position: int
    victims: tuple[Placement, ...]
    violations: int
    """Number of victims that a disruption budget protects."""

    @property
    def is_freed(self) -> bool:
        """Whether all victims disappear after their deletion; the pod has to wait for a victim with a finalizer."""
        return not any(victim.bound is not None and victim.bound.kept_by_finalizers for victim in self.victims)


class Preemption(Struct, frozen=True):
    """The result of the PostFilter plugins. ``chosen`` None: no eviction helps."""

    message: str = ""
    """Their part of the PodScheduled message; up to 1.36 empty if a node was nominated."""
    chosen: Candidate | None = None
    equals: tuple[Candidate, ...] = ()
    """Candidates that no criterion distinguishes from ``chosen``, itself included: upstream may choose any of them."""
    sampled: bool = False
    """Upstream tries only some of very many nodes, from a random start, so it may choose any candidate."""
    hopeless: NodeSet = EMPTY
    """Tried nodes on which no eviction helps this pod until another pod comes or goes there."""


class _Failure(NamedTuple):
    """Why eviction does not help on a node; ``lasts`` until another pod comes or goes there."""

    reasons: Sequence[str]
    lasts: bool


_NO_VICTIMS = _Failure((NO_VICTIMS,), lasts=True)


def preempt(
    pod: Pod,
    diagnosis: Diagnosis,
    state: ClusterState,
    *,
    offset: int = 0,
    hopeless: NodeSet = EMPTY,
    barred: str = "",
) -> Preemption:
    """Return the result of a preemption dry run for a pod that fits on no node. ``state`` is restored at the end.

    ``offset`` is the start of the search among the potential nodes; upstream draws it at random. It matters only if not
    all of them are tried (``sampled``). ``hopeless``: nodes that are not tried, because the last attempt found them so
    and no pod came or went there; the message then lacks them. ``barred``: why the pod's group may not preempt.
    """
    profile = profile_of(pod)
    deallocates = profile.allocates_devices and has(state.kubernetes_version, DYNAMIC_RESOURCES)
    is_refused = diagnosis.refusal is not None
    prefix = f"{dynamic_resources.postfilter(pod, state, is_refused=is_refused)}, " if deallocates else ""
    if diagnosis.waits_for or not diagnosis.total:
        return Preemption()
    if diagnosis.refusal is not None and diagnosis.refusal.plugin != dynamic_resources.NAME and prefix:
        # PreFilter ended before DynamicResources ran, so its PostFilter finds no state of its own: an error, and
        # DefaultPreemption does not run.
        return Preemption("not found")
    if not profile.preempts:
        return Preemption(prefix.removesuffix(", "))
    if barred or pod.preemption_policy == "Never":
        return Preemption(f"{prefix}preemption: {barred or NEVER}")
    potential = diagnosis.resolvable.bit_count()
    # Few potential nodes are all tried; of many only some, from a random start (DefaultPreemptionArgs).
    share = potential * profile.min_candidate_nodes_percentage // 100
    wanted = min(potential, max(share, profile.min_candidate_nodes_absolute))
    start = nth(diagnosis.resolvable, offset % potential) if potential else 0
    tried = diagnosis.resolvable & ~hopeless
    lower = tried & _with_lower_priority(pod, state)
    candidates, failures = _dry_run(pod, lower, start, wanted, state) if lower else ([], {})
    if not candidates:
        histogram = {NO_VICTIMS: none} if (none := (tried & ~lower).bit_count()) else {}
        for failure in failures.values():
            for reason in failure.reasons:
                histogram[reason] = histogram.get(reason, 0) + 1
        if tried.bit_count() < diagnosis.total:
            histogram[NOT_HELPFUL] = histogram.get(NOT_HELPFUL, 0) + diagnosis.total - tried.bit_count()
        tail = f"0/{diagnosis.total} nodes are available: {counted_reasons(histogram)}."
        lasting = of([position for position, failure in failures.items() if failure.lasts])
        return Preemption(f"{prefix}preemption: {tail}", hopeless=hopeless | tried & ~lower | lasting)
    best = _best(candidates)
    return Preemption(_found(best[0], state), best[0], tuple(best), sampled=wanted < potential)


def _found(chosen: Candidate, state: ClusterState) -> str:
    if not has(state.kubernetes_version, PREEMPTION_SAYS_WHAT_IT_FOUND):
        return ""
    node, count = state.index.names[chosen.position], len(chosen.victims)
    return f"preemption: found a potential placement for pod on node {node}, preempting {count} victims"


def _dry_run(
    pod: Pod, lower: NodeSet, start: int, wanted: int, state: ClusterState
) -> tuple[list[Candidate], Mapping[int, _Failure]]:
    """Return candidates among ``lower``, the tried nodes with a pod of lower priority, from position ``start`` on.

    Also why eviction helps on none of the others that were tried. The search ends with ``wanted`` candidates if one of
    them violates no budget (DryRunPreemption).
    """
    budgets = state.objects.budgets
    everyone = [p.bound for p in state.placements() if p.bound is not None] if budgets else []
    allowed = [(budget, allowed_disruptions(budget, everyone)) for budget in budgets]
    candidates: list[Candidate] = []
    failures: dict[int, _Failure] = {}
    before = lower & first(start)
    for position in chain(positions(lower & ~before), positions(before)):
        if len(candidates) >= wanted and any(not c.violations for c in candidates):
            break
        with state.undone():
            victims = _select_victims(pod, position, allowed, state)
        if isinstance(victims, Candidate):
            candidates.append(victims)
        else:
            failures[position] = victims
    return candidates, failures


def _with_lower_priority(pod: Pod, state: ClusterState) -> NodeSet:
    """Return the nodes with a pod of lower priority, the only ones where an eviction can help."""
    nodes = EMPTY
    for known in state.classes.below(pod.priority or 0):
        nodes |= known.nodes
    return nodes


def victims_on(
    pod: Pod,
    position: int,
    ranked: Sequence[Placement],
    state: ClusterState,
    budgets: Sequence[tuple[DisruptionBudget, int]] = (),
) -> Candidate | None:
    """Return the victims of the pod on one node. ``state`` is restored at the end.

    ``ranked`` lists the node's pods of lower priority, the most important first, if the caller chooses their ages.
    ``budgets`` have the numbers of pods that may be evicted.
    """
    with state.undone():
        victims = _select_victims(pod, position, budgets, state, ranked)
    return victims if isinstance(victims, Candidate) else None


def cost(candidate: Candidate) -> tuple[int, int, int, int]:
    """Return what pickOneNodeForPreemption compares before ages, in its order: the smallest wins."""
    return tuple(criterion(candidate) for criterion in _CRITERIA)  # type: ignore[return-value]  # four of them


def _select_victims(
    pod: Pod,
    position: int,
    budgets: Sequence[tuple[DisruptionBudget, int]],
    state: ClusterState,
    ranked: Sequence[Placement] | None = None,
) -> Candidate | _Failure:
    """Remove each pod of lower priority, then put back, most important first, each one beside which the pod fits."""
    ours = pod.priority or 0
    potential = [p for p in state.pods_on(position) if (p.pod.priority or 0) < ours]
    if not potential:
        return _NO_VICTIMS
    for placement in potential:
        _take(placement, state)
    rejections = filter_node(pod, state, position)
    if rejections:
        return _Failure([r.reason for r in rejections], _OF_ONE_NODE.issuperset(r.plugin for r in rejections))
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
    state.set_aside(placement)  # DynamicResources has no PreFilter extensions: the claims of victims keep their devices
    state.removed_in_cycle.append(placement)


def importance(placement: Placement) -> tuple[int, bool, str]:
    """Return a sort key: the most important pod first, by priority, then by age (MoreImportantPod).

    A pod without a start time counts as starting now.
    """
    start = placement.bound.start_time if placement.bound is not None else ""
    return -(placement.pod.priority or 0), not start, start


def _by_budget(
    ordered: Sequence[Placement], budgets: Sequence[tuple[DisruptionBudget, int]]
) -> tuple[list[Placement], list[Placement]]:
    """Return the pods whose eviction would exceed a budget, and the others (filterPodsWithPDBViolation)."""
    left = [allowed for _, allowed in budgets]
    numbers: dict[str, list[int]] = {}
    for i, (budget, _) in enumerate(budgets):
        numbers.setdefault(budget.namespace, []).append(i)
    protected: list[Placement] = []
    free: list[Placement] = []
    for placement in ordered:
        violated, pod = False, placement.pod
        for i in numbers.get(pod.namespace, ()):
            if covers(budgets[i][0], pod):
                left[i] -= 1
                violated = violated or left[i] < 0
        (protected if violated else free).append(placement)
    return protected, free


def _best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the winners of all criteria of pickOneNodeForPreemption, in its order; several are equal for upstream."""
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
    # Made positive, so that a few pods of negative priority do not outweigh many.
    return sum((p.pod.priority or 0) + (1 << 31) for p in candidate.victims)


def _count(candidate: Candidate) -> int:
    return len(candidate.victims)


_CRITERIA = (_violations, _highest_priority, _sum_of_priorities, _count)


def _earliest_start(candidate: Candidate) -> tuple[bool, str]:
    """Return the earliest start among the victims of highest priority; unknown starts count as now."""
    highest = _highest_priority(candidate)
    return min(importance(p)[1:] for p in candidate.victims if (p.pod.priority or 0) == highest)


# --- How many of a PodDisruptionBudget's pods may be evicted right now
# ----------------------------------------------------


def covers(budget: DisruptionBudget, pod: Pod) -> bool:
    """Return whether the budget covers the pod; for preemption, one with no or an empty selector covers nothing."""
    if budget.selector is None or budget.selector.is_empty or budget.namespace != pod.namespace:
        return False
    return budget.selector.matches(pod.labels)


def allowed_disruptions(budget: DisruptionBudget, pods: Iterable[BoundPod]) -> int:
    """Return ``status.disruptionsAllowed`` of the snapshot, else the number that the disruption controller computes.

    Percentages and maxUnavailable refer to the scale of the pods' controllers; we use the number of their pods.
    """
    if budget.disruptions_allowed is not None:
        return budget.disruptions_allowed
    covered = [pod for pod in pods if covers(budget, pod.pod)]
    healthy = sum(1 for pod in covered if pod.node and pod.ready and not pod.terminating)
    expected = budget.expected(len(covered), ((pod.owner.kind if pod.owner else "Pod", 1) for pod in covered))
    if budget.max_unavailable is not None:
        desired = max(0, expected - resolved(budget.max_unavailable, expected))
    else:
        desired = resolved(budget.min_available or 0, expected)
    return max(0, healthy - desired) if expected > 0 else 0


def resolved(bound: int | str, total: int) -> int:
    """Return an IntOrPercent of ``total``, rounded up; other text counts as 0."""
    if isinstance(bound, int):
        return bound
    share = go_int(bound[:-1]) if bound.endswith("%") and bound[:-1].isdigit() else None
    return 0 if share is None else -(-share * total // 100)
