"""Keys that tell equal values apart. They keep what they stand for: an ``id()`` may later be that of another object.

Prefer an object itself as key, if its class compares by identity: a plain class, or a record of ``Distinct``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from typing import Concatenate, Generic, ParamSpec, TypeVar
from weakref import ref

K = TypeVar("K")
V = TypeVar("V")
P = ParamSpec("P")


class Itself(Generic[K]):
    """A key that equals another one of the same object only."""

    __slots__ = ("it",)

    def __init__(self, it: K) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and other.it is self.it

    def __hash__(self) -> int:
        return id(self.it)


class ByIdentity(Generic[K, V]):
    """A mapping from objects that need not be hashable."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Iterable[tuple[K, V]] = ()) -> None:
        self._pairs = {id(key): (key, value) for key, value in pairs}

    def __contains__(self, key: K) -> bool:
        return id(key) in self._pairs

    def __getitem__(self, key: K) -> V:
        return self._pairs[id(key)][1]

    def __setitem__(self, key: K, value: V) -> None:
        self._pairs[id(key)] = key, value

    def get(self, key: K) -> V | None:
        pair = self._pairs.get(id(key))
        return None if pair is None else pair[1]

    def setdefault(self, key: K, value: V) -> V:
        return self._pairs.setdefault(id(key), (key, value))[1]

    def update(self, keys: Iterable[K], value: V) -> None:
        """Map each of these to one value."""
        self._pairs.update((id(key), (key, value)) for key in keys)

    def __len__(self) -> int:
        return len(self._pairs)

    def items(self) -> Iterable[tuple[K, V]]:
        return self._pairs.values()

    def __iter__(self) -> Iterator[K]:
        return (key for key, _ in self._pairs.values())


def each_once(items: Iterable[K]) -> Collection[K]:
    """Return the objects in their order, each once."""
    return {id(item): item for item in items}.values()


def while_it_lives(read: Callable[Concatenate[K, P], V]) -> Callable[Concatenate[K, P], V]:
    """Return a function that computes what ``read`` returns once, and forgets it with its first argument.

    In an editor that is open all day, a cache of a fixed size would keep the objects of former texts.
    """
    known: dict[ref[K], dict[object, V]] = {}  # each attempt to schedule a pod asks; WeakKeyDictionary is slower

    @wraps(read)
    def once(it: K, /, *more: P.args, **named: P.kwargs) -> V:
        of_it = known.get(ref(it))
        if of_it is None:
            of_it = known[ref(it, known.__delitem__)] = {}
        asked = (*more, *named.values()) if named else more
        if asked not in of_it:
            of_it[asked] = read(it, *more, **named)
        return of_it[asked]

    return once
