"""Count pods per node and per topology domain, for all nodes at once.

A NodeCounter holds one counter per node, sliced into bit planes: bit i of plane k is bit k of node i's count. Adding a
pod touches a handful of planes; the sum over a domain is a popcount per plane; a threshold compares all nodes at once.
So the cost depends on the number of pod classes, not on the number of pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, of, only, positions


class NodeCounter:
    """One non-negative counter per node."""

    __slots__ = ("planes",)

    def __init__(self, planes: Iterable[NodeSet] = ()) -> None:
        self.planes: list[NodeSet] = list(planes)

    def add(self, nodes: NodeSet) -> None:
        """Add one on each of ``nodes``."""
        planes = self.planes
        for k, plane in enumerate(planes):
            planes[k] = plane ^ nodes
            nodes &= plane
            if not nodes:
                return
        if nodes:
            planes.append(nodes)

    def add_each(self, at: Sequence[int]) -> None:
        """Add one for each of these positions, of which several may be the same node."""
        if len(set(at)) == len(at):
            self.add(of(at))
            return
        for position in at:
            self.add(only(position))

    def subtract(self, nodes: NodeSet) -> None:
        """Subtract one on each of ``nodes``. Raises ValueError if a count is already zero."""
        planes = self.planes
        borrow = nodes
        for k, plane in enumerate(planes):
            planes[k] = plane ^ borrow
            borrow &= ~plane
            if not borrow:
                break
        if borrow:
            raise ValueError("a pod was removed from a node that does not hold it")
        while planes and not planes[-1]:
            planes.pop()

    def at(self, position: int) -> int:
        """Return the count of one node."""
        return sum((plane >> position & 1) << k for k, plane in enumerate(self.planes))

    @property
    def nodes(self) -> NodeSet:
        """The nodes whose count is not zero."""
        nodes = EMPTY
        for plane in self.planes:
            nodes |= plane
        return nodes

    def total(self, among: NodeSet) -> int:
        """Return the sum of the counts of ``among``."""
        return sum((plane & among).bit_count() << k for k, plane in enumerate(self.planes))

    def at_least(self, bound: int, among: NodeSet) -> NodeSet:
        """Return the nodes of ``among`` whose count is ``bound`` or more."""
        if bound <= 0:
            return among
        planes = self.planes
        if bound >= 1 << len(planes):
            return EMPTY
        above, level = EMPTY, among
        for k in range(len(planes) - 1, -1, -1):
            if bound >> k & 1:
                level &= planes[k]
            else:
                above |= level & planes[k]
                level &= ~planes[k]
        return above | level

    def least(self, among: NodeSet) -> int:
        """Return the smallest count of ``among``, which must not be empty."""
        low = 0
        for k in range(len(self.planes) - 1, -1, -1):
            without = among & ~self.planes[k]
            if without:
                among = without
            else:
                low |= 1 << k
        return low

    def counts(self, among: NodeSet) -> Iterator[tuple[int, int]]:
        """Yield ``(position, count)`` for each of ``among``."""
        for position in positions(among):
            yield position, self.at(position)


def sum_of(tallies: Iterable[NodeCounter]) -> NodeCounter:
    """Return the sum per node: binary addition of all nodes' counters at once."""
    total: list[NodeSet] = []
    for tally in tallies:
        carry = EMPTY
        for k, plane in enumerate(tally.planes):
            if k == len(total):
                total.append(EMPTY)
            have = total[k]
            total[k] = have ^ plane ^ carry
            carry = (have & plane) | (carry & (have ^ plane))
        k = len(tally.planes)
        while carry:
            if k == len(total):
                total.append(EMPTY)
            have = total[k]
            total[k] = have ^ carry
            carry &= have
            k += 1
    return NodeCounter(total)
