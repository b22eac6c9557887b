"""Objects that a set defines more than once: a finding may use one definition of each object, never two together.

Folders that define mostly the same objects are judged apart (``variants``). In any other set each finding is checked
again in a set that has, of each object, only the definition nearest to the finding's file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.identity import ByIdentity, Itself
from kubesched_lint.engine.base.places import Source
from kubesched_lint.engine.base.text import SHOWN, and_more, many
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workloads.workload import Workload


class DuplicateDefinitions(Struct, frozen=True, dict=True):
    """The definitions of a set, grouped by object."""

    manifests: Inventory

    @cached_property
    def groups(self) -> Mapping[tuple[str, object], Sequence[Any]]:
        return self.manifests.duplicates()

    @cached_property
    def _sources(self) -> frozenset[Source | None]:
        return frozenset(item.source for items in self.groups.values() for item in items)

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(item.source.path for items in self.groups.values() for item in items if item.source)

    def defines_again(self, workload: Workload) -> bool:
        """Whether the workload is one of several definitions of one object."""
        return workload.source in self._sources

    def is_replaced(self, source: Source) -> bool:
        """Whether the same file defines the object again below, and differently."""
        return source in self._replaced

    @cached_property
    def _replaced(self) -> frozenset[Source]:
        last = [{item.source.path: item for item in items if item.source} for items in self.groups.values()]
        return frozenset(
            item.source
            for items, ends in zip(self.groups.values(), last, strict=True)
            for item in items
            if item.source and _differ((item, ends[item.source.path]))
        )

    def seen_from(self, source: Source) -> tuple[Inventory, ...]:
        """The sets with one definition of each object, the nearest to ``source``; two sets where two are as near."""
        late = self._chosen(source, last=True)
        early = self._chosen(source, last=False)
        return (late,) if late is early else (late, early)

    def view(self, source: Source) -> object:
        """A key that is equal for sources with the same ``seen_from``."""
        if source in self._sources:
            return source
        return source.path if source.path in self._paths else source.path.rpartition("/")[0] + "/"

    @cached_property
    def _alike(self) -> ByIdentity[Any, Itself[Any]]:
        """Return a definition → the first equal definition."""
        first_equal: ByIdentity[Any, Itself[Any]] = ByIdentity()
        for items in self.groups.values():
            first: dict[str, list[Any]] = {}
            for item in items:
                alike = first.setdefault(_key(item), [])
                other = next((other for other in alike if not _differ((other, item))), item)
                if other is item:
                    alike.append(item)
                first_equal[item] = Itself(other)
        return first_equal

    @cached_property
    def _sets(self) -> dict[frozenset[object], Inventory]:
        return {}

    def _chosen(self, source: Source, last: bool) -> Inventory:
        """The set with one definition of each object; equal choices share one Inventory and its cached results."""
        work.spend(6 * sum(map(len, self.groups.values())))
        kept = [_nearest(items, source, last) for items in self.groups.values()]
        left = {Itself(item) for items in self.groups.values() for item in items} - set(map(Itself, kept))
        mismatched = set(self._mismatched_scalers(left))
        own = {Itself(item) for items in self.groups.values() for item in items if item.source is source}
        key = frozenset({*map(self._alike.__getitem__, kept), *own, *(("not used", scaler) for scaler in mismatched)})
        if key not in self._sets:
            gone = left | mismatched
            kept_lists = {n: tuple(i for i in items if Itself(i) not in gone) for n, items in self.manifests.lists()}
            self._sets[key] = Inventory(**kept_lists)
        return self._sets[key]

    def _mismatched_scalers(self, left: Collection[Itself[Any]]) -> Iterator[Itself[Any]]:
        """Yield each autoscaler that is nearer to definitions of its target than to the chosen one."""
        for scaler in self.manifests.autoscalers:
            target = (scaler.target.kind, scaler.namespace, scaler.target.name)
            items = self.groups.get(("workloads", target))
            if items is not None and all(Itself(item) in left for item in _nearest_ones(items, scaler.source)):
                yield Itself(scaler)

    @property
    def differing(self) -> Mapping[object, Sequence[Any]]:
        """(field, identity) → definitions, for objects that files define more than once, and differently."""
        written = {key: _written(items) for key, items in self.groups.items()}
        return {key: items for key, items in written.items() if _differ(items)}

    def chosen(self, source: Source) -> tuple[Inventory, tuple[str, ...]]:
        """(set, notes) for a question about the whole set: one definition of each object, as seen from ``source``."""
        inventory = self._chosen(source, last=True)
        kept = {Itself(item) for _, items in inventory.lists() for item in items}
        differing = [items for items in self.groups.values() if _differ(items)]
        notes = [_taken(items, kept) for items in differing[:SHOWN]]
        if len(differing) > SHOWN:
            notes.append(f"{len(differing) - SHOWN:,} more objects are defined more than once, and differently")
        defined = {Itself(item) for items in self.groups.values() for item in items}
        mismatched = [s for s in self.manifests.autoscalers if Itself(s) not in kept | defined]
        if mismatched:
            named = ", ".join(f"{s.namespace}/{s.name}" for s in mismatched[:SHOWN])
            notes.append(f"not used: autoscalers of other definitions: {named}")
        return inventory, tuple(notes)

    @cached_property
    def last(self) -> Source | None:
        """The source of the definition that was read last, of a workload if any workload is defined twice."""
        groups = [items for (field, _), items in self.groups.items() if field == "workloads"]
        items = [item for items in groups or self.groups.values() for item in items if item.source is not None]
        return max(items, key=lambda item: getattr(item, "order", 0)).source if items else None


def note_on(differing: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield a note for the footer about objects that are defined more than once, and differently."""
    if not differing:
        return
    named = "; ".join(map(_named, differing[:SHOWN]))
    more = len(differing) - SHOWN
    count = many(len(differing), "object is", "objects are")
    yield (
        f"{count} defined more than once, and differently: {named}{';' * (more > 0)}{and_more(more)}. "
        "Each finding uses the definition nearest to its file"
    )


