"""Requested amounts per node and resource, and the nodes without room for a given amount.

The pod count is the resource ``pods``; every pod requests one.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import sub

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, of

PODS = "pods"
_MEMOISED = 64  # amounts cached per resource; simulations repeat the same few


class Ledger:
    """Requested amounts (millicores, bytes, counts) per node; cached results of ``short_of`` are kept up to date."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._requested: dict[str, list[int]] = {}
        self._free: dict[str, list[float]] = {}
        self._short: dict[str, dict[int, NodeSet]] = {}

    def requested(self, resource: str) -> list[int]:
        """Return the requested amount per node position; callers must not change the list."""
        requested = self._requested.get(resource)
        if requested is None:
            requested = self._requested[resource] = [0] * len(self._index)
        return requested

    def free(self, resource: str) -> list[float]:
        """Return allocatable minus requested per position, infinite if allocatable is unknown.

        Callers must not change the list.
        """
        free_amounts = self._free.get(resource)
        if free_amounts is None:
            bare, taken = self._index.allocatable(resource), self.requested(resource)
            free_amounts = self._free[resource] = [*map(sub, bare, taken)]
        return free_amounts

    def book(self, counts: Mapping[int, int], amounts: Mapping[str, int]) -> None:
        """Add the amounts of equal pods: position → how many come, or if negative, leave."""
        for resource, each in (*amounts.items(), (PODS, 1)):
            taken = self._requested.get(resource) or self.requested(resource)
            free, short = self._free.get(resource), self._short.get(resource)
            for position, count in counts.items():
                amount = count * each
                taken[position] += amount
                if free is None:
                    continue
                left = free[position] = free[position] - amount
                if short:
                    bit = 1 << position
                    for want, nodes in short.items():
                        if (left < want) != bool(nodes & bit):
                            short[want] = nodes ^ bit

    def short_of(self, resource: str, want: int) -> NodeSet:
        """Return the nodes with less than ``want`` of the resource left."""
        short = self._short.setdefault(resource, {})
        short_nodes = short.get(want)
        if short_nodes is None:
            if len(short) >= _MEMOISED:
                short.pop(next(iter(short)))
            free = self.free(resource)
            # Most amounts fit on nearly all nodes or on nearly none, so a scan for the few is enough.
            short_nodes = (
                EMPTY if not free or min(free) >= want else of([i for i, left in enumerate(free) if left < want])
            )
            short[want] = short_nodes
        return short_nodes
