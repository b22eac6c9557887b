"""Terms of pod affinity and anti-affinity that select all pods but a few: the pods that have them are kept by node.

A term that names labels is looked up by them. One that names labels which pods must not have, or any value of a label,
has to be asked about each pod; a pod asks instead which of these terms leave it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from kubesched_lint import work
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.cluster.topology import NodeCounter, difference, differing, sum_of
from kubesched_lint.identity import ByIdentity
from kubesched_lint.model.labels import Labels, Selector
from kubesched_lint.model.pod import PodAffinityTerm

T = TypeVar("T")


class LeftOut(Generic[T]):
    """What selectors that leave out few stand for, found by the labels that each of them leaves out."""

    def __init__(self) -> None:
        self._barred_by: dict[tuple[str, str | None], list[T]] = {}
        """A label, or a key with any value (None) → what selects nothing with it."""
        self._needing: dict[str, list[T]] = {}
        """A key → what selects only what has it."""

    def add(self, selector: Selector, item: T) -> None:
        for requirement in selector.requirements:
            if requirement.operator == "Exists":
                self._needing.setdefault(requirement.key, []).append(item)
                continue
            for value in requirement.values if requirement.operator == "NotIn" else (None,):
                self._barred_by.setdefault((requirement.key, value), []).append(item)

    def by(self, labels: Labels) -> ByIdentity[T, None]:
        """Return what does not select these labels."""
        found: ByIdentity[T, None] = ByIdentity()
        for key, value in labels.items():
            for barred in ((key, value), (key, None)):
                found.update(self._barred_by.get(barred, ()), None)
        for key, needing in self._needing.items():
            if key not in labels:
                found.update(needing, None)
        return found


class Counted(Protocol):
    """Equal pods."""

    tally: NodeCounter


class Holders(Protocol):
    """Pods that have a term."""

    @property
    def term(self) -> PodAffinityTerm: ...
    @property
    def classes(self) -> Sequence[Counted]: ...


H = TypeVar("H", bound=Holders)
_OPERATORS = ("NotIn", "DoesNotExist", "Exists")


def leaves_out_few(selector: Selector | None) -> bool:
    """Return whether a selector selects all pods but those with, or without, some labels."""
    return selector is not None and all(requirement.operator in _OPERATORS for requirement in selector.requirements)


class AlmostAll(Generic[H]):
    """The holders of such terms about pods of one namespace, by one topology key."""

    def __init__(self) -> None:
        self.holders: list[H] = []
        self.tally = NodeCounter()
        """Their pods by node, once for each term that a pod has: ``PodClass.followers`` keeps it so."""
        self._left_out: LeftOut[H] = LeftOut()

    def add(self, holders: H) -> None:
        self.holders.append(holders)
        self.tally.planes[:] = sum_of((self.tally, *(one.tally for one in holders.classes))).planes
        assert holders.term.selector is not None, "a null selector leaves out every pod"
        self._left_out.add(holders.term.selector, holders)

    def nodes(self, labels: Labels) -> NodeSet:
        """Return the nodes with pods of a holder whose term selects a pod with these labels."""
        others = self._left_out.by(labels)
        work.spend(2 + len(others))
        if len(others) == len(self.holders):
            return EMPTY
        if not others:
            return self.tally.nodes
        return differing(self.tally, sum_of(one.tally for holders in others for one in holders.classes))

    def counts(self, labels: Labels) -> NodeCounter:
        """Return how many pods of a holder whose term selects a pod with these labels are on each node."""
        others = self._left_out.by(labels)
        work.spend(2 + len(others))
        if not others:
            return self.tally
        return difference(self.tally, sum_of(one.tally for holders in others for one in holders.classes))