def one_of_each(manifests: Inventory, source: Source | None = None) -> tuple[Inventory, tuple[str, ...]]:
    """Return the set with one definition of each object, and notes about each choice.

    Chooses the definition nearest to ``source``, as ``lint`` does; without ``source``, nearest to the definition that
    was read last, because applying all files in order keeps that one.
    """
    if not manifests.has_duplicates:
        return manifests, ()
    duplicates = DuplicateDefinitions(manifests)
    source = source or duplicates.last
    return (manifests, ()) if source is None else duplicates.chosen(source)


def _nearest(items: Sequence[Any], source: Source | None, last: bool) -> Any:
    """The definition that is ``source``, else one in its file, else one with the longest common path of folders."""
    if source is None:
        return items[-1 if last else 0]
    nearest = _nearest_ones(items, source)
    # In one file the later definition replaces the earlier one; in two files either may be meant.
    where = nearest[-1 if last else 0].source.path
    return next(item for item in reversed(nearest) if item.source.path == where)


def _nearest_ones(items: Sequence[Any], source: Source | None) -> Sequence[Any]:
    """Return the definitions of which none is nearer to ``source``; all without one."""
    if source is None:
        return items
    near = [_nearness(item.source, source) for item in items]
    best = max(near)
    return [item for item, closeness in zip(items, near, strict=True) if closeness == best]


def _nearness(source: Source | None, other: Source) -> tuple[int, int, int]:
    if source is None:
        return (0, 0, 0)
    ours, theirs = source.path.split("/")[:-1], other.path.split("/")[:-1]
    common = 0
    for mine, yours in zip(ours, theirs, strict=False):
        if mine != yours:
            break
        common += 1
    return (int(source is other) * 2 + int(source.path == other.path), common, -len(ours))


def _written(items: Sequence[Any]) -> Sequence[Any]:
    """The items without rendered overlays, because overlays redefine their base on purpose."""
    return [item for item in items if getattr(item.source, "rendering", None) is None]


def _differ(items: Sequence[Any]) -> bool:
    return any(getattr(item.source, "value", item) != getattr(items[0].source, "value", items[0]) for item in items)


def _key(item: Any) -> str:
    """A hash key that equal definitions share."""
    value = getattr(item.source, "value", None)
    try:
        return json.dumps(value, sort_keys=True, default=str)
    except (TypeError, ValueError):  # keys that are not strings, or an alias inside itself
        return ""


def _taken(items: Sequence[Any], kept: Collection[Itself[Any]]) -> str:
    taken = next(item for item in items if Itself(item) in kept)
    others = [item for item in items if item is not taken and _differ((taken, item))]
    places = ", ".join(map(_place, others[:SHOWN])) + (", …" if len(others) > SHOWN else "")
    return f"{_title(taken)} is defined more than once, and differently: uses {_place(taken)}, not {places}"


def _place(item: Any) -> str:
    return f"{item.source.path}:{item.source.span(('metadata', 'name')).line}"


def _title(item: Any) -> str:
    return f"{getattr(item.source, 'kind', '')} {'/'.join(filter(None, (getattr(item, 'namespace', ''), item.name)))}"


def _named(items: Sequence[Any]) -> str:
    places = list(map(_place, items))
    shown = ", ".join(places[:SHOWN]) + (", …" if len(places) > SHOWN else "")
    return f"{_title(items[0])} ({shown})"
