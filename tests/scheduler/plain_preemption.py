"""Preemption once more, as ``default_preemption.go`` and ``preemption.go`` (v1.36) read, over the plain engine."""

from __future__ import annotations

import copy
from collections import Counter

from msgspec import Struct

from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.policy import DisruptionBudget
from tests.scheduler.plain_engine import UNSCHEDULABLE, Attempt, Cluster, CycleState, NodeInfo, filter_node


class Victims(Struct):
    node: str
    pods: list[BoundPod]
    violations: int


def preempt(
    pod: Pod, tried: Attempt, cluster: Cluster, budgets: list[tuple[DisruptionBudget, int]]
) -> tuple[str, list[Victims]]:
    """The PostFilter message, empty when a node is nominated, and the candidates that upstream may choose."""
    lead = "no new claims to deallocate, preemption: "
    if tried.refused:
        return "not found", []
    if pod.preemption_policy == "Never":
        return f"{lead}not eligible due to preemptionPolicy=Never.", []
    candidates: list[Victims] = []
    reasons: Counter[str] = Counter()
    explicit = 0
    for i, info in enumerate(cluster.nodes):
        status = tried.statuses.get(info.node.name)
        if status is None or status.code != UNSCHEDULABLE:
            continue
        found = _select_victims(pod, i, copy.deepcopy(cluster), budgets)
        if isinstance(found, Victims):
            candidates.append(found)
        else:
            explicit += 1
            reasons.update(found)
    if candidates:
        return "", _pick(candidates)
    if explicit < len(cluster.nodes):
        reasons["Preemption is not helpful for scheduling"] += len(cluster.nodes) - explicit
    text = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"{lead}0/{len(cluster.nodes)} nodes are available: {text}.", []


def _select_victims(
    pod: Pod, at: int, cluster: Cluster, budgets: list[tuple[DisruptionBudget, int]]
) -> Victims | list[str]:
    state, info = CycleState(pod, cluster), cluster.nodes[at]
    potential = [p for p in info.pods if (p.pod.priority or 0) < (pod.priority or 0)]
    if not potential:
        return ["No preemption victims found for incoming pod"]
    for victim in potential:
        _remove(state, info, victim)
    status = filter_node(state, info)
    if status is not None:
        return status.reasons
    potential = sorted(potential, key=_importance)
    violating, others = [], []
    left = [allowed for _, allowed in budgets]
    for victim in potential:
        violated = False
        for i, (budget, _) in enumerate(budgets):
            if budget.namespace != victim.namespace or budget.selector is None or budget.selector.is_empty:
                continue
            if budget.selector.matches(victim.pod.labels):
                left[i] -= 1
                violated = violated or left[i] < 0
        (violating if violated else others).append(victim)
    victims, violations = [], 0
    for group in (violating, others):
        for victim in group:
            _add(state, info, victim)
            if filter_node(state, info) is not None:
                _remove(state, info, victim)
                victims.append(victim)
                violations += group is violating
    return Victims(info.node.name, sorted(victims, key=_importance), violations)


def _remove(state: CycleState, info: NodeInfo, pod: BoundPod) -> None:
    info.pods.remove(pod)
    state.update(pod, info.node, -1)


def _add(state: CycleState, info: NodeInfo, pod: BoundPod) -> None:
    info.pods.append(pod)
    state.update(pod, info.node, 1)


def _importance(pod: BoundPod) -> tuple[int, str]:
    return -(pod.pod.priority or 0), pod.start_time


def _pick(candidates: list[Victims]) -> list[Victims]:
    def priority(p: BoundPod) -> int:
        return p.pod.priority or 0

    def earliest(c: Victims) -> str:
        highest = max(map(priority, c.pods))
        return min(p.start_time for p in c.pods if priority(p) == highest)

    fewest = min(c.violations for c in candidates)
    candidates = [c for c in candidates if c.violations == fewest]
    lowest = min(priority(c.pods[0]) for c in candidates)
    candidates = [c for c in candidates if priority(c.pods[0]) == lowest]
    sums = {id(c): sum(priority(p) + 2**31 for p in c.pods) for c in candidates}
    candidates = [c for c in candidates if sums[id(c)] == min(sums.values())]
    count = min(len(c.pods) for c in candidates)
    candidates = [c for c in candidates if len(c.pods) == count]
    latest = max(map(earliest, candidates))
    return [c for c in candidates if earliest(c) == latest]
