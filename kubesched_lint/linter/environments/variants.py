"""The sets that somebody may apply: of each group of alternatives one, and what lies outside of all alternatives."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any

from msgspec import Struct, field

from kubesched_lint.engine.base import work
from kubesched_lint.engine.model.inventory import Inventory, identity
from kubesched_lint.engine.model.policy import Autoscaler
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.linter.environments.alternatives import Alternatives
from kubesched_lint.linter.limits import LEAST_AGAIN, MOST_AGAIN, MOST_NESTED

_COMPETING = (
    "workloads",
    "services",
    "autoscalers",
    "vertical_autoscalers",
    "budgets",
    "pod_groups",
    "group_templates",
    "limit_ranges",
    "quotas",
    "replica_sets",
)
"""Fields with objects that pods compete with or answer to. Other objects, such as classes, may serve all variants."""


class Variant(Struct, frozen=True):
    """A set that somebody may apply.

    ``judged`` are the workloads that rules report on here, each in at least one variant. ``paths`` are the chosen
    alternatives. ``unsure`` are autoscalers outside of the alternatives that define their targets: they may be meant
    for one of them only. ``names`` are those of the alternatives that only this variant judges, the commonest first.
    ``borrowed`` are workloads of other alternatives: where one of a name is missing, another takes its place.
    """

    manifests: Inventory
    judged: Sequence[Workload]
    paths: frozenset[str] = frozenset()
    unsure: Sequence[Autoscaler] = ()
    names: Sequence[str] = ()
    borrowed: Sequence[Workload] = ()


class Variants(Struct, frozen=True, dict=True):
    """The variants of a set."""

    alternatives: Alternatives

    @cached_property
    def all(self) -> Sequence[Variant]:
        """The variants; the whole set if there are no alternatives, or too many to tell apart."""
        manifests = self.alternatives.manifests
        whole = Variant(manifests, manifests.workloads)
        return work.tried(lambda: [*self._made()], [whole]) if self.alternatives.groups else [whole]

    @property
    def environments(self) -> tuple[str, ...]:
        """The names of the alternatives that are judged apart."""
        return self.alternatives.environments if len(self.all) > 1 else ()

    def notes(self) -> Iterator[str]:
        """Yield a note for a report on all variants."""
        if len(self.all) > 1:
            yield self.alternatives.note()

    def _made(self) -> Iterator[Variant]:
        lists = dict(self.alternatives.manifests.lists())
        for way in _ways(self._tree(lists), self.alternatives.names):
            chosen: dict[str, list[int]] = {}
            for name, number in way.items:
                chosen.setdefault(name, []).append(number)
            kept = {name: tuple(lists[name][n] for n in sorted(numbers)) for name, numbers in chosen.items()}
            kept.update(self._serving(kept))
            own, borrowed = (
                [lists[name][number] for name, number in sorted(items) if name == "workloads"]
                for items in (way.own, way.borrowed)
            )
            manifests, paths = Inventory(**kept), frozenset(way.paths)
            names = [name for name, _ in Counter(way.names).most_common()]
            yield Variant(manifests, own, paths, [*self._unsure(manifests, paths)], names, borrowed)

    def _tree(self, lists: Mapping[str, Sequence[Any]]) -> _Place:
        group_of = {path: number for number, group in enumerate(self.alternatives.groups) for path in group}
        root = _Place()
        for name, items in lists.items():
            for number, item in enumerate(items):
                place = root
                steps = [path for _, path in self.alternatives.steps(item) if path in group_of]
                for path in steps[: -MOST_NESTED - 1 : -1]:
                    place = place.groups.setdefault(group_of[path], {}).setdefault(path, _Place())
                place.items.append((name, number))
        return root

    def _serving(self, kept: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield the fields whose objects serve all variants: one's own, else the first and last definition."""
        for name, definitions in self._shared.items():
            own = kept.get(name, ())
            work.spend(len(definitions) + len(own))
            known = set(map(identity, own))
            others = (item for key, items in definitions.items() if key not in known for item in items)
            yield name, (*others, *own)

    @cached_property
    def _shared(self) -> Mapping[str, Mapping[object, Sequence[Any]]]:
        """Field → identity → first and last definition, of objects that may serve all variants."""
        shared: dict[str, dict[object, list[Any]]] = {}
        for name, items in self.alternatives.manifests.lists():
            for item in items if name not in _COMPETING else ():
                known = shared.setdefault(name, {}).setdefault(identity(item), [])
                known[1:] = [item]
        return shared

    def _unsure(self, manifests: Inventory, paths: Collection[str]) -> Iterator[Autoscaler]:
        if not manifests.autoscalers:
            return
        targets = {identity(workload): workload for workload in manifests.workloads}
        for scaler in manifests.autoscalers:
            key = (scaler.target.kind, scaler.namespace, scaler.target.name)
            homes = [path for _, path in self.alternatives.steps(targets.get(key)) if path in paths]
            if homes and self._definitions[key] > 1 and homes[0] not in dict(self.alternatives.steps(scaler)).values():
                yield scaler

    @cached_property
    def _definitions(self) -> Mapping[object, int]:
        """Identity of a workload → number of its definitions."""
        return Counter(map(identity, self.alternatives.manifests.workloads))


