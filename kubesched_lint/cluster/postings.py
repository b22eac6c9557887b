"""Items of pod affinity terms, found by the pods that the terms may select."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

from kubesched_lint.model.pod import Pod, PodAffinityTerm

T = TypeVar("T")
_Label = tuple[str, str] | None
"""A label that a pod must have so that a term may select it; None for any."""
Posted = dict[str | None, dict[_Label, list[T]]]
"""Items of terms by the namespace (None: any) and by a label of the pods that they may select."""


def post(item: T, term: PodAffinityTerm, own: str, posted: Posted[T]) -> None:
    """Add an item where ``posted_for`` finds it for each pod that its term selects: by labels with few others."""
    named = tuple(dict.fromkeys(term.namespaces)) or (own,)
    spaces: Sequence[str | None] = (None,) if term.namespace_selector is not None else named
    labels: Collection[_Label] | None = None
    if term.selector is not None:
        there = posted.get(spaces[0], {})
        labels = term.selector.labels_of_selected(lambda label: len(there.get(label, ())))
    for space in spaces:
        for label in labels or (None,):
            posted.setdefault(space, {}).setdefault(label, []).append(item)


def posted_for(pod: Pod, posted: Posted[T]) -> Iterator[Sequence[T]]:
    """Yield the items that are posted under the namespace of a pod and one of its labels, or under any."""
    for space in (None, pod.namespace):
        by_label = posted.get(space)
        if by_label:
            for label in (None, *pod.labels.items()):
                if label in by_label:
                    yield by_label[label]
