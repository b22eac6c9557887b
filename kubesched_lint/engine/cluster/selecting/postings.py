"""Items of selectors, such as pod affinity terms and budgets, found by the pods that they may select."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Generic, TypeVar

from kubesched_lint.engine.base import work
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm

T = TypeVar("T")
_Label = tuple[str, str] | None
"""A label that a pod must have so that a selector may select it; None for any."""
Posted = dict[str | None, dict[_Label, list[T]]]
"""Items by the namespace (None: any) and by a label of the pods that their selectors may select."""


def post(item: T, term: PodAffinityTerm, own: str, posted: Posted[T]) -> None:
    """Add an item of a term of a pod in namespace ``own``."""
    named = tuple(dict.fromkeys(term.namespaces)) or (own,)
    post_in((None,) if term.namespace_selector is not None else named, item, term.selector, posted)


def post_in(spaces: Sequence[str | None], item: T, selector: Selector | None, posted: Posted[T]) -> None:
    """Add an item where ``posted_for`` finds it for each pod that a selector selects: by labels with few others."""
    labels: Collection[_Label] | None = None
    if selector is not None:
        there = posted.get(spaces[0], {})
        labels = selector.labels_of_selected(lambda label: len(there.get(label, ())))
    for space in spaces:
        for label in labels or (None,):
            posted.setdefault(space, {}).setdefault(label, []).append(item)


def _all_of(_: Sequence[object]) -> int:
    return 0


def posted_for(pod: Pod, posted: Posted[T], first: Callable[[Sequence[T]], int] = _all_of) -> Iterator[T]:
    """Yield the items that may select a pod: ``posted_in`` its namespace for its labels."""
    return posted_in(pod.namespace, pod.labels, posted, first)


def posted_in(
    namespace: str, labels: Mapping[str, str], posted: Posted[T], first: Callable[[Sequence[T]], int] = _all_of
) -> Iterator[T]:
    """Yield the items that are posted under a namespace and one of these labels, or under any; each costs a look.

    ``first``: of items that are posted together → the place of the first one to yield.
    """
    for space in (None, namespace):
        by_label = posted.get(space)
        if by_label:
            for label in (None, *labels.items()):
                if label in by_label:
                    items = by_label[label]
                    start = first(items)
                    work.spend(work.LOOK * (len(items) - start))
                    yield from islice(items, start, None)


class Holders(Generic[T]):
    """Those whose pods hold one required anti-affinity term."""

    __slots__ = ("items", "namespace", "term")

    def __init__(self, term: PodAffinityTerm, namespace: str) -> None:
        self.term = term
        self.namespace = namespace
        """Their namespace, to which the term refers; of any of them if the term names or selects namespaces."""
        self.items: list[T] = []


class HeldTerms(Generic[T]):
    """The required anti-affinity of pods, found by the pods that it may select."""

    def __init__(self) -> None:
        self._holders: dict[tuple[str, PodAffinityTerm], Holders[T]] = {}
        self._posted: Posted[Holders[T]] = {}

    def add(self, item: T, pod: Pod) -> None:
        """Add an item to the holders of each term of a pod."""
        for term in dict.fromkeys(pod.required_anti_affinity):
            key = ("" if term.namespaces or term.namespace_selector is not None else pod.namespace, term)
            holders = self._holders.get(key)
            if holders is None:
                holders = self._holders[key] = Holders(term, pod.namespace)
                post(holders, term, pod.namespace, self._posted)
            holders.items.append(item)

    def possible(self, pod: Pod) -> Iterator[Holders[T]]:
        """Yield the holders of every term that might select a pod; the caller checks selector and namespace."""
        for holders in posted_for(pod, self._posted):
            work.spend(len(holders.items) // 4)
            yield holders

    @property
    def topology_keys(self) -> frozenset[str]:
        """The topology keys of every held term."""
        return frozenset(term.topology_key for _, term in self._holders)
