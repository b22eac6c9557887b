"""Requested amounts per node and resource, and the nodes without room for a given amount.

The pod count is the resource ``pods``; every pod requests one.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kubesched_lint.engine.base.identity import ByIdentity
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, of

PODS = "pods"
_MEMOISED = 64  # amounts cached per resource; simulations repeat the same few


class _Account(NamedTuple):
    """One resource. All of it changes as pods come and go."""

    taken: list[int]
    """What pods requested, by position."""
    free: list[float]
    """Allocatable minus requested, infinite if allocatable is unknown."""
    short: dict[int, NodeSet]
    """Amount → the nodes with less left, of the amounts that were asked for."""
    wants: list[int]
    """These amounts, ascending: a pod changes those between what its node had left and has now."""


class Ledger:
    """Requested amounts (millicores, bytes, counts) per node; cached results of ``short_of`` are kept up to date."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._accounts: dict[str, _Account] = {}
        self._charges: ByIdentity[Mapping[str, int], Sequence[tuple[_Account, int]]] = ByIdentity()
        """Requests of pods, most of which share theirs with others → how much each takes of which resources."""

    def _account(self, resource: str) -> _Account:
        account = self._accounts.get(resource)
        if account is None:
            bare = self._index.allocatable(resource)
            account = self._accounts[resource] = _Account([0] * len(bare), [*bare], {}, [])
        return account

    def requested(self, resource: str) -> list[int]:
        """Return the requested amount per node position; callers must not change the list."""
        return self._account(resource).taken

    def free(self, resource: str) -> list[float]:
        """Return allocatable minus requested per position, infinite if allocatable is unknown.

        Callers must not change the list.
        """
        return self._account(resource).free

    def book(self, counts: Collection[tuple[int, int]], amounts: Mapping[str, int]) -> None:
        """Add the amounts of equal pods: (position, how many come, or if negative, leave)."""
        charges = self._charges.get(amounts)
        if charges is None:
            charges = [(self._account(resource), each) for resource, each in (*amounts.items(), (PODS, 1))]
            self._charges[amounts] = charges
        for (taken, free, short, wants), each in charges:
            for position, count in counts:
                amount = each * count
                taken[position] += amount
                before = free[position]
                left = free[position] = before - amount
                lower, upper = (left, before) if left < before else (before, left)
                at = bisect_right(wants, lower)
                while at < len(wants) and wants[at] <= upper:
                    short[wants[at]] ^= 1 << position
                    at += 1

    def short_of(self, resource: str, want: int) -> NodeSet:
        """Return the nodes with less than ``want`` of the resource left."""
        _, free, short, wants = self._account(resource)
        short_nodes = short.get(want)
        if short_nodes is None:
            if len(short) >= _MEMOISED:
                first = next(iter(short))
                del short[first]
                wants.remove(first)
            # Most amounts fit on nearly all nodes or on nearly none, so a scan for the few is enough.
            short_nodes = (
                EMPTY if not free or min(free) >= want else of([i for i, left in enumerate(free) if left < want])
            )
            short[want] = short_nodes
            insort(wants, want)
        return short_nodes
