"""Things with labels, indexed once: a selector is answered for all of them by a few set operations."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, reduce
from operator import itemgetter, or_
from typing import NamedTuple, TypeVar

from kubesched_lint.cluster.limits import FEW_KEYS
from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, first, of
from kubesched_lint.model.labels import Labels, Requirement, Selector, go_int

T = TypeVar("T")


class Numbers(NamedTuple):
    """The values of a label: those that are integers, ascending, with the things that have them, and the others."""

    values: Sequence[int]
    things: Sequence[NodeSet]
    others: Mapping[str, NodeSet]


class LabelIndex:
    """Nodes or volumes by position: a NodeSet is a set of them."""

    def __init__(self, count: int) -> None:
        self.all: NodeSet = first(count)
        self._values: dict[str, list[str | None]] = {}
        self._domains: dict[str, dict[str, NodeSet]] = {}
        self._keyed: dict[str, NodeSet] = {}
        self._numbered: dict[str, Numbers] = {}

    @classmethod
    def of(cls, labels: Sequence[Labels]) -> LabelIndex:
        """Return the index of anything with these labels."""
        made = cls(len(labels))
        made.labels = labels
        return made

    @cached_property
    def labels(self) -> Sequence[Labels]:
        """The labels of each; read when somebody asks for one."""
        raise NotImplementedError

    def values(self, key: str) -> Sequence[str | None]:
        """Return the value of a label by position; None for a thing without it."""
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = [None] * len(self.labels)
            for position, value in self._with(key):
                found[position] = value
        return found

    def _with(self, key: str) -> Sequence[tuple[int, str]]:
        """Return (position, value) of each thing with the label.

        An index of nodes after an event is mostly asked about one or two keys, which takes a pass for each.
        """
        if len(self._domains) + len(self._keyed) + len(self._values) > FEW_KEYS:
            return self._labels.get(key, ())
        return [(position, labels[key]) for position, labels in enumerate(self.labels) if key in labels]

    @cached_property
    def _labels(self) -> Mapping[str, Sequence[tuple[int, str]]]:
        """Key → (position, value) of each thing with the label."""
        return by_key(self.labels)

    def domains(self, key: str) -> Mapping[str, NodeSet]:
        """Return the topology domains of ``key``: label value → things. Those without the key are in none."""
        found = self._domains.get(key)
        if found is None:
            members: dict[str, list[int]] = {}
            for i, value in self._with(key):
                members.setdefault(value, []).append(i)
            found = self._domains[key] = {value: of(at) for value, at in members.items()}
        return found

    def with_key(self, key: str) -> NodeSet:
        """Return the things that have the label key."""
        found = self._keyed.get(key)
        if found is None:
            found = self._keyed[key] = of(position for position, _ in self._with(key))
        return found

    def with_label(self, key: str, value: str) -> NodeSet:
        return self.domains(key).get(value, EMPTY)

    def where(self, requirement: Requirement) -> NodeSet:
        """Return the things whose labels satisfy a requirement: ``Requirement.matches`` for all at once."""
        domains = self.domains(requirement.key)
        found = EMPTY
        match requirement.operator:
            case "In":
                for value in requirement.values:
                    found |= domains.get(value, EMPTY)
            case "NotIn":
                for value in requirement.values:
                    found |= domains.get(value, EMPTY)
                found = self.all & ~found
            case "Exists":
                found = self.with_key(requirement.key)
            case "DoesNotExist":
                found = self.all & ~self.with_key(requirement.key)
            case "Gt" | "Lt":
                want = go_int(requirement.values[0]) if len(requirement.values) == 1 else None
                if want is not None:
                    numbers, nodes, _ = self.numbers(requirement.key)
                    above = slice(bisect_right(numbers, want), None)
                    below = slice(bisect_left(numbers, want))
                    found = reduce(or_, nodes[above if requirement.operator == "Gt" else below], EMPTY)
        return found

    def numbers(self, key: str) -> Numbers:
        """Return the values of a label as Gt and Lt read them."""
        found = self._numbered.get(key)
        if found is None:
            read = [(go_int(value), value, things) for value, things in self.domains(key).items()]
            counted = sorted(((n, things) for n, _, things in read if n is not None), key=itemgetter(0))
            others = {value: things for n, value, things in read if n is None}
            found = self._numbered[key] = Numbers([n for n, _ in counted], [things for _, things in counted], others)
        return found

    def selected_by(self, selector: Selector | None) -> NodeSet:
        """Return the things whose labels a LabelSelector matches; null matches none."""
        if selector is None:
            return EMPTY
        found = self.all
        for requirement in selector.requirements:
            found &= self.where(requirement)
        return found

    def with_labels(self, labels: Labels) -> NodeSet:
        """Return the things that have every label of a ``nodeSelector``."""
        found = self.all
        for key, value in labels.items():
            found &= self.with_label(key, value)
        return found


def by_key(rows: Iterable[Mapping[str, T]]) -> Mapping[str, Sequence[tuple[int, T]]]:
    """Return key → (place, value) of each row that has it."""
    found: dict[str, list[tuple[int, T]]] = {}
    for place, row in enumerate(rows):
        for key, value in row.items():
            found.setdefault(key, []).append((place, value))
    return found
