"""Which taints a pod tolerates.

Mirrors ``k8s.io/api/core/v1/toleration.go`` and ``component-helpers/scheduling/corev1/helpers.go`` (v1.36).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.model.nodes.node import Taint
from kubesched_lint.engine.model.pod import Pod, Toleration

FILTERING = ("NoSchedule", "NoExecute")
"""Effects that keep pods off a node; PreferNoSchedule only lowers its score."""

CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
UNREACHABLE = tuple(Taint("node.kubernetes.io/unreachable", "", effect) for effect in FILTERING)
"""The taints of a node whose kubelet does not report any more (``pkg/controller/nodelifecycle``)."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether a toleration covers a taint.

    One with the operator Gt or Lt covers none: the feature gate TaintTolerationComparisonOperators is off by default.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
    return False


def tolerates_any(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(tolerates(t, taint) for t in tolerations)


def leaves(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Return whether a taint on its node makes a pod leave, at once or when its toleration ends."""
    first = _first(tolerations, taint)
    return taint.effect == "NoExecute" and (first is None or first.seconds is not None)


def stays_for_a_while(tolerations: Iterable[Toleration], taint: Taint) -> int:
    """Return for how many seconds a pod tolerates a taint that makes it leave; 0 if it leaves at once."""
    first = _first(tolerations, taint)
    return 0 if first is None else max(0, first.seconds or 0)


def _first(tolerations: Iterable[Toleration], taint: Taint) -> Toleration | None:
    """Return the only toleration of a taint that counts, if a pod has several (GetMatchingTolerations)."""
    return next((t for t in tolerations if tolerates(t, taint)), None)


def first_untolerated(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> Taint | None:
    """Return the first taint of NoSchedule or NoExecute effect that no toleration covers."""
    return next(untolerated(tolerations, taints), None)


def untolerated(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> Iterator[Taint]:
    """Yield each taint of NoSchedule or NoExecute effect that no toleration covers."""
    keyed = _by_key(tolerations)
    for taint in taints:
        if taint.effect in FILTERING and not tolerates_any(_about(keyed, taint), taint):
            yield taint


def _by_key(tolerations: Iterable[Toleration]) -> Mapping[str, Sequence[Toleration]]:
    keyed: dict[str, list[Toleration]] = {}
    for toleration in tolerations:
        keyed.setdefault(toleration.key, []).append(toleration)
    return keyed


def _about(keyed: Mapping[str, Sequence[Toleration]], taint: Taint) -> Sequence[Toleration]:
    """Return the tolerations that may cover the taint: those of its key, and those without a key, which match any."""
    return (*keyed.get(taint.key, ()), *keyed.get("", ()))


def repelled(
    index: NodeIndex,
    tolerations: Sequence[Toleration],
    *,
    effects: Collection[str] = FILTERING,
) -> NodeSet:
    """Return the nodes with a taint of these effects (NoSchedule or NoExecute) that the tolerations do not cover."""
    key = tuple(tolerations), frozenset(effects)
    known = index.repelled.get(key)
    if known is not None:
        return known
    alone, beside = index.tainted(frozenset(effects))
    if not (alone or beside):
        return EMPTY
    covered = {taint for taint in _all_covered(index, tolerations) if taint.effect in effects}
    for taint in covered:
        alone &= ~index.taints[taint]
    repelling = reduce(or_, (nodes for taint, nodes in beside.items() if taint not in covered), alone)
    index.repelled[key] = repelling
    return repelling


def repelled_pods(index: NodeIndex, pod: Pod) -> NodeSet:
    """Return the nodes that repel a pod: ``repelled``, for thousands of attempts of the same pods."""
    repelling = index.repelling.get(pod)
    if repelling is None:
        repelling = index.repelling[pod] = repelled(index, pod.tolerations)
    return repelling


def taint_sets_in_the_way(
    index: NodeIndex, covered: Collection[Taint], nodes: NodeSet
) -> Mapping[tuple[Taint, ...], int]:
    """Return the taints that together repel from a node → number of such ``nodes``, most frequent first.

    ``covered`` are the taints that the pod tolerates.
    """
    counts: Counter[tuple[Taint, ...]] = Counter()
    for taints, there in index.taints_on(nodes):
        if blocking := tuple(taint for taint in taints if taint.effect in FILTERING and taint not in covered):
            counts[blocking] += there
    return dict(counts.most_common())


def covered_taints(index: NodeIndex, tolerations: Iterable[Toleration]) -> frozenset[Taint]:
    """Return the nodes' taints that a pod tolerates."""
    return frozenset(_all_covered(index, tolerations))


def _all_covered(index: NodeIndex, tolerations: Iterable[Toleration]) -> Iterator[Taint]:
    """Yield the nodes' taints that a pod tolerates, some more than once."""
    keys = index.taint_keys
    for toleration in tolerations:
        if not toleration.key or toleration.key in keys:  # most concern no node here, and a run asks for each pod
            yield from _covered(index, toleration)


def dedicated_to(index: NodeIndex, toleration: Toleration) -> NodeSet:
    """Return the nodes with a NoSchedule or NoExecute taint that this toleration covers."""
    covered = (taint for taint in _covered(index, toleration) if taint.effect in FILTERING)
    return reduce(or_, (index.taints[taint] for taint in covered), EMPTY)


def _covered(index: NodeIndex, toleration: Toleration) -> Iterator[Taint]:
    """Yield the nodes' taints that a toleration covers; the index skips most others."""
    value = toleration.value if toleration.operator in ("", "Equal") else None
    for taint in index.taints_of(toleration.key, value) if toleration.key else index.taints:
        if tolerates(toleration, taint):
            yield taint
