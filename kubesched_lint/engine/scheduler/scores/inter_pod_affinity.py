"""Score preferred affinity and anti-affinity per topology domain: the pod's own and that of running pods.

Mirrors ``pkg/scheduler/framework/plugins/interpodaffinity/scoring.go`` (v1.36). Required affinity of running pods
counts too, with the profile's hardPodAffinityWeight; terminating pods count like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, positions
from kubesched_lint.engine.cluster.pods.classes import AffinityScoreTerm, PodClass, signed
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.cluster.topology import NodeCounter, sum_of
from kubesched_lint.engine.model.pod import Pod, profile_of
from kubesched_lint.engine.scheduler.plugins.inter_pod_affinity import selected_classes, selects_pod
from kubesched_lint.engine.scheduler.scores.levels import MAX_NODE_SCORE, Levels, level, plus


class _Pull(NamedTuple):
    """Some pods attract the pod to their domains of a topology key; a negative weight repels it."""

    pods: PodClass | AffinityScoreTerm
    topology_key: str
    weight: int


class InterPodAffinity:
    """Keeps what pods that pull alike contribute to each domain; counts them together, and only those that changed."""

    name = "InterPodAffinity"

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        self._pod = pod
        self._state = state
        is_indifferent = not (pod.preferred_affinity or pod.preferred_anti_affinity)
        self._ignores_others = is_indifferent and profile_of(pod).ignores_preferred_terms_of_existing_pods
        self._seen = 0, 0
        """How many classes of pods, and terms of them, are among ``_pulls``."""
        self._pulls: dict[tuple[PodClass | AffinityScoreTerm, str], int] = {}
        """(pods, topology key) → weight; a negative one repels."""
        self._alike: dict[tuple[str, int], list[NodeCounter]] = {}
        """(topology key, weight) → the tallies of the pods that pull alike: they are counted together."""
        self._counted: dict[tuple[str, int], tuple[list[NodeSet], Mapping[str, int]]] = {}
        """The same → how many they were, per node and per domain."""
        self._sums: dict[str, dict[str, int]] = {}
        """Topology key → label value → sum of weights."""
        self._levels: dict[str, dict[int, NodeSet]] = {}
        """Topology key → the same sums for all nodes, 0 for those without the key."""

    def levels(self, feasible: NodeSet) -> Levels | None:
        if self._ignores_others:
            return None
        self._meet_new()
        for (key, weight), tallies in self._alike.items():
            self._recount(key, weight, tallies[0] if len(tallies) == 1 else sum_of(tallies))
        if not self._levels:
            return None
        raw = level(0, feasible)
        for levels in self._levels.values():
            raw = plus(raw, levels)
        return normalised(raw)

    def _meet_new(self) -> None:
        """Add new classes and terms: none of them changes, and none is removed."""
        classes = self._state.classes
        now = len(classes), classes.pulls
        if now == self._seen:
            return
        met = list(_pulls(self._pod, self._state, *self._seen))  # a limit of work may end this, so nothing is noted yet
        for pull in met:
            at = (pull.pods, pull.topology_key)
            self._pulls[at] = self._pulls.get(at, 0) + pull.weight
        self._alike = {alike: [] for alike in self._alike}  # what was counted is taken back where no pod is left
        for (pods, key), weight in self._pulls.items():
            self._alike.setdefault((key, weight), []).append(pods.tally)
        self._seen = now

    def _recount(self, key: str, weight: int, tally: NodeCounter) -> None:
        planes, then = self._counted.get((key, weight), ([], {}))
        if planes == tally.planes:
            return
        now = self._counts(key, tally)
        for value in {**then, **now}:
            change = now.get(value, 0) - then.get(value, 0)
            if change:
                self._shift(key, value, change * weight)
        self._counted[key, weight] = (list(tally.planes), now)

    def _counts(self, key: str, tally: NodeCounter) -> Mapping[str, int]:
        """Return the pods of a tally per domain."""
        index = self._state.index
        if index.one_node_each(key):
            nodes = tally.nodes & index.with_key(key)
            return {index.nodes[i].labels[key]: tally.at(i) for i in positions(nodes)}
        counts = {}
        left = tally.nodes
        for value, domain in index.domains(key).items():
            if left & domain:
                counts[value] = tally.total(domain)
                left &= ~domain
                if not left:
                    break
        return counts

    def _shift(self, key: str, value: str, amount: int) -> None:
        """Change one domain's sum by ``amount``."""
        index = self._state.index
        sums = self._sums.setdefault(key, {})
        levels = self._levels.setdefault(key, {0: index.all})
        domain = index.with_label(key, value)
        before = sums.get(value, 0)
        after = sums[value] = before + amount
        left = levels[before] & ~domain
        if left:
            levels[before] = left
        else:
            del levels[before]
        levels[after] = levels.get(after, EMPTY) | domain


def normalised(levels: Levels) -> Levels:
    """Return scores from 0 for the least to 100 for the most; 0 for all if they are equal (NormalizeScore)."""
    least, most = min(levels, default=0), max(levels, default=0)
    by_score: dict[int, NodeSet] = {}
    for value, nodes in levels.items():
        score = int(float(MAX_NODE_SCORE) * ((value - least) / (most - least))) if most > least else 0
        by_score[score] = by_score.get(score, EMPTY) | nodes
    return by_score


def _pulls(pod: Pod, state: ClusterState, since: int, terms_since: int) -> Iterator[_Pull]:
    """Yield the attractions and repulsions between the pod and classes, and terms, of these numbers and higher."""
    fresh = state.classes.index.all >> since << since
    for weighted, sign in signed(pod.preferred_affinity, pod.preferred_anti_affinity):
        chosen = selected_classes(weighted.term, pod.namespace, state) & fresh
        for pod_class in state.classes.members(chosen):
            yield _Pull(pod_class, weighted.term.topology_key, sign * weighted.weight)
    required = profile_of(pod).hard_pod_affinity_weight
    for pull in state.classes.possible_pulls(pod, terms_since):
        if selects_pod(pull.term, pull.namespace, pod, state):
            weight = pull.weight * required if pull.is_required else pull.weight
            yield _Pull(pull, pull.term.topology_key, weight)
