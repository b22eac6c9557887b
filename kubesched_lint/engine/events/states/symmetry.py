"""Symmetric nodes: states that differ only by swapping equal nodes, or whole equal domains, count as one state.

A node's look is its labels that a selector reads, its resources, taints and residents, and its topology keys.
Values of a topology key that no selector reads matter only as "its own domain".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.events.states.states import State
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, profile_of


class Symmetry:
    """The canonical form of states on one set of nodes."""

    def __init__(self, index: NodeIndex, pods: Iterable[Pod], marks: Sequence[Hashable]) -> None:
        """``marks`` are further differences between nodes, by position: residents, later events."""
        read, topology, by_name = _keys(pods)
        shared = [k for k in topology if k not in read and not index.one_node_each(k)]
        outer = shared[0] if len(shared) == 1 else None
        compared = read | (frozenset(shared) if outer is None else frozenset())
        looks: dict[int, Hashable] = {}
        for position, node in enumerate(index.nodes):
            looks[position] = (
                tuple(sorted((k, v) for k, v in node.labels.items() if k in compared)),
                tuple(sorted(k for k in topology if k in node.labels)),
                frozenset(node.taints),
                node.unschedulable,
                None if node.allocatable is None else frozenset(node.allocatable.items()),
                frozenset(node.images),
                marks[position],
                node.name if by_name else "",
            )
        numbers = {look: n for n, look in enumerate(dict.fromkeys(looks.values()))}
        self.look: tuple[int, ...] = tuple(numbers[looks[p]] for p in range(len(index)))
        """Per position: nodes with equal numbers look alike, but their domains may differ."""
        self._kinds = tuple(self._domains(index, outer))
        self.is_trivial = all(len(kind) == 1 and all(len(run) == 1 for run in kind[0]) for kind in self._kinds)
        self.domain: tuple[int, ...] = self._domain_numbers(len(index))

    @classmethod
    def none(cls, nodes: int) -> Symmetry:
        """Return a symmetry where all nodes differ: for single courses, which do not need canonical forms."""
        symmetry = cls.__new__(cls)
        symmetry.look = symmetry.domain = tuple(range(nodes))
        symmetry._kinds = ()
        symmetry.is_trivial = True
        return symmetry

    def _domains(self, index: NodeIndex, outer: str | None) -> Iterator[tuple[tuple[tuple[int, ...], ...], ...]]:
        """Yield kinds of equal domains; a domain is a tuple of runs of equal nodes."""
        groups: dict[Hashable, list[int]] = {}
        for position, node in enumerate(index.nodes):
            value = None if outer is None else node.labels.get(outer)
            groups.setdefault(value, []).append(position)
        kinds: dict[Hashable, list[tuple[tuple[int, ...], ...]]] = {}
        for domain, members in groups.items():
            runs: dict[int, list[int]] = {}
            for position in members:
                runs.setdefault(self.look[position], []).append(position)
            ordered = sorted(runs.items())
            # Nodes without the key share no domain: they are never swapped as a group.
            key = (domain is None, tuple((look, len(at)) for look, at in ordered))
            kinds.setdefault(key, []).append(tuple(tuple(at) for _, at in ordered))
        for alike in kinds.values():
            yield tuple(alike)

    def _domain_numbers(self, count: int) -> tuple[int, ...]:
        domain_numbers = [0] * count
        number = 0
        for kind in self._kinds:
            for runs in kind:
                for run in runs:
                    for position in run:
                        domain_numbers[position] = number
                number += 1
        return tuple(domain_numbers)

    def canonical(self, state: State) -> State:
        """Return the representative of all states that differ by a symmetry."""
        if self.is_trivial:
            return state
        cells = _cells(state)
        out = list(cells)
        for kind in self._kinds:
            contents = [tuple(tuple(sorted([cells[p] for p in run])) for run in runs) for runs in kind]
            # Volumes refer to their domain by name, so domains must keep their places.
            if len(contents) > 1 and not state.volumes:
                contents.sort()
            for runs, content in zip(kind, contents, strict=True):
                for run, sorted_cells in zip(runs, content, strict=True):
                    for position, cell in zip(run, sorted_cells, strict=True):
                        out[position] = cell
        bound, pinned, *holds = zip(*out, strict=True)
        return state._replace(bound=bound, pinned=pinned, holds=holds[0] if holds else ())

    def renaming(self, state: State) -> list[int]:
        """Return, for each position of a state, the position to which ``canonical`` moves its pods."""
        cells = _cells(state)
        to = list(range(len(cells)))
        for kind in self._kinds:
            # Each domain as its runs of positions, ordered by content, beside the content itself.
            ordered = [tuple(tuple(sorted(run, key=lambda p: cells[p])) for run in runs) for runs in kind]
            if len(ordered) > 1 and not state.volumes:
                ordered.sort(key=lambda runs: tuple(tuple(cells[p] for p in run) for run in runs))
            for runs, taken in zip(kind, ordered, strict=True):
                for run, sources in zip(runs, taken, strict=True):
                    for position, source in zip(run, sources, strict=True):
                        to[source] = position
        return to

    def first_alike(self, state: State, position: int) -> int:
        """Return the first of the positions that are equal in this state, up to a swap within one domain."""
        if self.is_trivial:
            return position
        bound, pinned = state.bound[position], state.pinned[position]
        return next(p for p in self._alike[position] if state.bound[p] == bound and state.pinned[p] == pinned)

    @cached_property
    def _alike(self) -> list[list[int]]:
        """Per position: those that look alike and are of the same domain."""
        keys = [*zip(self.domain, self.look, strict=True)]
        alike: dict[tuple[int, int], list[int]] = {}
        for position, key in enumerate(keys):
            alike.setdefault(key, []).append(position)
        return [alike[key] for key in keys]

    def distinct(self, state: State, positions: Iterable[int]) -> Iterator[int]:
        """Yield one of each set of positions that are equal in this state, up to a swap within one domain."""
        seen, cells = set(), _cells(state)
        for position in positions:
            key = (self.domain[position], self.look[position], cells[position])
            if key not in seen:
                seen.add(key)
                yield position


def _cells(state: State) -> list[tuple[Hashable, ...]]:
    """Return what a state has at each position."""
    if state.holds:
        return list(zip(state.bound, state.pinned, state.holds, strict=True))
    return list(zip(state.bound, state.pinned, strict=True))


def _keys(pods: Iterable[Pod]) -> tuple[frozenset[str], tuple[str, ...], bool]:
    """Return (label keys whose values are read, topology keys, whether node names are read)."""
    read: set[str] = set()
    topology = {HOSTNAME: None, ZONE: None}  # default spread constraints use both
    by_name = False
    for pod in pods:
        read |= pod.node_selector.keys()
        for term in _node_terms(pod):
            read |= {e.key for e in term.expressions}
            by_name = by_name or bool(term.fields)
        by_name = by_name or bool(pod.node_name)
        for affinity in (*pod.required_affinity, *pod.required_anti_affinity):
            topology[affinity.topology_key] = None
        for weighted in (*pod.preferred_affinity, *pod.preferred_anti_affinity):
            topology[weighted.term.topology_key] = None
        for constraint in pod.spread:
            topology[constraint.topology_key] = None
    return frozenset(read), tuple(topology), by_name


def _node_terms(pod: Pod) -> Iterator[NodeSelectorTerm]:
    """Yield the node terms of the pod and of its scheduler's profile."""
    profile = profile_of(pod)
    yield from pod.required_node_terms or ()
    yield from profile.added_node_terms or ()
    for preferred in (*pod.preferred_node_terms, *profile.added_preferred_node_terms):
        yield preferred.term
