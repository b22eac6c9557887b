"""Things with labels, indexed once: a selector is answered for all of them by a few set operations."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import chain
from operator import itemgetter, or_
from typing import NamedTuple, TypeVar

from kubesched_lint.engine.base import work
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, first, of, only, positions
from kubesched_lint.engine.model.labels import Labels, Requirement, Selector, go_int
from kubesched_lint.engine.model.pod import Pod

T = TypeVar("T")


class Numbers(NamedTuple):
    """The values of a label: those that are integers, ascending, with the things that have them, and the others."""

    values: Sequence[int]
    members: Sequence[NodeSet]
    others: Mapping[str, NodeSet]


class LabelIndex:
    """Nodes, volumes or pods by position: a NodeSet is a set of them."""

    def __init__(self, count: int) -> None:
        self.all: NodeSet = first(count)
        self._values: dict[str, list[str | None]] = {}
        self._positions: dict[str, dict[str, list[int]]] = {}
        """Key → value → the positions of the things with the label, of the keys that were asked for."""
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
        values = self._values.get(key)
        if values is None:
            values = self._values[key] = [None] * len(self.labels)
            for value, at in self._with(key).items():
                for position in at:
                    values[position] = value
        return values

    def _with(self, key: str) -> Mapping[str, list[int]]:
        """Return value → positions of the things with the label, ascending. A key that is asked for takes a pass."""
        positions_by_value = self._positions.get(key)
        if positions_by_value is None:
            positions_by_value = self._positions[key] = {}
            for position, labels in enumerate(self.labels):
                if key in labels:
                    positions_by_value.setdefault(labels[key], []).append(position)
        return positions_by_value

    def positions_of(self, key: str, value: str) -> Sequence[int]:
        """Return the positions of the things with a label, ascending."""
        return self._with(key).get(value, ())

    def domains(self, key: str) -> Mapping[str, NodeSet]:
        """Return the topology domains of ``key``: label value → things. Those without the key are in none."""
        domains = self._domains.get(key)
        if domains is None:
            domains = self._domains[key] = {value: of(at) for value, at in self._with(key).items()}
        return domains

    def with_key(self, key: str) -> NodeSet:
        """Return the things that have the label key."""
        keyed = self._keyed.get(key)
        if keyed is None:
            keyed = self._keyed[key] = of(chain.from_iterable(self._with(key).values()))
        return keyed

    def with_label(self, key: str, value: str) -> NodeSet:
        return self.domains(key).get(value, EMPTY)

    def where(self, requirement: Requirement) -> NodeSet:
        """Return the things whose labels satisfy a requirement: ``Requirement.matches`` for all at once."""
        key, matching = requirement.key, EMPTY
        match requirement.operator:
            case "In" | "NotIn":
                for value in requirement.values:
                    matching |= self.with_label(key, value)
                matching = matching if requirement.operator == "In" else self.all & ~matching
            case "Exists":
                matching = self.with_key(key)
            case "DoesNotExist":
                matching = self.all & ~self.with_key(key)
            case "Gt" | "Lt":
                want = go_int(requirement.values[0]) if len(requirement.values) == 1 else None
                if want is not None:
                    numbers, nodes, _ = self.numbers(key)
                    above = slice(bisect_right(numbers, want), None)
                    below = slice(bisect_left(numbers, want))
                    matching = reduce(or_, nodes[above if requirement.operator == "Gt" else below], EMPTY)
        return matching

    def numbers(self, key: str) -> Numbers:
        """Return the values of a label as Gt and Lt read them."""
        numbers = self._numbered.get(key)
        if numbers is None:
            read = [(go_int(value), value, members) for value, members in self.domains(key).items()]
            counted = sorted(((n, members) for n, _, members in read if n is not None), key=itemgetter(0))
            others = {value: members for n, value, members in read if n is None}
            numbers = self._numbered[key] = Numbers(
                [n for n, _ in counted], [members for _, members in counted], others
            )
        return numbers

    def selected_by(self, selector: Selector | None) -> NodeSet:
        """Return the things whose labels a LabelSelector matches; null matches none."""
        if selector is None:
            return EMPTY
        matching = self.all
        for requirement in selector.requirements:
            matching &= self.where(requirement)
            if not matching:
                break
        return matching

    def with_labels(self, labels: Labels) -> NodeSet:
        """Return the things that have every label of a ``nodeSelector``."""
        matching = self.all
        for key, value in labels.items():
            matching &= self.with_label(key, value)
        return matching


class PodIndex(LabelIndex):
    """Pods by their labels and namespaces; more may be added at any time."""

    def __init__(self, pods: Iterable[Pod] = ()) -> None:
        super().__init__(0)
        self.labels: list[Labels] = []
        self.namespaces: dict[str, list[int]] = {}
        """Namespace → the positions of its pods."""
        self._labelled: dict[tuple[str, str], NodeSet] = {}
        """Label → the pods that have it, if they are several."""
        self._within: dict[str, NodeSet] = {}
        """``namespaces`` as sets, for those that were asked for."""
        for pod in pods:
            self.add(pod.namespace, pod.labels)

    def add(self, namespace: str, labels: Labels) -> None:
        """Give a pod the next position."""
        position = len(self.labels)
        bit = only(position)
        self.labels.append(labels)
        self.all |= bit
        self.namespaces.setdefault(namespace, []).append(position)
        if namespace in self._within:
            self._within[namespace] |= bit
        self._note(labels, position)

    def _note(self, labels: Labels, position: int) -> None:
        """Add a pod to what is known of each label: nothing without ``_positions``."""
        self._values.clear()
        for key, value in labels.items() if self._positions else ():
            if key not in self._positions:
                continue
            self._positions[key].setdefault(value, []).append(position)
            self._numbered.pop(key, None)
            self._labelled.pop((key, value), None)
            if key in self._domains:
                domains = self._domains[key]
                domains[value] = domains.get(value, EMPTY) | only(position)
            if key in self._keyed:
                self._keyed[key] |= only(position)

    def with_label(self, key: str, value: str) -> NodeSet:
        """Return the pods that have the label. Many labels have a value for each workload: no set of one is kept."""
        at = self.positions_of(key, value)
        if len(at) < 2:
            return of(at)
        labelled = self._labelled.get((key, value))
        if labelled is None:
            labelled = self._labelled[key, value] = of(at)
        return labelled

    def in_namespace(self, name: str) -> NodeSet:
        """Return the pods of a namespace."""
        pods = self._within.get(name)
        if pods is None:
            pods = self._within[name] = of(self.namespaces.get(name, ()))
        return pods

    def in_namespaces(self, names: Iterable[str]) -> NodeSet:
        """Return the pods of several namespaces."""
        return reduce(or_, map(self.in_namespace, names), EMPTY)

    def listed(self, pods: NodeSet) -> Iterator[int]:
        """Return the positions of a set of pods, ascending; each costs half a step."""
        work.spend(pods.bit_count() // 2)
        return positions(pods)

    def near(
        self,
        selector: Selector,
        namespaces: Iterable[str] | None,
        with_label: Callable[[str, str], Sequence[int] | None] | None = None,
    ) -> Iterator[int]:
        """Yield a superset of the pods that a selector matches in some namespaces (None: all), ascending.

        Each costs a look. It is the shortest list of those with a label, or in a namespace, so that no set of all
        pods is made. ``with_label`` says which pods may have a label, None for any.
        """
        look_up = with_label or self.positions_of
        best: Sequence[Sequence[int]] = (range(len(self.labels)),)
        lists = [[look_up(r.key, value) for value in r.values] for r in selector.requirements if r.operator == "In"]
        if namespaces is not None:
            lists.append([self.namespaces.get(name, ()) for name in namespaces])
        for postings in lists:
            known = [posting for posting in postings if posting is not None]
            if len(known) == len(postings) and sum(map(len, known)) < sum(map(len, best)):
                best = known
        for position in best[0] if len(best) == 1 else sorted(set(chain.from_iterable(best))):
            work.spend(work.LOOK)
            yield position