class _Place(Struct, frozen=True):
    """What lies in a folder outside of its alternatives, and the alternatives in it by the number of their group."""

    items: list[tuple[str, int]] = field(default_factory=list)
    groups: dict[int, dict[str, _Place]] = field(default_factory=dict)


class _Way(Struct, frozen=True, eq=False):
    """One way to apply what lies in a folder; ``own`` are the items that no other way has to judge.

    ``names`` are those of its own alternatives, ``borrowed`` the items of the others.
    """

    name: str
    items: Sequence[tuple[str, int]]
    own: Sequence[tuple[str, int]]
    paths: Sequence[str]
    names: Sequence[str] = ()
    borrowed: Sequence[tuple[str, int]] = ()


def _ways(place: _Place, names: Mapping[str, str]) -> Iterator[_Way]:
    """Yield as few ways as there are alternatives in the largest group; where one is missing, the last is applied."""
    if not place.groups:
        yield _Way("", place.items, place.items, ())
        return
    groups = [
        [_within(names[path], path, way) for path, inner in group.items() for way in _ways(inner, names)]
        for group in place.groups.values()
    ]
    arranged = [*_arranged(groups)]
    again = max(LEAST_AGAIN, MOST_AGAIN // max(1, len(place.items)))
    for column in range(max(map(len, groups))):
        own = [ways[column] for ways in arranged if column in ways]
        chosen = [ways.get(column, group[-1]) for ways, group in zip(arranged, groups, strict=True)]
        items = [*place.items, *(item for way in chosen for item in way.items)]
        work.spend(len(items) + len(chosen))
        judged = [*(place.items if column < again else ()), *(item for way in own for item in way.own)]
        borrowed = [item for way in chosen for item in (way.borrowed if way in own else way.items)]
        paths = [path for way in chosen for path in way.paths]
        yield _Way(own[0].name, items, judged, paths, [name for way in own for name in way.names], borrowed)


def _within(name: str, path: str, way: _Way) -> _Way:
    paths = (path, *way.paths)
    inside = [os.path.join(name, inner) for inner in way.names] or [name]
    return _Way(os.path.join(name, way.name).rstrip(os.sep), way.items, way.own, paths, inside, way.borrowed)


def _arranged(groups: Iterable[Sequence[_Way]]) -> Iterator[Mapping[int, _Way]]:
    """Yield number of a variant → way for each group; ways of one name are applied together, as all of ``prod``."""
    numbers: dict[str, int] = {}
    for ways in groups:
        placed: dict[int, _Way] = {}
        for way in ways:
            if way.name in numbers:
                placed.setdefault(numbers[way.name], way)
        done = set(placed.values())
        rest = [way for way in ways if way not in done]
        for number, way in zip((n for n in count() if n not in placed), rest, strict=False):
            placed[number] = way
            numbers.setdefault(way.name, number)
        yield placed
