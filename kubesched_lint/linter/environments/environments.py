"""Environments: the scenarios of a set with alternatives, named by what tells these apart, as ``prod`` and ``staging``.

Each is one of the ``variants`` that ``lint`` judges, with what all of them share. Commands that answer about one set at
a time judge each of them, and ``--env`` chooses some.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import did_you_mean, first_few, many
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.linter.environments.alternatives import Alternatives
from kubesched_lint.linter.environments.duplicate_definitions import one_of_each
from kubesched_lint.linter.environments.variants import Variant, Variants
from kubesched_lint.linter.limits import MOST_ENVIRONMENTS

T = TypeVar("T")
Named = TypeVar("Named", bound=Struct)
"""A struct with a field ``environments``."""


class Environment(Struct, frozen=True):
    """One environment; its name is empty where the set has no alternatives.

    ``manifests`` define each object once. ``subjects`` are the workloads to answer about here: those of other
    environments, which stand in where this one has none (``borrowed``), only take their place on the nodes.
    """

    name: str
    manifests: Inventory
    whole: Inventory
    """Before one definition of each object was chosen."""
    subjects: frozenset[ObjectRef]
    borrowed: frozenset[ObjectRef] = frozenset()
    notes: tuple[str, ...] = ()


class Environments(Struct, frozen=True):
    """The environments of a set, at least one, and notes about them and those that are not judged."""

    each: Sequence[Environment]
    notes: tuple[str, ...] = ()
    """The first says that they are judged apart, if several are."""
    groups: Sequence[Sequence[str]] = ()
    """The paths of each group of alternatives."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names, none if there is one environment without a name."""
        return tuple(environment.name for environment in self.each if environment.name)

    def named(self, name: str) -> Environment | None:
        return next((environment for environment in self.each if environment.name == name), None)


def environments_of(
    manifests: Inventory,
    together: Collection[str] = (),
    wanted: Sequence[str] = (),
    known: Sequence[Sequence[str]] = (),
) -> Environments:
    """Return the environments of a set, or those that are ``wanted``.

    ``together`` are paths that a target names, ``known`` the groups of another version of the set. Raises ValueError
    for a name that none has.
    """
    alternatives = Alternatives(manifests, together, known)
    if not alternatives.groups:
        if wanted:
            raise ValueError(f"--env {wanted[0]}: no folders or files of these define the same workloads")
        return Environments([_of(Variant(manifests, manifests.workloads), "")])
    variants = [v for v in Variants(alternatives).all if any(_current(v, alternatives))]
    named = [(v, _name(v)) for v in variants]
    chosen = [*_chosen(named, wanted)] if wanted else named
    left = [name for _, name in chosen[MOST_ENVIRONMENTS:]]
    notes = [alternatives.note()] if len(chosen) > 1 else []
    if left:
        more = f"{many(len(left), 'more environment')} ({first_few(left)})"
        notes.append(f"not judged: {more}; --env names those to judge")
    environments = [_of(v, name, [*_current(v, alternatives)]) for v, name in chosen[:MOST_ENVIRONMENTS]]
    return Environments(environments, tuple(notes), alternatives.groups)


def shared_part(manifests: Inventory, groups: Sequence[Sequence[str]], together: Collection[str] = ()) -> Environment:
    """Return what lies outside of all alternatives: what an environment has that does not exist yet, or any more."""
    alternatives = Alternatives(manifests, together)
    paths = {path for group in groups for path in group}
    kept = {
        name: tuple(item for item in items if paths.isdisjoint(path for _, path in alternatives.steps(item)))
        for name, items in manifests.lists()
    }
    inventory = Inventory(**kept)
    return _of(Variant(inventory, inventory.workloads), "")


def with_environments(name: str, environments: Sequence[str]) -> str:
    """Return ``web (prod)``; the name alone for what holds in all environments."""
    return f"{name} ({first_few(environments)})" if environments else name


def unless_all(where: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the environments to name: none for what holds in all of them."""
    return () if len(where) == len(names) else tuple(where)


def once_each(
    told: Iterable[tuple[Sequence[str], T]], names: Sequence[str], by: Callable[[T], Hashable] | None = None
) -> Iterator[tuple[T, tuple[str, ...]]]:
    """Yield equal things of several environments once, with the environments to name. ``names`` are all of them.

    ``by`` returns what two things have to share to be equal; by default the things themselves are compared.
    """
    told_by_key: dict[object, tuple[T, list[str]]] = {}
    for where, told_once in told:
        told_by_key.setdefault(told_once if by is None else by(told_once), (told_once, []))[1].extend(where)
    yield from ((told_once, unless_all(where, names)) for told_once, where in told_by_key.values())


def named_once(
    told: Iterable[tuple[Sequence[str], Named]], names: Sequence[str], by: Callable[[Named], Hashable] | None = None
) -> tuple[Named, ...]:
    """Return equal things once, as ``once_each`` does, each with its ``environments``."""
    return tuple(replace(told_once, environments=where) for told_once, where in once_each(told, names, by))


def said_once(told: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return the sentences of all environments; what only some say begins with their names."""
    names = [name for name, _ in told]
    each = (((name,), text) for name, texts in told for text in dict.fromkeys(texts))
    return tuple(f"{first_few(where)}: {text}" if where else text for text, where in once_each(each, names))


def _name(variant: Variant) -> str:
    return variant.names[0] if variant.names else ""


def _current(variant: Variant, alternatives: Alternatives) -> Iterator[Workload]:
    """Yield the workloads to answer about: an older release is history, and who installs one names it."""
    for workload in variant.judged:
        if workload.source is None or not alternatives.newest_beside(workload.source.path):
            yield workload


def _chosen(named: Sequence[tuple[Variant, str]], wanted: Sequence[str]) -> Iterator[tuple[Variant, str]]:
    """Yield the variants that have one of the wanted names, or one of its alternatives. Raises ValueError."""
    known = list(dict.fromkeys(name for _, name in named))
    for name in wanted:
        if not any(_is_named(variant, name) for variant, _ in named):
            there = did_you_mean(name, known) or f"; there are {first_few(known)}"
            raise ValueError(f"--env {name}: no environment is called so{there}")
    yield from (each for each in named if any(_is_named(each[0], name) for name in wanted))


def _is_named(variant: Variant, name: str) -> bool:
    return any(name == each or name in each.split(os.sep) for each in variant.names)


def _of(variant: Variant, name: str, judged: Sequence[Workload] | None = None) -> Environment:
    once, notes = one_of_each(variant.manifests)
    subjects = variant.judged if judged is None else judged
    borrowed = frozenset(w.ref for w in variant.borrowed)
    return Environment(name, once, variant.manifests, frozenset(w.ref for w in subjects), borrowed, notes)
