"""Find the workloads that can change where each other's pods fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kubesched_lint import work
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.pod import Pod, PodAffinityTerm
from kubesched_lint.scheduler.plugins.inter_pod_affinity import selects_pod

_Asked = PodAffinityTerm | Selector
"""A term of pod affinity, or the selector of a spread constraint, which applies to its own namespace."""


def joined(count: int, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Return the numbers below ``count`` in groups, so that each pair is in one group."""
    leader = list(range(count))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    apart = count
    for a, b in pairs if count > 1 else ():
        one, other = find(a), find(b)
        if one != other:
            leader[one] = other
            apart -= 1
            if apart == 1:
                break  # no further pair changes anything
    groups: dict[int, list[int]] = {}
    for i in range(count):
        groups.setdefault(find(i), []).append(i)
    return tuple(map(tuple, groups.values()))


def sharing(keys: Sequence[Sequence[object]]) -> Iterator[tuple[int, int]]:
    """Yield (first index with a key, index with that key) for each index and key."""
    first: dict[object, int] = {}
    for i, own in enumerate(keys):
        for key in own:
            yield first.setdefault(key, i), i


def selecting(pods: Sequence[Pod], state: ClusterState) -> Iterator[tuple[int, int]]:
    """Yield pairs of pods where one selects the other.

    If several pods have the same term, the first is paired with all selected pods, the others with one of these.
    """
    selection = PodSelection(pods, state)
    met: set[tuple[_Asked, str]] = set()
    for a, holder in enumerate(pods):
        selectors = (c.selector for c in holder.spread if c.is_hard and c.selector is not None)
        every: tuple[_Asked, ...] = (*holder.required_affinity, *holder.required_anti_affinity, *selectors)
        for asked in every:
            found = ((a, b) for b in selection.of(asked, holder.namespace) if b != a)
            yield from islice(found, 1 if (asked, holder.namespace) in met else None)
            met.add((asked, holder.namespace))


class PodSelection:
    """Finds the pods that a term or a selector selects, by label and with a cache."""

    def __init__(self, pods: Sequence[Pod], state: ClusterState) -> None:
        self._pods = pods
        self._state = state
        self._found: dict[tuple[_Asked, str], tuple[int, ...]] = {}
        self._same: dict[tuple[int, ...], tuple[int, ...]] = {}
        """Shares equal results, because many terms may select the same pods."""
        self._labelled: dict[tuple[str, str], list[int]] = {}
        for i, pod in enumerate(pods):
            for label in pod.labels.items():
                self._labelled.setdefault(label, []).append(i)

    def of(self, asked: _Asked, namespace: str) -> tuple[int, ...]:
        """Return the numbers of the pods that a term or selector of a pod in ``namespace`` selects, ascending."""
        found = self._found.get((asked, namespace))
        if found is None:
            found = tuple(self._selected(asked, namespace))
            found = self._found[asked, namespace] = self._same.setdefault(found, found)
        work.spend(len(found) // 2)
        return found

    def of_all(self, terms: Sequence[PodAffinityTerm], namespace: str) -> tuple[int, ...]:
        """Return the numbers of the pods that all terms select."""
        found, *others = (self.of(term, namespace) for term in terms)
        for more in others:
            kept = set(more)
            found = tuple(i for i in found if i in kept)
        return found

    def _selected(self, asked: _Asked, namespace: str) -> Iterator[int]:
        selector = asked if isinstance(asked, Selector) else asked.selector
        candidates: Sequence[int] = () if selector is None else range(len(self._pods))
        for label in labels_needed(selector):
            candidates = min(candidates, self._labelled.get(label, ()), key=len)
        work.spend(2 * len(candidates))
        for i in candidates:
            pod = self._pods[i]
            if isinstance(asked, Selector):
                if namespace == pod.namespace and asked.matches(pod.labels):
                    yield i
            elif selects_pod(asked, namespace, pod, self._state):
                yield i


class Selecting:
    """Finds the holders of required anti-affinity that selects a pod, by a label that the term needs."""

    def __init__(self, holders: Sequence[Pod], state: ClusterState) -> None:
        self._state = state
        self._needing: dict[tuple[str, str], dict[tuple[PodAffinityTerm, str], list[int]]] = {}
        """Label → (term, namespace of its holders) → numbers of the holders."""
        self._others: dict[tuple[PodAffinityTerm, str], list[int]] = {}
        """Terms that need no single label."""
        for i, holder in enumerate(holders):
            for term in holder.required_anti_affinity:
                label = next(labels_needed(term.selector), None)
                held = self._others if label is None else self._needing.setdefault(label, {})
                held.setdefault((term, holder.namespace), []).append(i)

    def of(self, pod: Pod) -> Iterator[tuple[PodAffinityTerm, Sequence[int]]]:
        """Yield each term that selects the pod, with the numbers of its holders."""
        for held in (self._others, *(self._needing.get(label, {}) for label in pod.labels.items())):
            work.spend(2 * len(held))
            for (term, namespace), holders in held.items():
                if selects_pod(term, namespace, pod, self._state):
                    yield term, holders


def labels_needed(selector: Selector | None) -> Iterator[tuple[str, str]]:
    """Yield the labels that every object matched by the selector has."""
    for requirement in selector.requirements if selector is not None else ():
        if requirement.operator == "In" and len(requirement.values) == 1:
            yield requirement.key, requirement.values[0]
