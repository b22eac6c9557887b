"""Find the workloads that can change where each other's pods fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.cluster.selecting.labelled import PodIndex
from kubesched_lint.engine.cluster.selecting.postings import HeldTerms
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm
from kubesched_lint.engine.scheduler.plugins.inter_pod_affinity import named_namespaces, selects_pod

T = TypeVar("T")
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
        root, other = find(a), find(b)
        if root != other:
            leader[root] = other
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
            selected = ((a, b) for b in selection.of(asked, holder.namespace) if b != a)
            yield from islice(selected, 1 if (asked, holder.namespace) in met else None)
            met.add((asked, holder.namespace))


class PodSelection:
    """Finds the pods that a term or a selector selects, with a cache."""

    def __init__(self, pods: Sequence[Pod], state: ClusterState) -> None:
        self._index = PodIndex(pods)
        self._state = state
        self._found: dict[tuple[_Asked, str], tuple[int, ...]] = {}
        self._same: dict[tuple[int, ...], tuple[int, ...]] = {}
        """Shares equal results, because many terms may select the same pods."""

    def of(self, asked: _Asked, namespace: str) -> tuple[int, ...]:
        """Return the numbers of the pods that a term or selector of a pod in ``namespace`` selects, ascending."""
        selected = self._found.get((asked, namespace))
        if selected is None:
            numbers = tuple(self._index.listed(self._selected(asked, namespace)))
            selected = self._found[asked, namespace] = self._same.setdefault(numbers, numbers)
        return selected

    def of_all(self, terms: Sequence[PodAffinityTerm], namespace: str) -> tuple[int, ...]:
        """Return the numbers of the pods that all terms select."""
        numbers, *others = (self.of(term, namespace) for term in terms)
        for more in others:
            kept = set(more)
            numbers = tuple(i for i in numbers if i in kept)
        return numbers

    def _selected(self, asked: _Asked, namespace: str) -> NodeSet:
        index = self._index
        if isinstance(asked, Selector):
            return index.selected_by(asked) & index.in_namespace(namespace)
        matching = index.selected_by(asked.selector)
        within = index.in_namespaces(named_namespaces(asked, namespace))
        if asked.namespace_selector is not None and matching & ~within:
            within |= self._state.in_selected_namespaces(index, asked.namespace_selector)
        return matching & within


def selecting_terms(held: HeldTerms[T], pod: Pod, state: ClusterState) -> Iterator[tuple[PodAffinityTerm, Sequence[T]]]:
    """Yield each term of required anti-affinity that selects the pod, with its holders."""
    for holders in held.possible(pod):
        if selects_pod(holders.term, holders.namespace, pod, state):
            yield holders.term, holders.items
