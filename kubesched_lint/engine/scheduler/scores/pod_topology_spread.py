"""Domains with fewer selected pods score higher, by every ScheduleAnyway constraint.

Mirrors ``pkg/scheduler/framework/plugins/podtopologyspread/scoring.go`` (v1.36), with floats where it has them, and
``plugins/helper/spread.go`` for the defaults of pods that belong to a Service or a controller.
"""

from __future__ import annotations

from math import floor, log
from typing import NamedTuple

from kubesched_lint.engine.admission.schedulers import completed, default_selector
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.cluster.topology import NodeCounter
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE
from kubesched_lint.engine.model.pod import Pod, SpreadConstraint, profile_of
from kubesched_lint.engine.scheduler.plugins.pod_topology_spread import effective_selector, spread_tally
from kubesched_lint.engine.scheduler.scores.levels import MAX_NODE_SCORE, Levels, level, of_tally, plus
from kubesched_lint.engine.scheduler.topology import eligible_nodes, labelled_nodes


class _Constraint(NamedTuple):
    key: str
    max_skew: int
    selector: Selector | None
    counted: NodeSet
    """Nodes whose pods count: they have all the keys, and the inclusion policies include them."""


class PodTopologySpread:
    name = "PodTopologySpread"

    def __init__(self, pod: Pod, state: ClusterState, owner: Selector | None = None) -> None:
        """Prepare the constraints; ``owner`` is the selector of the ReplicaSet or similar that owns the pod."""
        self._namespace = pod.namespace
        self._state = state
        constraints = soft_constraints(pod, state, owner)
        # The system's default constraints also score a node without a zone, by its hostname.
        self._is_default = not pod.spread
        self._labelled = state.index.all if self._is_default else labelled_nodes(constraints, state.index)
        self._constraints = [
            _Constraint(
                c.topology_key,
                c.max_skew,
                effective_selector(pod, c),
                self._labelled & eligible_nodes(pod, c, state.index),
            )
            for c in constraints
        ]

    def levels(self, feasible: NodeSet) -> Levels | None:
        if not self._constraints:
            return None
        scored = feasible & self._labelled
        total: dict[float, NodeSet] = {0.0: scored} if scored else {}
        selector, tally = self._constraints[0].selector, self._tally(self._constraints[0])
        for constraint in self._constraints:
            if constraint.selector is not selector:  # the system's default constraints share theirs
                selector, tally = constraint.selector, self._tally(constraint)
            total = plus(total, self._terms(constraint, scored, tally))
        return normalised(_rounded(total), feasible & ~scored)

    def _tally(self, constraint: _Constraint) -> NodeCounter:
        return spread_tally(constraint.selector, self._namespace, self._state)

    def _terms(self, constraint: _Constraint, scored: NodeSet, tally: NodeCounter) -> dict[float, NodeSet]:
        """Return the constraint's term per node: pods in its domain times log(domains + 2), plus maxSkew - 1."""
        keyless = scored & ~self._state.index.with_key(constraint.key)
        size, counts = self._counts(constraint, scored, keyless, tally)
        weight = log(size + 2)
        terms = {count * weight + float(constraint.max_skew - 1): nodes for count, nodes in counts.items()}
        if keyless:
            terms[0.0] = terms.get(0.0, EMPTY) | keyless
        return terms

    def _counts(
        self, constraint: _Constraint, scored: NodeSet, keyless: NodeSet, tally: NodeCounter
    ) -> tuple[int, Levels]:
        """Return the number of domains among ``scored``, and for each node with the key the pods in its domain."""
        index, key = self._state.index, constraint.key
        if key == HOSTNAME:  # each node for itself, whether the policies include it or not
            return scored.bit_count(), of_tally(tally, scored & ~keyless)
        if index.one_node_each(key) and not self._is_default:
            return scored.bit_count(), of_tally(
                NodeCounter(plane & constraint.counted for plane in tally.planes), scored
            )
        counts: dict[int, NodeSet] = {}
        size = 0
        for value, domain in index.domains(key).items():
            nodes = domain & scored
            if nodes:
                size += 1
                # Upstream reads a missing label as the empty value.
                members = domain if value else domain | (index.all & ~index.with_key(key))
                count = tally.total(members & constraint.counted)
                counts[count] = counts.get(count, EMPTY) | nodes
        if keyless and not index.with_label(key, "") & scored:
            size += 1
        return size, counts


def normalised(levels: Levels, ignored: NodeSet) -> Levels:
    """Return scores: the lowest value becomes the highest score, and ``ignored`` nodes get 0 (NormalizeScore)."""
    least, most = min(levels, default=0), max(levels, default=0)
    by_score: dict[int, NodeSet] = {}
    for value, nodes in levels.items():
        score = MAX_NODE_SCORE * (most + least - value) // most if most else MAX_NODE_SCORE
        by_score[score] = by_score.get(score, EMPTY) | nodes
    for score, nodes in level(0, ignored).items():
        by_score[score] = by_score.get(score, EMPTY) | nodes
    return by_score


def _rounded(levels: dict[float, NodeSet]) -> Levels:
    """Return the levels rounded like ``math.Round``: halves go up, because no value is negative."""
    whole_numbers: dict[int, NodeSet] = {}
    for value, nodes in levels.items():
        whole = floor(value)
        whole += value - whole >= 0.5
        whole_numbers[whole] = whole_numbers.get(whole, EMPTY) | nodes
    return whole_numbers


# --- which constraints -----------------------------------------------------------------------------------------------


def soft_constraints(pod: Pod, state: ClusterState, owner: Selector | None) -> tuple[SpreadConstraint, ...]:
    """Return the pod's ScheduleAnyway constraints; for a pod without any constraint, the system's defaults.

    The defaults (``podtopologyspread/plugin.go``, systemDefaultConstraints) apply only to pods that a Service or an
    owner selects.
    """
    if pod.spread:
        return tuple(c for c in pod.spread if not c.is_hard)
    if profile_of(pod).default_spread is not None:
        return ()  # Schedulers.given has put the configured list among the pod's own constraints
    selector = default_selector(pod, state.objects, owner)
    if selector.is_empty:
        return ()
    defaults = (
        SpreadConstraint(3, HOSTNAME, "ScheduleAnyway", selector),
        SpreadConstraint(5, ZONE, "ScheduleAnyway", selector),
    )
    return completed(defaults, state.kubernetes_version)
