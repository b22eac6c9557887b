"""A set of nodes is one Python int: bit i is the i-th node of the index.

AND, OR and popcount over 5,000 nodes cost less than a function call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

NodeSet = int
"""Immutable. Union is ``|``, intersection ``&``, difference ``a & ~b``, size ``a.bit_count()``."""

EMPTY: NodeSet = 0


def only(position: int) -> NodeSet:
    """Return the set of this one node."""
    return 1 << position


def first(count: int) -> NodeSet:
    """Return the set of the first ``count`` nodes."""
    return (1 << count) - 1


def of(positions: Iterable[int]) -> NodeSet:
    """Return the set of the nodes at these positions."""
    found = bytearray()
    for position in positions:
        byte = position >> 3
        if byte >= len(found):
            found.extend(bytes(byte + 1 - len(found)))
        found[byte] |= 1 << (position & 7)
    return int.from_bytes(found, "little")


def positions(nodes: NodeSet) -> Iterator[int]:
    """Yield the positions of the members, ascending; the time is linear in the width, not in the number of members."""
    text = f"{nodes:b}"[::-1]
    at = text.find("1")
    while at >= 0:
        yield at
        at = text.find("1", at + 1)


def popcount(nodes: NodeSet) -> int:
    return nodes.bit_count()


def lowest(nodes: NodeSet) -> int:
    """Return the smallest member's position; -1 for the empty set."""
    return (nodes & -nodes).bit_length() - 1


def holds(nodes: NodeSet, position: int) -> bool:
    return bool(nodes >> position & 1)
